/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/producer.h"
#include "analyzer/report/table.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

/* A quarter of a percent: 7.29 of 7.31 GiB. */
#define VISIBLE_PARTS 400

struct vt_report_unit vt_report_sections_unit(uint64_t largest_bytes)
{
	struct vt_report_unit gib = { "GiB", (double)VT_GIB }, mib = { "MiB", (double)VT_MIB };

	return largest_bytes < VT_GIB ? mib : gib;
}

const char *vt_report_sections_figure(char *buf, struct vt_report_unit unit, double bytes)
{
	double value = bytes / unit.bytes;

	/* No "-0.00". */
	snprintf(buf, VT_REPORT_FIGURE_MAX, "%.2f", fabs(value) < 0.005 ? 0.0 : value);
	return buf;
}

/* A line of the table: an owner path's first part with the sum of its leaves, or a leaf. */
struct row {
	const char *name;
	int name_len;
	uint64_t bytes;
	uint64_t requested_bytes;
	uint32_t blocks;
	uint64_t provenance[VT_NR_PROVENANCES];
	uint32_t first; /* leaves: books->lines[first .. first + nr_leaves) */
	uint32_t nr_leaves;
};

static int parent_length(const char *owner)
{
	const char *slash = strchr(owner, '/');

	return slash ? (int)(slash - owner) : (int)strlen(owner);
}

/* Lines are sorted by path, so that leaves of one parent stand together. */
static struct row *group_by_parent(const struct vt_books *books, uint32_t *nr)
{
	struct row *rows = vt_xcalloc(books->nr_lines + 1, sizeof(*rows));

