/* SPDX-License-Identifier: MIT */
#include "analyzer/live/top_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"
#include "analyzer/output/table.h"

#define MOST_PLACE 60

/* The columns of a row, as offsets: one function fills all of them. */
enum column { NOW, BEFORE, STEP, STEP_BEFORE };

static uint64_t *cell(struct vt_top_row *row, enum column column)
{
	switch (column) {
	case NOW:
		return &row->now_bytes;
	case BEFORE:
		return &row->before_bytes;
	case STEP:
		return &row->step_bytes;
	default:
		return &row->step_before_bytes;
	}
}

static void add(struct vt_top_rows *rows, const char *owner, uint64_t bytes, enum column column)
{
	size_t len = strcspn(owner, "/");
	struct vt_top_row *row = NULL;

	if (!bytes)
		return;
	for (size_t i = 0; i < rows->nr && !row; i++)
		if (!strncmp(rows->rows[i].owner, owner, len) && !rows->rows[i].owner[len])
			row = &rows->rows[i];
	if (!row) {
		rows->rows = vt_xrealloc(rows->rows, (rows->nr + 1) * sizeof(*rows->rows));
		row = &rows->rows[rows->nr++];
		*row = (struct vt_top_row){ .owner = vt_xstrndup(owner, len) };
	}
	*cell(row, column) += bytes;
}

static void add_books(struct vt_top_rows *rows, const struct vt_books *books, enum column column)
{
	for (uint32_t i = 0; i < books->nr_lines; i++)
		add(rows, books->lines[i].owner, books->lines[i].bytes, column);
	for (uint32_t i = 0; i < books->nr_rest; i++)
		add(rows, books->rest[i].owner, books->rest[i].bytes, column);
}

static void add_event(struct vt_top_rows *rows, struct vt_analysis *analysis, int device,
		      int64_t event, enum column column)
{
	struct vt_books books;

	vt_books_init(&books, &analysis->attribution, device, event);
	add_books(rows, &books, column);
	vt_books_release(&books);
}

/* The last event by that time; 0: none. */
static int64_t event_at(const struct vt_timeline *timeline, int64_t time_ns)
{
	size_t nr = vt_search_first(
		i, timeline->nr,
		vt_timeline_moment_time(timeline, &timeline->moments[i]) <= time_ns);

	return nr ? vt_moment_event(timeline->model, &timeline->moments[nr - 1]) : 0;
}

static void add_steps(struct vt_top_rows *rows, struct vt_analysis *analysis, int device)
{
	const struct vt_stages *stages = &analysis->stages;
	int64_t ends[2] = { 0, 0 };
	unsigned nr = 0;

	for (uint32_t i = stages->steps.nr; i-- > 0 && nr < 2;)
		if (stages->steps.steps[i].is_complete)
			ends[nr++] = stages->spans[stages->steps.steps[i].last_span].last_event;
	rows->has_steps = nr == 2;
	if (nr < 2)
		return;
	add_event(rows, analysis, device, ends[0], STEP);
	add_event(rows, analysis, device, ends[1], STEP_BEFORE);
}

