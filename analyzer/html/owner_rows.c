/* SPDX-License-Identifier: MIT */
#include "analyzer/html/owner_rows.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/owner_path.h"
#include "analyzer/base/units.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/html/markup.h"

#define MOST_MOMENTS 2

struct row {
	const char *owner;
	uint64_t bytes[MOST_MOMENTS];
	uint64_t parent_bytes[MOST_MOMENTS];
	uint64_t provenance[VT_NR_PROVENANCES]; /* of all moments together */
	uint32_t blocks;                        /* at the first moment */
	int is_rest;
};

struct rows {
	VT_VECTOR(struct row) all;
};

static struct row *row_of(struct rows *rows, const char *owner, int is_rest)
{
	struct row row = { .owner = owner, .is_rest = is_rest };

	for (size_t i = 0; i < rows->all.len; i++)
		if (!strcmp(rows->all.items[i].owner, owner))
			return &rows->all.items[i];
	vt_vector_push(&rows->all, row);
	return &rows->all.items[rows->all.len - 1];
}

static void add_books(struct rows *rows, const struct vt_books *books, unsigned moment)
{
	for (uint32_t i = 0; i < books->nr_lines; i++) {
		const struct vt_books_line *line = &books->lines[i];
		struct row *row = row_of(rows, line->owner, 0);

		row->bytes[moment] += line->bytes;
		row->blocks += moment ? 0 : line->blocks;
		for (unsigned p = 0; p < VT_NR_PROVENANCES; p++)
			row->provenance[p] += line->provenance[p];
	}
	for (uint32_t i = 0; i < books->nr_rest; i++)
		if (books->rest[i].bytes)
			row_of(rows, books->rest[i].owner, 1)->bytes[moment] +=
				books->rest[i].bytes;
}

static int is_same_parent(const struct row *a, const struct row *b)
{
	size_t len = strcspn(a->owner, "/");

	return a->is_rest == b->is_rest && vt_owner_path_is_below(b->owner, a->owner, len);
}

static int compare_bytes(const uint64_t *x, const uint64_t *y)
{
	for (unsigned m = 0; m < MOST_MOMENTS; m++)
		if (x[m] != y[m])
			return x[m] > y[m] ? -1 : 1;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = x->is_rest - y->is_rest;

	if (!order)
		order = compare_bytes(x->parent_bytes, y->parent_bytes);
	if (!order && !is_same_parent(x, y))
		return strcmp(x->owner, y->owner);
	if (!order)
		order = compare_bytes(x->bytes, y->bytes);
	return order ? order : strcmp(x->owner, y->owner);
}

static void sort(struct rows *rows)
{
	for (size_t i = 0; i < rows->all.len; i++)
		for (size_t k = 0; k < rows->all.len; k++)
			if (is_same_parent(&rows->all.items[i], &rows->all.items[k]))
				for (unsigned m = 0; m < MOST_MOMENTS; m++)
					rows->all.items[i].parent_bytes[m] +=
						rows->all.items[k].bytes[m];
	vt_vector_sort(&rows->all, compare_rows);
}

static void print_figures(const uint64_t *bytes, const struct vt_owner_moment *moments, unsigned nr,
			  FILE *out)
{
	for (unsigned m = 0; m < nr; m++) {
		uint64_t used = vt_books_device_used(moments[m].books);

		fputs("<td class=\"n\">", out);
		vt_markup_bytes(out, bytes[m]);
		fprintf(out, "<td class=\"n\">%.1f", used ? 100.0 * (double)bytes[m] / (double)used
							  : 0.0);
	}
}

static const char *known_by(const struct row *row)
{
	unsigned best = 0;

	for (unsigned p = 1; p < VT_NR_PROVENANCES; p++)
		if (row->provenance[p] > row->provenance[best])
			best = p;
	return row->is_rest || !row->provenance[best] ? "" : vt_evidence_provenances[best];
}

