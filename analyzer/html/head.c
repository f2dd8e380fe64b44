/* SPDX-License-Identifier: MIT */
#include "analyzer/html/head.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/program_name.h"
#include "analyzer/base/units.h"
#include "analyzer/html/markup.h"
#include "analyzer/html/owner_rows.h"
#include "analyzer/model/losses.h"

static void print_known(const struct vt_page_head *head, const char *word, const char *key)
{
	char *value = vt_db_run_get(head->report->analysis->db, key);

	if (value) {
		fprintf(head->out, "<li>%s ", word);
		vt_markup_text(head->out, value);
	}
	free(value);
}

char *vt_page_head_program(const struct vt_report *report)
{
	return vt_program_name_of(report->analysis->db);
}

static void print_devices(const struct vt_page_head *head)
{
	const struct vt_report *report = head->report;
	int is_simulated = 0;

	for (uint32_t i = 0; i < report->nr_devices; i++) {
		const struct vt_device *device = report->devices[i].device;

		is_simulated |= device->is_simulated;
		if (i && !strcmp(device->name, report->devices[i - 1].device->name))
			continue;
		fputs("<li>", head->out);
		vt_markup_text(head->out, device->name);
	}
	if (report->nr_devices > 1)
		fprintf(head->out, "<li>%u devices", report->nr_devices);
	if (is_simulated)
		fputs("<li class=\"tag\" title=\"kernels computed nothing: times are not those of"
		      " a GPU; bytes are what the real allocators requested\">simulated",
		      head->out);
}

void vt_page_head_run(const struct vt_page_head *head)
{
	const struct vt_report *report = head->report;
	struct vt_db *db = report->analysis->db;
	struct vt_lines losses = vt_losses_find(db);
	char *program = vt_page_head_program(report), *ending = vt_report_ending(report);
	int64_t duration = vt_ended_ran_ns(db);
	char text[VT_UNITS_MAX];

	fprintf(head->out, "<%s>", head->heading);
	vt_markup_text(head->out, program);
	fprintf(head->out, "</%s>\n<ul class=\"facts\">", head->heading);
	print_devices(head);
	print_known(head, "torch", "torch");
	print_known(head, "Python", "python");
	print_known(head, "pid", "pid");
	fputs("<li>", head->out);
	if (duration >= 0)
		fprintf(head->out, "ran %s, ",
			vt_units_duration(text, sizeof(text), (uint64_t)duration));
	vt_markup_text(head->out, ending);
	fprintf(head->out, "<li>%s events",
		vt_units_count(text, sizeof(text),
			       (uint64_t)vt_db_run_get_int(db, "events",
							   report->analysis->model.last_event)));
	fputs("</ul>\n", head->out);
	for (unsigned i = 0; i < losses.nr; i++) {
		fputs("<p class=\"warn\">lost: ", head->out);
		vt_markup_text(head->out, losses.text[i]);
		fputs("</p>\n", head->out);
	}
	vt_lines_free(&losses);
	free(program);
	free(ending);
}

void vt_page_head_owners(const struct vt_page_head *head)
{
	const struct vt_report *report = head->report;

	for (uint32_t i = 0; i < report->nr_devices; i++) {
		const struct vt_report_device *row = &report->devices[i];
		const struct vt_owner_moment moments[2] = {
			{ "most allocated", &row->most_allocated.books },
			{ "most used", &row->chosen.books },
		};
		const struct vt_owner_moment peak = { "peak", &row->chosen.books };

		if (report->nr_devices > 1)
			fprintf(head->out, "<h3>cuda:%d</h3>\n", row->device->id);
		if (vt_report_has_most_allocated(row))
			vt_owner_rows_print(moments, 2, head->out);
		else
			vt_owner_rows_print(&peak, 1, head->out);
	}
}

/* "448.00 MiB of what is allocated, 652.00 MiB of what is used" */
static void print_lowers(const struct vt_finding *finding, FILE *out)
{
	if (finding->is_for_cache) {
		fputs(" <span class=\"saves\">", out);
		vt_markup_bytes(out, finding->saves_bytes);
		fputs(" more for the cache</span>", out);
		return;
	}
	fprintf(out, " <span class=\"saves\">%s%s ", finding->is_replayed ? "by replay " : "",
		finding->is_least ? "at least" : "");
	vt_markup_bytes(out, finding->lowers_allocated_bytes);
	fputs(" allocated", out);
	if (finding->is_used_known) {
		fputs(", ", out);
		vt_markup_bytes(out, finding->lowers_used_bytes);
		fputs(" used", out);
	}
	fputs("</span>", out);
}

static void print_finding(const struct vt_finding *finding, FILE *out)
{
	const struct vt_finding_words *words = &vt_findings_words[finding->id];

	fputs("<li data-owner=\"", out);
	vt_markup_text(out, finding->owner);
	fputs("\" data-line=\"", out);
	vt_markup_text(out, finding->where);
	fprintf(out, "\" data-device=\"%d\"><h3>", finding->device);
	vt_markup_text(out, words->what);
	print_lowers(finding, out);
	fputs("</h3><p>", out);
	vt_markup_text(out, finding->text);
	if (finding->where) {
		fputs("</p><p class=\"line\">", out);
		vt_markup_text(out, finding->where);
	}
	fputs("</p>", out);
	vt_markup_caller(finding->caller, out);
	fputs("<p class=\"fix\">", out);
	vt_markup_text(out, finding->flag ? finding->flag : words->fix);
	fprintf(out, " <code>vtrace explain finding:%s</code></p>\n", words->id);
}

void vt_page_head_findings(const struct vt_page_head *head)
{
	const struct vt_findings *findings = &head->report->findings;

	if (!findings->len)
		fputs("<p class=\"empty\">None.</p>\n", head->out);
	else
		fputs("<ol class=\"findings\">\n", head->out);
	for (size_t i = 0; i < findings->len; i++)
		print_finding(&findings->items[i], head->out);
	if (findings->len)
		fputs("</ol>\n", head->out);
}
