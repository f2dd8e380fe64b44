/* SPDX-License-Identifier: MIT */
#include "analyzer/html/stage_rows.h"

#include "analyzer/html/markup.h"
#include "analyzer/report/report_changes.h"

static uint64_t largest(const struct vt_report *report)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < report->stages.nr; i++)
		if (report->stages.rows[i].peak_bytes > most)
			most = report->stages.rows[i].peak_bytes;
	return most;
}

static void print_row(const struct vt_report *report, const struct vt_report_stage *row, int depth,
		      struct vt_report_unit unit, FILE *out)
{
	char *by = vt_report_changes_text(&row->before, &row->after, unit);

	fprintf(out, "<tr class=\"%s\" data-device=\"%d\" data-stage=\"", depth ? "leaf" : "stage",
		row->device);
	vt_markup_text(out, depth ? "" : row->name);
	fputs("\"><th scope=\"row\">", out);
	vt_markup_text(out, row->name);
	if (report->nr_devices > 1)
		fprintf(out, "<td>cuda:%d", row->device);
	fputs("<td class=\"n\">", out);
	vt_markup_bytes(out, row->peak_bytes);
	fputs("<td class=\"n\">", out);
	vt_markup_bytes(out, row->allocated_after_bytes);
	fputs("<td>", out);
	vt_markup_text(out, by);
	fputc('\n', out);
	free(by);
	for (uint32_t i = 0; i < row->nr_modules; i++)
		print_row(report, &row->modules[i], depth + 1, unit, out);
	if (row->nr_more_modules)
		fprintf(out, "<tr class=\"leaf\"><th scope=\"row\">%u more\n",
			row->nr_more_modules);
}

static void print_table(const struct vt_report *report, FILE *out)
{
	struct vt_report_unit unit = vt_report_sections_unit(largest(report));

	fprintf(out,
		"<table class=\"plain\"><thead><tr><th scope=\"col\">stage%s"
		"<th scope=\"col\" class=\"n\">allocated peak"
		"<th scope=\"col\" class=\"n\">allocated after"
		"<th scope=\"col\">change, %s<tbody>\n",
		report->nr_devices > 1 ? "<th scope=\"col\">device" : "", unit.name);
	for (uint32_t i = 0; i < report->stages.nr; i++)
		print_row(report, &report->stages.rows[i], 0, unit, out);
	fputs("</table>\n", out);
}

void vt_stage_rows_print(const struct vt_report *report, FILE *out)
{
	if (!report->stages.nr && !report->iterations.nr_steps)
		return;
	fputs("<section id=\"stages\"><h2>Stages and steps</h2>\n", out);
	if (report->stages.nr)
		print_table(report, out);
	fputs("</section>\n", out);
}
