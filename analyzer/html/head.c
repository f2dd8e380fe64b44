/* SPDX-License-Identifier: MIT */
#include "analyzer/html/head.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/attribution/totals.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/units.h"
#include "analyzer/html/markup.h"
#include "analyzer/html/owner_rows.h"
#include "analyzer/model/losses.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/program_name.h"

static void print_known(const struct vt_page_head *head, const char *word, const char *key)
{
	char *value = vt_db_run_get(head->report->analysis->db, key);

	if (value) {
		fprintf(head->out, "<li>%s ", word);
		vt_markup_text(head->out, value);
	}
	free(value);
}

static char *program_of(const struct vt_report *report)
{
	char *command = vt_db_run_get(report->analysis->db, "command");
	char *program = vt_program_name(command);

	free(command);
	return program;
}

void vt_page_head_title(const struct vt_page_head *head)
{
	char *program = program_of(head->report);

	vt_markup_text(head->out, program);
	fputs(" · vtrace", head->out);
	free(program);
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
		fputs("<li class=\"tag\" title=\"kernels computed nothing: times are not a GPU's;"
		      " the bytes are what the real allocators asked for\">simulated", head->out);
}

void vt_page_head_run(const struct vt_page_head *head)
{
	const struct vt_report *report = head->report;
	struct vt_db *db = report->analysis->db;
	struct vt_lines losses = vt_losses_find(db);
	char *program = program_of(report), *ending = vt_report_ending(report);
	int64_t duration = vt_db_run_get_int(db, "duration_ns", -1);
	char text[VT_UNITS_MAX];

	fputs("<h1>", head->out);
	vt_markup_text(head->out, program);
	fputs("</h1>\n<ul class=\"facts\">", head->out);
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
	vt_describe_free(&losses);
	free(program);
	free(ending);
}

static void print_place(const struct vt_page_head *head, const struct vt_report_place *place)
{
	char text[VT_UNITS_MAX];

	if (place->step)
		fprintf(head->out, "step %u, ", place->step);
	if (place->stage)
		fprintf(head->out, "%s, ", place->stage);
	if (place->doing) {
		vt_markup_text(head->out, place->doing);
		fputs(", ", head->out);
	}
	fprintf(head->out, "at %s",
		vt_units_duration(text, sizeof(text), (uint64_t)place->time_ns));
}

/* The place that made most of an owner: its line and, where it is there, its text. */
static void print_line(const struct vt_page_head *head, const struct vt_hotspots *hotspots,
		       const char *owner, size_t len)
{
	const struct vt_report *report = head->report;
	const struct vt_hotspot *spot = NULL;
	uint32_t ids[VT_FRAMES_MAX], stack;
	struct vt_lines lines;
	char *source;

	for (uint32_t i = 0; i < hotspots->nr && !spot; i++)
		if (vt_owner_path_is_below(vt_attribution_owner(&report->analysis->attribution,
								hotspots->items[i].owner),
					   owner, len))
			spot = &hotspots->items[i];
	if (!spot)
		return;
	lines = vt_producer_lines(&report->describe, spot->first);
	stack = vt_producer_stack(&report->analysis->model, spot->first);
	source = vt_describe_visible(&report->describe, stack, ids)
			 ? vt_sources_line(head->sources, ids[0])
			 : NULL;
	fputs("<div class=\"tile wide\"><h2>Allocated at</h2><p class=\"big line\">", head->out);
	vt_markup_text(head->out, lines.nr ? lines.text[0] : "a place without a stack");
	fputs("</p><p>", head->out);
	vt_markup_bytes(head->out, spot->bytes);
	fputs(" of it from this line", head->out);
	if (source) {
		fputs(": <code>", head->out);
		vt_markup_text(head->out, source);
		fputs("</code>", head->out);
	}
	fputs("</p></div>\n", head->out);
	free(source);
	vt_describe_free(&lines);
}

