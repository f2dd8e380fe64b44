/* SPDX-License-Identifier: MIT */
#include "analyzer/output/table.h"

#include <string.h>

#include "analyzer/base/util.h"

static const char gap[] = "  ";

void vt_table_init(struct vt_table *table, const struct vt_column *columns, unsigned nr_columns)
{
	memset(table, 0, sizeof(*table));
	table->columns = columns;
	table->nr_columns = nr_columns;
}

void vt_table_release(struct vt_table *table)
{
	for (size_t i = 0; i < (size_t)table->nr_rows * table->nr_columns; i++)
		free(table->cells[i]);
	free(table->cells);
	memset(table, 0, sizeof(*table));
}

static char **new_row(struct vt_table *table)
{
	size_t len = (size_t)table->nr_rows * table->nr_columns;
	char **row;

	table->cells = vt_vector_grow(table->cells, &table->capacity, len + table->nr_columns,
				      sizeof(char *));
	row = table->cells + len;
	memset(row, 0, table->nr_columns * sizeof(char *));
	table->nr_rows++;
	return row;
}

void vt_table_add(struct vt_table *table, const char *const *cells)
{
	char **row = new_row(table);

	for (unsigned i = 0; i < table->nr_columns; i++)
		row[i] = vt_xstrdup(cells[i] ? cells[i] : "");
}

void vt_table_add_line(struct vt_table *table)
{
	new_row(table);
}

static size_t max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

static int has_titles(const struct vt_table *table)
{
	for (unsigned i = 0; i < table->nr_columns; i++)
		if (table->columns[i].title)
			return 1;
	return 0;
}

static void measure(const struct vt_table *table, size_t *widths)
{
	for (unsigned i = 0; i < table->nr_columns; i++) {
		const char *title = table->columns[i].title;

		widths[i] = title ? strlen(title) : 0;
		for (unsigned row = 0; row < table->nr_rows; row++) {
			const char *cell = table->cells[row * table->nr_columns + i];

			widths[i] = max_size(widths[i], cell ? strlen(cell) : 0);
		}
	}
}

static void print_row(const struct vt_table *table, const char *const *cells, const size_t *widths,
		      FILE *out, unsigned indent)
{
	unsigned last = table->nr_columns;

	while (last && (!cells[last - 1] || !*cells[last - 1]))
		last--;
	fprintf(out, "%*s", (int)indent, "");
	for (unsigned i = 0; i < last; i++) {
		const char *cell = cells[i] ? cells[i] : "";

		if (table->columns[i].is_number)
			fprintf(out, "%*s", (int)widths[i], cell);
		else
			fprintf(out, "%-*s", i + 1 < last ? (int)widths[i] : 0, cell);
		fputs(i + 1 < last ? gap : "", out);
	}
	fputc('\n', out);
}

static void print_line(const struct vt_table *table, const size_t *widths, FILE *out,
		       unsigned indent)
{
	size_t width = 0;

	for (unsigned i = 0; i + 1 < table->nr_columns; i++)
		width += widths[i] + (i ? strlen(gap) : 0);
	fprintf(out, "%*s", (int)indent, "");
	while (width--)
		fputc('-', out);
	fputc('\n', out);
}

void vt_table_print(const struct vt_table *table, FILE *out, unsigned indent)
{
	size_t widths[VT_TABLE_MAX_COLUMNS];
	const char *titles[VT_TABLE_MAX_COLUMNS];

	measure(table, widths);
	for (unsigned i = 0; i < table->nr_columns; i++)
		titles[i] = table->columns[i].title;
	if (has_titles(table))
		print_row(table, titles, widths, out, indent);
	for (unsigned row = 0; row < table->nr_rows; row++) {
		const char *const *cells =
			(const char *const *)table->cells + row * table->nr_columns;

		if (cells[0])
			print_row(table, cells, widths, out, indent);
		else
			print_line(table, widths, out, indent);
	}
}