static int compare(const void *a, const void *b)
{
	const struct vt_top_row *x = a, *y = b;

	if (x->now_bytes != y->now_bytes)
		return x->now_bytes > y->now_bytes ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

void vt_top_rows_init(struct vt_top_rows *rows, struct vt_analysis *analysis, int device,
		      int64_t before_ns)
{
	int64_t before = event_at(&analysis->timeline, before_ns);
	int64_t now = analysis->model.last_event;

	memset(rows, 0, sizeof(*rows));
	vt_books_init(&rows->books, &analysis->attribution, device, now);
	add_books(rows, &rows->books, NOW);
	add_event(rows, analysis, device, before, BEFORE);
	add_steps(rows, analysis, device);
	if (rows->nr)
		qsort(rows->rows, rows->nr, sizeof(*rows->rows), compare);
	vt_describe_init(&rows->describe, &analysis->model, 0);
	vt_hotspots_init(&rows->now, &analysis->attribution, &rows->describe, device, now);
	vt_hotspots_init(&rows->before, &analysis->attribution, &rows->describe, device, before);
}

void vt_top_rows_release(struct vt_top_rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		free(rows->rows[i].owner);
	free(rows->rows);
	vt_hotspots_release(&rows->now);
	vt_hotspots_release(&rows->before);
	vt_describe_release(&rows->describe);
	vt_books_release(&rows->books);
}

/* A line of the program, and what it holds more than before. */
struct place {
	char *text;
	int64_t bytes;
};

typedef VT_VECTOR(struct place) place_vector;

static char *text_of(const struct vt_describe *describe, const struct vt_hotspot *spot)
{
	struct vt_producer producer = vt_producer_of(describe->model, spot->first);
	char *line = vt_producer_first_line(describe, &producer);

	return line ? line : vt_xstrdup("(no stack)");
}

static void add_places(place_vector *all, const struct vt_describe *describe,
		       const struct vt_hotspots *spots, int sign)
{
	for (uint32_t i = 0; i < spots->nr; i++)
		vt_vector_push(all, ((struct place){ text_of(describe, &spots->items[i]),
						     sign * (int64_t)spots->items[i].bytes }));
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->text, ((const struct place *)b)->text);
}

/* Different ways may lead to one line. */
static void join_places(void *into, void *from)
{
	((struct place *)into)->bytes += ((struct place *)from)->bytes;
	free(((struct place *)from)->text);
}

static int compare_grown(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void print_place(const struct place *place, FILE *out)
{
	size_t len = strlen(place->text);
	char bytes[VT_UNITS_MAX];

	/* The end of a long line is what tells. */
	fprintf(out, "  %11s  %s%s\n", vt_units_bytes_signed(bytes, sizeof(bytes), place->bytes),
		len > MOST_PLACE ? "..." : "",
		len > MOST_PLACE ? place->text + len - MOST_PLACE : place->text);
}

static void print_places(const struct vt_top_rows *rows, const struct vt_top_options *options,
			 FILE *out)
{
	place_vector all = { 0 };

	add_places(&all, &rows->describe, &rows->now, 1);
	add_places(&all, &rows->describe, &rows->before, -1);
	all.len = vt_group(all.items, all.len, compare_texts, join_places);
	vt_vector_sort(&all, compare_grown);
	fprintf(out, "\ncall sites that grew in the last %" PRId64 " s%s\n", options->window_s,
		all.len && all.items[0].bytes > 0 ? "" : ": none");
	for (size_t i = 0; i < all.len; i++) {
		if (i < options->top && all.items[i].bytes > 0)
			print_place(&all.items[i], out);
		free(all.items[i].text);
	}
	vt_vector_release(&all);
}

static const char *difference(char *text, uint64_t now, uint64_t before)
{
	return vt_units_bytes_signed(text, VT_UNITS_MAX, (int64_t)now - (int64_t)before);
}

void vt_top_rows_print(const struct vt_top_rows *rows, const struct vt_top_options *options,
		       FILE *out)
{
	char title[32];
	const struct vt_column columns[] = {
		{ "owner", 0 }, { "now", 1 }, { title, 1 }, { "per step", 1 }
	};
	char now[VT_UNITS_MAX], grown[VT_UNITS_MAX], step[VT_UNITS_MAX];
	size_t nr = options->nr_rows && options->nr_rows < rows->nr ? options->nr_rows : rows->nr;
	struct vt_table table;

	snprintf(title, sizeof(title), "in %" PRId64 " s", options->window_s);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr; i++) {
		const struct vt_top_row *row = &rows->rows[i];
		const char *per_step =
			rows->has_steps ?
				difference(step, row->step_bytes, row->step_before_bytes) :
				"";

		if (!row->now_bytes && !row->before_bytes)
			continue;
		vt_table_add(&table, (const char *[]){
					     row->owner,
					     vt_units_bytes(now, sizeof(now), row->now_bytes),
					     difference(grown, row->now_bytes, row->before_bytes),
					     per_step });
	}
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
	print_places(rows, options, out);
}