static void print_row(const struct row *row, int is_leaf, const struct vt_owner_moment *moments,
		      unsigned nr, FILE *out)
{
	const char *name = is_leaf ? strchr(row->owner, '/') : row->owner;
	char count[VT_UNITS_MAX] = "";

	fprintf(out, "<tr class=\"%s\"><th scope=\"row\">", is_leaf ? "leaf" : "owner");
	vt_markup_text(out, !is_leaf ? name : name ? name + 1 : "(itself)");
	print_figures(row->bytes, moments, nr, out);
	if (!row->is_rest)
		vt_units_count(count, sizeof(count), row->blocks);
	fprintf(out, "<td class=\"n\">%s<td>%s\n", count, known_by(row));
}

/* A parent with several leaves has a separate line before them. */
static size_t print_parent(const struct rows *rows, size_t first,
			   const struct vt_owner_moment *moments, unsigned nr, FILE *out)
{
	const struct row *row = &rows->all.items[first];
	size_t end = first + 1;
	struct row parent = *row;
	char *name;

	while (end < rows->all.len && is_same_parent(row, &rows->all.items[end])) {
		parent.blocks += rows->all.items[end].blocks;
		end++;
	}
	if (end == first + 1) {
		print_row(row, 0, moments, nr, out);
		return end;
	}
	name = vt_xstrndup(row->owner, strcspn(row->owner, "/"));
	parent.owner = name;
	memcpy(parent.bytes, row->parent_bytes, sizeof(parent.bytes));
	print_row(&parent, 0, moments, nr, out);
	for (size_t i = first; i < end; i++)
		print_row(&rows->all.items[i], 1, moments, nr, out);
	free(name);
	return end;
}

void vt_owner_rows_print(const struct vt_owner_moment *moments, unsigned nr, FILE *out)
{
	uint64_t used[MOST_MOMENTS] = { 0 };
	struct rows rows = { 0 };

	for (unsigned m = 0; m < nr; m++) {
		add_books(&rows, moments[m].books, m);
		used[m] = vt_books_device_used(moments[m].books);
	}
	sort(&rows);
	fputs("<table class=\"owners\"><thead><tr><th scope=\"col\">owner", out);
	for (unsigned m = 0; m < nr; m++)
		fprintf(out, "<th scope=\"col\" class=\"n\">%s<th scope=\"col\" class=\"n\">%%",
			moments[m].title);
	fputs("<th scope=\"col\" class=\"n\">blocks<th scope=\"col\">known by<tbody>\n", out);
	for (size_t i = 0; i < rows.all.len;)
		i = print_parent(&rows, i, moments, nr, out);
	fputs("<tfoot><tr><th scope=\"row\">device used", out);
	for (unsigned m = 0; m < nr; m++)
		if (moments[m].books->difference_bytes)
			fprintf(out, " (%s: unaccounted %.2f MiB)", moments[m].title,
				(double)moments[m].books->difference_bytes / VT_MIB);
	print_figures(used, moments, nr, out);
	fputs("<td><td></table>\n", out);
	vt_vector_release(&rows.all);
}

const char *vt_owner_rows_largest(const struct vt_books *books, size_t *len, uint64_t *bytes)
{
	const char *largest = NULL;

	*bytes = 0;
	for (uint32_t i = 0; i < books->nr_lines; i++) {
		const char *owner = books->lines[i].owner;
		size_t part = strcspn(owner, "/");
		uint64_t sum = 0;

		for (uint32_t k = 0; k < books->nr_lines; k++)
			if (vt_owner_path_is_below(books->lines[k].owner, owner, part))
				sum += books->lines[k].bytes;
		if (sum <= *bytes)
			continue;
		*bytes = sum;
		*len = part;
		largest = owner;
	}
	return largest;
}

void vt_owner_rows_print_name(const struct vt_books *books, const char *owner, size_t len,
			      FILE *out)
{
	char *name = vt_xstrndup(owner, len);
	uint32_t nr = 0;

	for (uint32_t i = 0; i < books->nr_lines; i++)
		nr += vt_owner_path_is_below(books->lines[i].owner, owner, len) != 0;
	vt_markup_text(out, name);
	if (nr == 1 && owner[len]) {
		fputs(" (", out);
		vt_markup_text(out, owner + len + 1);
		fputs(")", out);
	}
	free(name);
}

void vt_owner_rows_print_meaning(const char *owner, size_t len, FILE *out)
{
	if (len == strlen("user") && !strncmp(owner, "user", len))
		fputs("; tensors that the program's own code keeps, by the variable they are in",
		      out);
}
