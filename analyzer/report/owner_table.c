/* SPDX-License-Identifier: MIT */
#include "analyzer/report/owner_table.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/table.h"

#define MOST VT_OWNER_COLUMNS_MAX

/* A quarter of a percent: 7.29 of 7.31 GiB. */
#define VISIBLE_PARTS 400

/* A row before it is printed; bytes by column. */
struct row {
	const char *owner; /* the path */
	uint64_t bytes[MOST];
	uint64_t requested_bytes[MOST];
	uint64_t trained_bytes[MOST], frozen_bytes[MOST];
	uint32_t blocks[MOST];
	uint64_t provenance[MOST][VT_NR_PROVENANCES];
	uint32_t first, nr_leaves; /* of a parent: leaves[first .. first + nr_leaves) */
};

struct owner_table {
	const struct vt_owner_column *columns;
	unsigned nr;
	struct vt_report_unit unit;
	uint64_t device_used[MOST];
	struct vt_table table;
	/* By path; their parents have the sums. */
	struct row *leaves, *parents;
	uint32_t nr_leaves, nr_parents;
};

static int parent_length(const char *owner)
{
	return (int)strcspn(owner, "/");
}

static int is_of_parent(const char *owner, const char *parent)
{
	int len = parent_length(parent);

	return parent_length(owner) == len && !memcmp(owner, parent, (size_t)len);
}

static void set_line(struct row *row, unsigned column, const struct vt_books_line *line)
{
	row->owner = line->owner;
	row->bytes[column] = line->bytes;
	row->requested_bytes[column] = line->requested_bytes;
	row->trained_bytes[column] = line->trained_bytes;
	row->frozen_bytes[column] = line->frozen_bytes;
	row->blocks[column] = line->blocks;
	memcpy(row->provenance[column], line->provenance, sizeof(line->provenance));
}

/* The lines of all columns, which are sorted by path, become one list with one row per path. */
static void merge_lines(struct owner_table *owners)
{
	uint32_t at[MOST] = { 0 }, most = 0;

	for (unsigned c = 0; c < owners->nr; c++)
		most += owners->columns[c].books->nr_lines;
	owners->leaves = vt_xcalloc(most + 1, sizeof(*owners->leaves));
	for (;;) {
		const char *next = NULL;
		struct row *row = &owners->leaves[owners->nr_leaves];

		for (unsigned c = 0; c < owners->nr; c++) {
			const struct vt_books *books = owners->columns[c].books;

			if (at[c] < books->nr_lines &&
			    (!next || strcmp(books->lines[at[c]].owner, next) < 0))
				next = books->lines[at[c]].owner;
		}
		if (!next)
			return;
		for (unsigned c = 0; c < owners->nr; c++) {
			const struct vt_books *books = owners->columns[c].books;

			if (at[c] < books->nr_lines && !strcmp(books->lines[at[c]].owner, next))
				set_line(row, c, &books->lines[at[c]++]);
		}
		owners->nr_leaves++;
	}
}

