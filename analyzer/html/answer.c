/* SPDX-License-Identifier: MIT */
#include "analyzer/html/answer.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/attribution/keepers.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/units.h"
#include "analyzer/html/markup.h"
#include "analyzer/html/owner_rows.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/own_lines.h"

/* One device at one moment. */
struct answer {
	const struct vt_page_head *head;
	const struct vt_device *device; /* NULL: not known */
	const struct vt_peak_context *place;
	const struct vt_books *books;
	const struct vt_hotspots *hotspots;
	const char *owner; /* the largest; NULL: none */
	size_t len;	   /* of its first part */
	uint64_t bytes;
};

void vt_answer_print_place(const struct vt_peak_context *place, FILE *out)
{
	char *stage = vt_peak_context_stage(place), text[VT_UNITS_MAX];

	vt_markup_text(out, stage);
	if (*stage)
		fputs(", ", out);
	if (place->doing) {
		vt_markup_text(out, place->doing);
		fputs(", ", out);
	}
	fprintf(out, "at %s", vt_units_duration(text, sizeof(text), (uint64_t)place->time_ns));
	free(stage);
}

/* Takes `source`. */
static void print_source(char *source, FILE *out)
{
	if (source) {
		fputs(": <code>", out);
		vt_markup_text(out, source);
		fputs("</code>", out);
	}
	free(source);
}

/* The library's line that a call from the program ended in. */
static void print_inner(const struct answer *answer, const struct vt_own_line *line,
			const char *outer)
{
	const struct vt_page_head *head = answer->head;
	const struct vt_describe *describe = &head->report->describe;
	struct vt_lines lines = vt_producer_lines(describe, line->largest->first);

	if (lines.nr && strcmp(lines.text[0], outer) != 0) {
		fputs("</p><p>", head->out);
		vt_markup_bytes(head->out, line->largest->bytes);
		fputs(" of that in <span class=\"line\">", head->out);
		vt_markup_text(head->out, lines.text[0]);
		fputs("</span>", head->out);
		print_source(vt_sources_made(head->sources, describe, line->largest->first),
			     head->out);
	}
	vt_lines_free(&lines);
}

/* The program's line that the bytes come from, its text, and where in a library they were made. */
static void print_line(const struct answer *answer, const struct vt_own_line *line)
{
	const struct vt_page_head *head = answer->head;
	const struct vt_describe *describe = &head->report->describe;
	char *text = vt_own_lines_text(line, describe);
	int is_own = line->frame.id != VT_NO_INDEX;

	fputs("<div class=\"tile\"><h2>Allocated at</h2><p class=\"big line\">", head->out);
	vt_markup_text(head->out, text);
	fputs("</p><p>", head->out);
	vt_markup_bytes(head->out, line->bytes);
	fputs(" of ", head->out);
	vt_owner_rows_print_name(answer->books, answer->owner, answer->len, head->out);
	fputs(" from this line", head->out);
	print_source(is_own ? vt_sources_line(head->sources, line->frame.id)
			    : vt_sources_made(head->sources, describe, line->largest->first),
		     head->out);
	if (is_own)
		print_inner(answer, line, text);
	fputs("</p></div>\n", head->out);
	free(text);
}

static int is_of_owner(const struct answer *answer, const struct vt_leak *leak)
{
	const struct vt_attribution *attribution = answer->head->leaks->attribution;

	return vt_owner_path_is_below(vt_attribution_owner(attribution, leak->owner), answer->owner,
				      answer->len);
}

/* What holds less than a quarter of the owner does not explain it. */
#define LEAST_HELD 4

/* The first whose holders are known. */
static const struct vt_leak *held_in(const struct vt_leak *all, uint32_t nr,
				     const struct answer *answer)
{
	for (uint32_t i = 0; i < nr; i++)
		if (all[i].nr_holders && is_of_owner(answer, &all[i]) &&
		    all[i].bytes >= answer->bytes / LEAST_HELD)
			return &all[i];
	return NULL;
}

static void print_growth(const struct answer *answer)
{
	const struct vt_leaks *leaks = answer->head->leaks;
	double bytes = 0;

	for (uint32_t i = 0; i < leaks->nr_growth; i++)
		if (is_of_owner(answer, &leaks->growth[i]))
			bytes += leaks->growth[i].bytes_per_iteration;
	if (bytes < 1)
		return;
	fputs("; grows by ", answer->head->out);
	vt_markup_bytes(answer->head->out, (uint64_t)(bytes + 0.5));
	fprintf(answer->head->out, " a %s", vt_iterations_words[leaks->iterations.kind]);
}

/*
 * How it grows and what keeps it alive: a name alone ("user (sessions)") does not explain it.  Of
 * other owners the name says what keeps them.
 */