static void print_total(const struct vt_page_head *head, const struct vt_report_device *row)
{
	const struct vt_books *books = &vt_report_most_allocated(row)->books;
	char text[VT_UNITS_MAX];

	fputs("<div class=\"tile\"><h2>Most memory in tensors</h2><p class=\"big\">", head->out);
	vt_markup_bytes(head->out, books->allocated_bytes ? books->allocated_bytes
							  : vt_books_device_used(books));
	fputs("</p><p>", head->out);
	if (row->device->total_bytes)
		fprintf(head->out, "of %s on cuda:%d; ",
			vt_units_bytes(text, sizeof(text), row->device->total_bytes),
			row->device->id);
	vt_units_bytes(text, sizeof(text), vt_books_device_used(&row->chosen.books));
	if (vt_report_has_most_allocated(row))
		fprintf(head->out, "at most %s of the device in use, at another moment", text);
	else
		fprintf(head->out, "%s of the device in use then", text);
	fputs("</p></div>\n", head->out);
}

/* "activations"; "user (history)" where it has that one leaf. */
static void print_owner(const struct vt_page_head *head, const struct vt_books *books,
			const char *owner, size_t len)
{
	char *name = vt_xstrndup(owner, len);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < books->nr_lines; i++)
		nr += vt_owner_path_is_below(books->lines[i].owner, owner, len) != 0;
	vt_markup_text(head->out, name);
	if (nr == 1 && owner[len]) {
		fputs(" (", head->out);
		vt_markup_text(head->out, owner + len + 1);
		fputs(")", head->out);
	}
	free(name);
}

void vt_page_head_answer(const struct vt_page_head *head)
{
	const struct vt_report_device *row = vt_report_fullest(head->report);
	const struct vt_report_moment *most;
	const char *owner;
	uint64_t bytes;
	size_t len;

	if (!row) {
		fputs("<p class=\"empty\">No device memory was allocated.</p>\n", head->out);
		return;
	}
	most = vt_report_most_allocated(row);
	owner = vt_owner_rows_largest(&most->books, &len, &bytes);
	fputs("<section id=\"answer\" aria-label=\"Summary\">\n", head->out);
	print_total(head, row);
	fputs("<div class=\"tile\"><h2>When</h2><p class=\"big\">", head->out);
	print_place(head, &most->place);
	fprintf(head->out, "</p><p>event %" PRId64 "</p></div>\n", most->place.event);
	if (owner) {
		fputs("<div class=\"tile\"><h2>Most of it</h2><p class=\"big\">", head->out);
		print_owner(head, &most->books, owner, len);
		fputs("</p><p>", head->out);
		vt_markup_bytes(head->out, bytes);
		fprintf(head->out, ", %.1f %% of the device's use then</p></div>\n",
			100.0 * (double)bytes / (double)vt_books_device_used(&most->books));
		print_line(head, &most->hotspots, owner, len);
	}
	fputs("</section>\n", head->out);
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

void vt_page_head_findings(const struct vt_page_head *head)
{
	const struct vt_findings *findings = &head->report->findings;

	if (!findings->len)
		fputs("<p class=\"empty\">None.</p>\n", head->out);
	else
		fputs("<ol class=\"findings\">\n", head->out);
	for (size_t i = 0; i < findings->len; i++) {
		const struct vt_finding *finding = &findings->items[i];
		const struct vt_finding_words *words = &vt_findings_words[finding->id];

		fputs("<li data-owner=\"", head->out);
		vt_markup_text(head->out, finding->owner);
		fputs("\"><h3>", head->out);
		vt_markup_text(head->out, words->what);
		fputs(finding->is_least ? " <span class=\"saves\">saves at least " :
					  " <span class=\"saves\">saves ",
		      head->out);
		vt_markup_bytes(head->out, finding->saves_bytes);
		fputs(finding->is_replayed ? ", by replay</span></h3><p>" : "</span></h3><p>",
		      head->out);
		vt_markup_text(head->out, finding->text);
		if (finding->where) {
			fputs("</p><p class=\"line\">", head->out);
			vt_markup_text(head->out, finding->where);
		}
		fputs("</p><p class=\"fix\">", head->out);
		vt_markup_text(head->out, words->fix);
		fprintf(head->out, " <code>vtrace explain finding:%s</code></p>\n", words->id);
	}
	if (findings->len)
		fputs("</ol>\n", head->out);
}