	*nr = 0;
	for (uint32_t i = 0; i < books->nr_lines; i++) {
		const struct vt_books_line *line = &books->lines[i];
		struct row *row = *nr ? &rows[*nr - 1] : NULL;
		int len = parent_length(line->owner);

		if (!row || row->name_len != len || memcmp(row->name, line->owner, (size_t)len)) {
			row = &rows[(*nr)++];
			row->name = line->owner;
			row->name_len = len;
			row->first = i;
		}
		row->nr_leaves++;
		row->bytes += line->bytes;
		row->requested_bytes += line->requested_bytes;
		row->blocks += line->blocks;
		for (unsigned p = 0; p < VT_NR_PROVENANCES; p++)
			row->provenance[p] += line->provenance[p];
	}
	return rows;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int compare_leaves(const void *a, const void *b)
{
	const struct vt_books_line *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

static int is_unknown(const struct row *row)
{
	return row->name_len == (int)strlen(VT_OWNER_UNKNOWN) &&
	       memcmp(row->name, VT_OWNER_UNKNOWN, (size_t)row->name_len) == 0;
}

/* The evidence that stands for a tenth of the bytes or more, most first. */
static char *known_by(const uint64_t *provenance, uint64_t bytes)
{
	uint64_t left[VT_NR_PROVENANCES];
	struct vt_buffer text;

	vt_buffer_init(&text);
	memcpy(left, provenance, sizeof(left));
	left[VT_PROVENANCE_UNKNOWN] = 0;
	for (;;) {
		unsigned best = 0;

		for (unsigned p = 1; p < VT_NR_PROVENANCES; p++)
			if (left[p] > left[best])
				best = p;
		if (!left[best] || left[best] < bytes / 10)
			break;
		vt_buffer_printf(&text, "%s%s", text.len ? ", " : "",
				 vt_evidence_provenances[best]);
		left[best] = 0;
	}
	return vt_buffer_detach(&text);
}

struct owner_table {
	struct vt_table table;
	struct vt_report_unit unit;
	uint64_t device_used;
};

enum { OWNER, BYTES, SHARE, BLOCKS, KNOWN_BY, NR_OWNER_COLUMNS };

static void add_line(struct owner_table *owners, const char *name, double bytes, int64_t blocks,
		     const char *evidence)
{
	char figure[VT_REPORT_FIGURE_MAX], share[VT_REPORT_FIGURE_MAX] = "";
	char count[VT_UNITS_MAX] = "";
	const char *cells[NR_OWNER_COLUMNS];

	if (owners->device_used)
		snprintf(share, sizeof(share), "%.1f", 100.0 * bytes / (double)owners->device_used);
	if (blocks >= 0)
		vt_units_count(count, sizeof(count), (uint64_t)blocks);
	cells[OWNER] = name;
	cells[BYTES] = vt_report_sections_figure(figure, owners->unit, bytes);
	cells[SHARE] = share;
	cells[BLOCKS] = count;
	cells[KNOWN_BY] = evidence;
	vt_table_add(&owners->table, cells);
}

/*
 * What the program's tensors take, where the allocator's rounding and tails make it visibly more: a
 * model's weights are compared with the sum of its parameters.
 */
static void add_requested(struct owner_table *owners, const struct row *row)
{
	char bytes[VT_REPORT_FIGURE_MAX], requested[VT_REPORT_FIGURE_MAX];

	vt_report_sections_figure(bytes, owners->unit, (double)row->bytes);
	vt_report_sections_figure(requested, owners->unit, (double)row->requested_bytes);
	if (strcmp(bytes, requested) != 0 &&
	    (row->bytes - row->requested_bytes) * VISIBLE_PARTS >= row->bytes)
		add_line(owners, "  of which asked for", (double)row->requested_bytes, -1, NULL);
}

/* Of weights, where not all that is known of them is trained. */
static void add_training(struct owner_table *owners, const struct vt_books_line *line)
{
	if (!line->frozen_bytes)
		return;
	add_line(owners, "  of which trained", (double)line->trained_bytes, -1, NULL);
	add_line(owners, "  of which frozen", (double)line->frozen_bytes, -1, NULL);
}

static void add_parent(struct owner_table *owners, const struct vt_books *books,
		       const struct row *row)
{
	char *evidence = known_by(row->provenance, row->bytes);
	const char *leaf = books->lines[row->first].owner + row->name_len;
	struct vt_books_line *leaves;
	char *name;

	/* An only child does not get a line of its own: "workspace (cublas)". */
	if (row->nr_leaves == 1 && *leaf == '/')
		name = vt_xasprintf("%.*s (%s)", row->name_len, row->name, leaf + 1);
	else
		name = vt_xstrndup(row->name, (size_t)row->name_len);
	add_line(owners, name, (double)row->bytes, row->blocks, evidence);
	free(name);
	free(evidence);
	add_requested(owners, row);
	add_training(owners, &books->lines[row->first]);
	if (row->nr_leaves == 1)
		return;
	leaves = vt_xcalloc(row->nr_leaves, sizeof(*leaves));
	memcpy(leaves, books->lines + row->first, row->nr_leaves * sizeof(*leaves));
	qsort(leaves, row->nr_leaves, sizeof(*leaves), compare_leaves);
	for (uint32_t i = 0; i < row->nr_leaves; i++) {
		leaf = leaves[i].owner + row->name_len;
		name = vt_xasprintf("  %s", *leaf == '/' ? leaf + 1 : "(itself)");
		add_line(owners, name, (double)leaves[i].bytes, -1, NULL);
		free(name);
	}
	free(leaves);
}

/* What the rest is called in the text, by the first part of its path. */
static const struct rest_name {
	const char *parent;
	const char *text;
	const char *known_by;
} rest_names[] = {
	{ "cached", "cached, not in use", NULL },
	{ "graph pools", "CUDA graph pools, idle", NULL },
	{ "context", "CUDA context, libraries", "device total - recorded" },
	{ "other processes", "other processes", "NVML" },
};

/* Leaves of one parent stand together; an only child shares its parent's line. */
static uint32_t add_rest_parent(struct owner_table *owners, const struct vt_books_rest *rest,
				uint32_t nr)
{
	const int len = parent_length(rest->owner);
	const struct rest_name *name = rest_names;
	uint32_t nr_leaves = 0, nr_shown = 0;
	const struct vt_books_rest *only = rest;
	uint64_t bytes = 0;
	char *text;

	for (; nr_leaves < nr && !strncmp(rest[nr_leaves].owner, rest->owner, (size_t)len);
	     nr_leaves++) {
		bytes += rest[nr_leaves].bytes;
		nr_shown += rest[nr_leaves].bytes != 0;
		only = rest[nr_leaves].bytes ? &rest[nr_leaves] : only;
	}
	while (strncmp(name->parent, rest->owner, (size_t)len))
		name++;
	if (rest->owner[len] && nr_shown == 1)
		text = vt_xasprintf("%s (%s)", name->text, only->owner + len + 1);
	else
		text = vt_xstrdup(name->text);
	/* Nobody beside us is no line; a context of nothing is one. */
	if (nr_shown || !strcmp(name->parent, "context"))
		add_line(owners, text, (double)bytes, -1, name->known_by);
	free(text);
	for (uint32_t i = 0; nr_shown > 1 && i < nr_leaves; i++) {
		text = vt_xasprintf("  %s", rest[i].owner + len + 1);
		if (rest[i].bytes)
			add_line(owners, text, (double)rest[i].bytes, -1, NULL);
		free(text);
	}
	return nr_leaves;
}

static void add_rest(struct owner_table *owners, const struct vt_books *books,
		     const struct row *unknown)
{
	char figure[VT_REPORT_FIGURE_MAX], text[96];

	for (uint32_t i = 0; i < books->nr_rest;)
		i += add_rest_parent(owners, &books->rest[i], books->nr_rest - i);
	add_line(owners, VT_OWNER_UNKNOWN, unknown ? (double)unknown->bytes : 0.0,
		 unknown ? unknown->blocks : 0, NULL);
	vt_table_add_line(&owners->table);
	snprintf(text, sizeof(text), "books close to %s %s",
		 vt_report_sections_figure(figure, owners->unit, (double)books->difference_bytes),
		 owners->unit.name);
	add_line(owners, books->has_context ? "device used" : "device used, without the context",
		 (double)owners->device_used, -1, text);
}

void vt_report_sections_owners(const struct vt_books *books, struct vt_report_unit unit, FILE *out)
{
	const struct vt_column columns[NR_OWNER_COLUMNS] = {
		{ "owner", 0 }, { unit.name, 1 }, { "%", 1 }, { "blocks", 1 }, { "known by", 0 },
	};
	struct owner_table owners = { .unit = unit, .device_used = vt_books_device_used(books) };
	const struct row *unknown = NULL;
	uint32_t nr;
	struct row *rows = group_by_parent(books, &nr);

	vt_table_init(&owners.table, columns, NR_OWNER_COLUMNS);
	qsort(rows, nr, sizeof(*rows), compare_rows);
	for (uint32_t i = 0; i < nr; i++)
		if (is_unknown(&rows[i]))
			unknown = &rows[i];
		else
			add_parent(&owners, books, &rows[i]);
	add_rest(&owners, books, unknown);
	vt_table_print(&owners.table, out, 2);
	vt_table_release(&owners.table);
	free(rows);
}

static void print_lines(struct vt_lines lines, unsigned max, FILE *out)
{
	for (unsigned i = 0; i < lines.nr && i < max; i++)
		fprintf(out, "       %s\n", lines.text[i]);
	if (lines.nr > max)
		fprintf(out, "       ... %u more\n", lines.nr - max);
	vt_describe_free(&lines);
}

static void print_place(const struct vt_report *report, const struct vt_hotspot *spot,
			unsigned number, struct vt_report_unit unit, FILE *out)
{
	/* Enough to see which call of which library; --all-frames shows the rest. */
	unsigned max = report->options->has_all_frames ? VT_FRAMES_MAX : 8;
	char figure[VT_REPORT_FIGURE_MAX], count[VT_UNITS_MAX];

	fprintf(out, "%3u  %s %s in %s %s, %s\n", number,
		vt_report_sections_figure(figure, unit, (double)spot->bytes), unit.name,
		vt_units_count(count, sizeof(count), spot->blocks),
		spot->blocks == 1 ? "block" : "blocks",
		vt_attribution_owner(&report->analysis->attribution, spot->owner));
	print_lines(vt_producer_lines(&report->describe, spot->first), max, out);
}

void vt_report_sections_places(const struct vt_report *report, const struct vt_report_device *row,
			       struct vt_report_unit unit, FILE *out)
{
	for (uint32_t i = 0; i < row->hotspots.nr && i < report->options->top; i++)
		print_place(report, &row->hotspots.items[i], i + 1, unit, out);
}

void vt_report_sections_unknown(const struct vt_report *report, const struct vt_report_device *row,
				struct vt_report_unit unit, FILE *out)
{
	unsigned shown = 0;

	for (uint32_t i = 0; i < row->hotspots.nr && shown < report->options->top; i++)
		if (vt_report_is_unknown(report, &row->hotspots.items[i]))
			print_place(report, &row->hotspots.items[i], ++shown, unit, out);
}