static void add_to_parent(struct row *parent, const struct row *leaf)
{
	for (unsigned c = 0; c < MOST; c++) {
		parent->bytes[c] += leaf->bytes[c];
		parent->requested_bytes[c] += leaf->requested_bytes[c];
		parent->trained_bytes[c] += leaf->trained_bytes[c];
		parent->frozen_bytes[c] += leaf->frozen_bytes[c];
		parent->blocks[c] += leaf->blocks[c];
		for (unsigned p = 0; p < VT_NR_PROVENANCES; p++)
			parent->provenance[c][p] += leaf->provenance[c][p];
	}
	parent->nr_leaves++;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	for (unsigned c = 0; c < MOST; c++)
		if (x->bytes[c] != y->bytes[c])
			return x->bytes[c] > y->bytes[c] ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

/* Leaves of one parent follow each other in a list by path. */
static void group_by_parent(struct owner_table *owners)
{
	owners->parents = vt_xcalloc(owners->nr_leaves + 1, sizeof(*owners->parents));
	for (uint32_t i = 0; i < owners->nr_leaves; i++) {
		const struct row *leaf = &owners->leaves[i];
		uint32_t nr = owners->nr_parents;

		if (!nr || !is_of_parent(leaf->owner, owners->parents[nr - 1].owner)) {
			owners->parents[nr].owner = leaf->owner;
			owners->parents[nr].first = i;
			owners->nr_parents++;
		}
		add_to_parent(&owners->parents[owners->nr_parents - 1], leaf);
	}
	for (uint32_t i = 0; i < owners->nr_parents; i++)
		qsort(owners->leaves + owners->parents[i].first, owners->parents[i].nr_leaves,
		      sizeof(*owners->leaves), compare_rows);
	vt_sort(owners->parents, owners->nr_parents, compare_rows);
}

/* `blocks` below 0: none; the first column where the row has bytes is the one that counts them. */
static void add_line(struct owner_table *owners, const char *name, const uint64_t *bytes,
		     int64_t blocks, const char *evidence)
{
	char figures[MOST][VT_REPORT_FIGURE_MAX], shares[MOST][VT_REPORT_FIGURE_MAX];
	char count[VT_UNITS_MAX] = "";
	const char *cells[3 + 2 * MOST];
	unsigned nr = 0;

	cells[nr++] = name;
	for (unsigned c = 0; c < owners->nr; c++) {
		shares[c][0] = '\0';
		if (owners->device_used[c])
			snprintf(shares[c], sizeof(shares[c]), "%.1f",
				 100.0 * (double)bytes[c] / (double)owners->device_used[c]);
		cells[nr++] = vt_report_sections_figure(figures[c], owners->unit, (double)bytes[c]);
		cells[nr++] = shares[c];
	}
	if (blocks >= 0)
		vt_units_count(count, sizeof(count), (uint64_t)blocks);
	cells[nr++] = count;
	cells[nr++] = evidence;
	vt_table_add(&owners->table, cells);
}

/* The column that a row's blocks and evidence are those of. */
static unsigned first_column(const struct owner_table *owners, const struct row *row)
{
	for (unsigned c = 0; c < owners->nr; c++)
		if (row->bytes[c])
			return c;
	return 0;
}

/* The evidence for a tenth of the bytes or more, most first. */
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

/*
 * What the program's tensors take, where the allocator's rounding and tails make it visibly more: a
 * model's weights are compared with the sum of its parameters.
 */
static void add_requested(struct owner_table *owners, const struct row *row)
{
	char bytes[VT_REPORT_FIGURE_MAX], requested[VT_REPORT_FIGURE_MAX];
	int is_visible = 0;

	for (unsigned c = 0; c < owners->nr; c++) {
		uint64_t rounding = row->bytes[c] - row->requested_bytes[c];

		vt_report_sections_figure(bytes, owners->unit, (double)row->bytes[c]);
		vt_report_sections_figure(requested, owners->unit, (double)row->requested_bytes[c]);
		is_visible |= strcmp(bytes, requested) != 0 &&
			      rounding * VISIBLE_PARTS >= row->bytes[c];
	}
	if (is_visible)
		add_line(owners, "  of which asked for", row->requested_bytes, -1, NULL);
}

/* Of weights, where not all that is known of them is trained. */
static void add_training(struct owner_table *owners, const struct row *leaf)
{
	uint64_t frozen_bytes = 0;

	for (unsigned c = 0; c < owners->nr; c++)
		frozen_bytes += leaf->frozen_bytes[c];
	if (!frozen_bytes)
		return;
	add_line(owners, "  of which trained", leaf->trained_bytes, -1, NULL);
	add_line(owners, "  of which frozen", leaf->frozen_bytes, -1, NULL);
}

static void add_parent(struct owner_table *owners, const struct row *parent)
{
	unsigned column = first_column(owners, parent);
	char *evidence = known_by(parent->provenance[column], parent->bytes[column]);
	int len = parent_length(parent->owner);
	const struct row *leaves = &owners->leaves[parent->first];
	char *name;

	/* An only child does not get a line of its own: "workspace (cublas)". */
	if (parent->nr_leaves == 1 && leaves[0].owner[len] == '/')
		name = vt_xasprintf("%.*s (%s)", len, parent->owner, leaves[0].owner + len + 1);
	else
		name = vt_xstrndup(parent->owner, (size_t)len);
	add_line(owners, name, parent->bytes, parent->blocks[column], evidence);
	free(name);
	free(evidence);
	add_requested(owners, parent);
	add_training(owners, parent);
	for (uint32_t i = 0; parent->nr_leaves > 1 && i < parent->nr_leaves; i++) {
		const char *leaf = leaves[i].owner + len;

		name = vt_xasprintf("  %s", *leaf == '/' ? leaf + 1 : "(itself)");
		add_line(owners, name, leaves[i].bytes, -1, NULL);
		free(name);
	}
}

/* What the rest is called in the text, by the first part of its path. */
static const struct rest_name {
	const char *parent;
	const char *text;
	const char *known_by;
} rest_names[] = {
	{ "cached", "cached, not in use", NULL },
	{ "graph pools", "CUDA graph pools, idle", NULL },
	{ "unfilled pages", "unfilled pages", "sizes" },
	{ "context", "CUDA context, libraries", "device total - recorded" },
	{ "other processes", "other processes", "NVML" },
};

/* The leaves of one parent in all columns; free(). */
static struct row *rest_of(const struct owner_table *owners, const char *parent, uint32_t *nr)
{
	uint32_t most = 0;
	struct row *rows;

	*nr = 0;
	for (unsigned c = 0; c < owners->nr; c++)
		most += owners->columns[c].books->nr_rest;
	rows = vt_xcalloc(most + 1, sizeof(*rows));
	for (unsigned c = 0; c < owners->nr; c++) {
		const struct vt_books *books = owners->columns[c].books;

		for (uint32_t i = 0; i < books->nr_rest; i++) {
			uint32_t r = 0;

			if (!books->rest[i].bytes || !is_of_parent(books->rest[i].owner, parent))
				continue;
			while (r < *nr && strcmp(rows[r].owner, books->rest[i].owner) != 0)
				r++;
			*nr += r == *nr;
			rows[r].owner = books->rest[i].owner;
			rows[r].bytes[c] = books->rest[i].bytes;
		}
	}
	return rows;
}

/* A snapshot has none: its device's size is without it (snapshot/device.h). */
static int has_context(const struct owner_table *owners)
{
	const struct vt_books *books = owners->columns[0].books;

	return books->has_context && books->context_bytes;
}

/* An only child shares its parent's line. */
static void add_rest(struct owner_table *owners, const struct rest_name *name)
{
	uint64_t bytes[MOST] = { 0 };
	uint32_t nr;
	struct row *rows = rest_of(owners, name->parent, &nr);
	char *text;

	for (uint32_t i = 0; i < nr; i++)
		for (unsigned c = 0; c < owners->nr; c++)
			bytes[c] += rows[i].bytes[c];
	if (nr == 1 && strchr(rows[0].owner, '/'))
		text = vt_xasprintf("%s (%s)", name->text, strchr(rows[0].owner, '/') + 1);
	else
		text = vt_xstrdup(name->text);
	/* No other process is no line; a context is always one. */
	if (nr || (!strcmp(name->parent, "context") && has_context(owners)))
		add_line(owners, text, bytes, -1, name->known_by);
	free(text);
	for (uint32_t i = 0; nr > 1 && i < nr; i++) {
		text = vt_xasprintf("  %s", strchr(rows[i].owner, '/') + 1);
		add_line(owners, text, rows[i].bytes, -1, NULL);
		free(text);
	}
	free(rows);
}

static void add_total(struct owner_table *owners)
{
	char figure[VT_REPORT_FIGURE_MAX];
	struct vt_buffer text;

	vt_buffer_init(&text);
	vt_buffer_printf(&text, "unaccounted");
	for (unsigned c = 0; c < owners->nr; c++) {
		double difference = (double)owners->columns[c].books->difference_bytes;

		vt_buffer_printf(&text, "%s %s", c ? "," : "",
				 vt_report_sections_figure(figure, owners->unit, difference));
	}
	vt_buffer_printf(&text, " %s", owners->unit.name);
	vt_table_add_line(&owners->table);
	add_line(owners,
		 has_context(owners) ? "device used" : "device used, without the context",
		 owners->device_used, -1, text.data);
	vt_buffer_release(&text);
}

static void add_rows(struct owner_table *owners)
{
	static const struct row nothing;
	const struct row *unknown = &nothing;

	for (uint32_t i = 0; i < owners->nr_parents; i++)
		if (is_of_parent(owners->parents[i].owner, VT_OWNER_UNKNOWN))
			unknown = &owners->parents[i];
		else
			add_parent(owners, &owners->parents[i]);
	for (unsigned i = 0; i < VT_ARRAY_SIZE(rest_names); i++)
		add_rest(owners, &rest_names[i]);
	add_line(owners, VT_OWNER_UNKNOWN, unknown->bytes,
		 unknown->blocks[first_column(owners, unknown)], NULL);
	add_total(owners);
}

void vt_owner_table_print(const struct vt_owner_column *columns, unsigned nr_columns,
			  struct vt_report_unit unit, FILE *out)
{
	struct owner_table owners = { .columns = columns, .nr = nr_columns, .unit = unit };
	struct vt_column titles[3 + 2 * MOST] = { { "owner", 0 } };
	char *words[MOST] = { NULL };
	unsigned nr = 1;

	for (unsigned c = 0; c < nr_columns; c++) {
		owners.device_used[c] = vt_books_device_used(columns[c].books);
		words[c] = vt_xasprintf("%s%s%s", unit.name, columns[c].title ? " " : "",
					columns[c].title ? columns[c].title : "");
		titles[nr++] = (struct vt_column){ words[c], 1 };
		titles[nr++] = (struct vt_column){ "%", 1 };
	}
	titles[nr++] = (struct vt_column){ "blocks", 1 };
	titles[nr++] = (struct vt_column){ "known by", 0 };
	vt_table_init(&owners.table, titles, nr);
	merge_lines(&owners);
	group_by_parent(&owners);
	add_rows(&owners);
	vt_table_print(&owners.table, out, 2);
	vt_table_release(&owners.table);
	for (unsigned c = 0; c < nr_columns; c++)
		free(words[c]);
	free(owners.leaves);
	free(owners.parents);
}