static void print_keeper(const struct answer *answer, const struct vt_own_line *line)
{
	const struct vt_page_head *head = answer->head;
	struct vt_analysis *analysis = head->report->analysis;
	const struct vt_leaks *leaks = head->leaks;
	const struct vt_leak *leak = held_in(leaks->growth, leaks->nr_growth, answer);
	uint32_t first = (uint32_t)(line->largest->first - analysis->model.allocations);
	char *detail = NULL, *text;
	enum vt_keeper keeper;

	print_growth(answer);
	if (!leak)
		leak = held_in(leaks->since, leaks->nr_since, answer);
	if (leak) {
		fputs("; held by ", head->out);
		vt_markup_text(head->out, leak->holders[0].path);
		if (leak->nr_holders > 1)
			fprintf(head->out, " and %" PRIu32 " more", leak->nr_holders - 1);
		return;
	}
	if (!vt_owner_path_is_below("user", answer->owner, answer->len))
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

/* A share of the number in the first tile, so that the two can be compared. */
static void print_largest(const struct answer *answer)
{
	const struct vt_page_head *head = answer->head;
	struct vt_own_line line;
	int has_line = !vt_own_lines_find(&line, answer->hotspots,
					  &head->report->analysis->attribution,
					  &head->report->describe, answer->owner, answer->len);

	fputs("<div class=\"tile\"><h2>Largest owner</h2><p class=\"big\">", head->out);
	vt_owner_rows_print_name(answer->books, answer->owner, answer->len, head->out);
	fputs("</p><p>", head->out);
	vt_markup_bytes(head->out, answer->bytes);
	fprintf(head->out, ", %.1f %% of what is allocated",
		100.0 * (double)answer->bytes / (double)total_of(answer->books));
	vt_owner_rows_print_meaning(answer->owner, answer->len, head->out);
	if (has_line)
		print_keeper(answer, &line);
	fputs("</p></div>\n", head->out);
	if (has_line)
		print_line(answer, &line);
}

static void print_total(const struct answer *answer, const char *title, const char *used)
{
	FILE *out = answer->head->out;
	char text[VT_UNITS_MAX];

	fprintf(out, "<section id=\"answer\" aria-label=\"Summary\">\n"
		     "<div class=\"tile\"><h2>%s</h2><p class=\"big\">", title);
	vt_markup_bytes(out, total_of(answer->books));
	fputs("</p><p>", out);
	if (answer->device && answer->device->total_bytes)
		fprintf(out, "of %s on cuda:%d; ",
			vt_units_bytes(text, sizeof(text), answer->device->total_bytes),
			answer->device->id);
	fprintf(out, "%s</p></div>\n<div class=\"tile\"><h2>When</h2><p class=\"big\">", used);
	vt_answer_print_place(answer->place, out);
	fprintf(out, "</p><p>event %" PRId64 "</p></div>\n", answer->place->event);
}

static void print_tiles(struct answer *answer, const char *title, const char *used)
{
	print_total(answer, title, used);
	answer->owner = vt_owner_rows_largest(answer->books, &answer->len, &answer->bytes);
	if (answer->owner)
		print_largest(answer);
	fputs("</section>\n", answer->head->out);
}

void vt_answer_print(const struct vt_page_head *head)
{
	const struct vt_report_device *row = vt_report_fullest(head->report);
	const struct vt_report_moment *most;
	struct answer answer = { .head = head };
	char text[VT_UNITS_MAX], *used;

	if (!row) {
		fputs("<p class=\"empty\">No device memory was allocated.</p>\n", head->out);
		return;
	}
	most = vt_report_most_allocated(row);
	answer.device = row->device;
	answer.place = &most->place;
	answer.books = &most->books;
	answer.hotspots = &most->hotspots;
	vt_units_bytes(text, sizeof(text), vt_books_device_used(&row->chosen.books));
	if (vt_report_has_most_allocated(row))
		used = vt_xasprintf("peak device use %s, at another moment", text);
	else
		used = vt_xasprintf("%s of the device in use then", text);
	print_tiles(&answer, "Most memory in tensors", used);
	free(used);
}

void vt_answer_print_failed(const struct vt_page_head *head)
{
	const struct vt_report *report = head->report;
	const struct vt_oom *oom = &report->out_of_memory;
	struct vt_hotspots hotspots;
	struct answer answer = { .head = head, .place = &oom->place, .books = &oom->books,
				 .hotspots = &hotspots };
	char text[VT_UNITS_MAX], *used;

	answer.device = vt_model_device(&report->analysis->model, oom->oom->device);
	vt_hotspots_init(&hotspots, &report->analysis->attribution, &report->describe,
			 oom->oom->device, oom->oom->event);
	used = vt_xasprintf("%s of the device in use then",
			    vt_units_bytes(text, sizeof(text), vt_books_device_used(&oom->books)));
	print_tiles(&answer, "Allocated at failure", used);
	free(used);
	vt_hotspots_release(&hotspots);
}
