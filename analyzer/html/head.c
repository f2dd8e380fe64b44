/* SPDX-License-Identifier: MIT */
#include "analyzer/html/head.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/attribution/keepers.h"
#include "analyzer/attribution/calls/totals.h"
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
		fputs("<li class=\"tag\" title=\"kernels computed nothing: times are not a GPU's;"
		      " the bytes are what the real allocators asked for\">simulated", head->out);
}

void vt_page_head_run(const struct vt_page_head *head)
{
	const struct vt_report *report = head->report;
	struct vt_db *db = report->analysis->db;
	struct vt_lines losses = vt_losses_find(db);
	char *program = vt_page_head_program(report), *ending = vt_report_ending(report);
	int64_t duration = vt_db_run_get_int(db, "duration_ns", -1);
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
	vt_describe_free(&losses);
	free(program);
	free(ending);
}

static void print_place(const struct vt_page_head *head, const struct vt_peak_context *place)
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

/* The place that made most of an owner; NULL: none is listed. */
static const struct vt_hotspot *spot_of(const struct vt_page_head *head,
					const struct vt_hotspots *hotspots, const char *owner,
					size_t len)
{
	const struct vt_attribution *attribution = &head->report->analysis->attribution;

	for (uint32_t i = 0; i < hotspots->nr; i++)
		if (vt_owner_path_is_below(vt_attribution_owner(attribution,
								hotspots->items[i].owner),
					   owner, len))
			return &hotspots->items[i];
	return NULL;
}

/* Its line and, where it is there, its text. */
static void print_line(const struct vt_page_head *head, const struct vt_hotspot *spot)
{
	const struct vt_report *report = head->report;
	struct vt_lines lines;
	char *source;

	lines = vt_producer_lines(&report->describe, spot->first);
	source = vt_sources_made(head->sources, &report->describe, spot->first);
	fputs("<div class=\"tile\"><h2>Allocated at</h2><p class=\"big line\">", head->out);
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

static const struct vt_leak *leak_in(const struct vt_leaks *leaks, const struct vt_leak *all,
				     uint32_t nr, const char *owner, size_t len)
{
	for (uint32_t i = 0; i < nr; i++)
		if (all[i].nr_holders &&
		    vt_owner_path_is_below(vt_attribution_owner(leaks->attribution, all[i].owner),
					   owner, len))
			return &all[i];
	return NULL;
}

/*
 * How it grows and what keeps it alive: a name alone ("user (sessions)") does not explain it.  Of
 * other owners the name says what keeps them.
 */
static void print_keeper(const struct vt_page_head *head, const struct vt_hotspot *spot,
			 const char *owner, size_t len)
{
	struct vt_analysis *analysis = head->report->analysis;
	const struct vt_leaks *leaks = head->leaks;
	const struct vt_leak *leak = leak_in(leaks, leaks->growth, leaks->nr_growth, owner, len);
	char *detail = NULL, *text;
	uint32_t first = (uint32_t)(spot->first - analysis->model.allocations);
	enum vt_keeper keeper;

	if (leak) {
		fputs("; grows by ", head->out);
		vt_markup_bytes(head->out, (uint64_t)(leak->bytes_per_iteration + 0.5));
		fprintf(head->out, " a %s", vt_iterations_words[leaks->iterations.kind]);
	} else {
		leak = leak_in(leaks, leaks->since, leaks->nr_since, owner, len);
	}
	if (leak) {
		fputs("; held by ", head->out);
		vt_markup_text(head->out, leak->holders[0].way);
		return;
	}
	if (!vt_owner_path_is_below("user", owner, len))
		return;
	keeper = vt_keepers_find(&analysis->attribution, &head->report->describe, first, &detail);
	text = vt_keepers_text(keeper, detail);
	if (keeper != VT_KEEPER_UNKNOWN && detail) {
		fputs("; kept by ", head->out);
		vt_markup_text(head->out, text);
	}
	free(text);
	free(detail);
}

/* In tensors; of a program without an allocator, what is used of the device. */
static uint64_t total_of(const struct vt_books *books)
{
	return books->allocated_bytes ? books->allocated_bytes : vt_books_device_used(books);
}

static void print_total(const struct vt_page_head *head, const struct vt_report_device *row)
{
	const struct vt_books *books = &vt_report_most_allocated(row)->books;
	char text[VT_UNITS_MAX];

	fputs("<div class=\"tile\"><h2>Most memory in tensors</h2><p class=\"big\">", head->out);
	vt_markup_bytes(head->out, total_of(books));
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

/* A share of the number in the first tile, so that the two can be compared. */
static void print_largest(const struct vt_page_head *head, const struct vt_report_moment *most,
			  const char *owner, size_t len, uint64_t bytes)
{
	const struct vt_hotspot *spot = spot_of(head, &most->hotspots, owner, len);

	fputs("<div class=\"tile\"><h2>Most of it</h2><p class=\"big\">", head->out);
	vt_owner_rows_print_name(&most->books, owner, len, head->out);
	fputs("</p><p>", head->out);
	vt_markup_bytes(head->out, bytes);
	fprintf(head->out, ", %.1f %% of it",
		100.0 * (double)bytes / (double)total_of(&most->books));
	vt_owner_rows_print_meaning(owner, len, head->out);
	if (spot)
		print_keeper(head, spot, owner, len);
	fputs("</p></div>\n", head->out);
	if (spot)
		print_line(head, spot);
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
	if (owner)
		print_largest(head, most, owner, len, bytes);
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

/* "448.00 MiB of what is allocated, 652.00 MiB of what is used" */
static void print_lowers(const struct vt_finding *finding, FILE *out)
{
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
	fputs("</p><p class=\"fix\">", out);
	vt_markup_text(out, words->fix);
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
