/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TABLE_H
#define VT_ANALYZER_TABLE_H

/*
 * The one text table of the command: columns as wide as their cells, two blanks between them,
 * nothing after the last cell of a line.
 *
 * Tables and --json have separate writers: a table has other rows (the largest), another order and
 * cells made of several values.  One description of both was tried for frag, ranks and blocks --by:
 * 1,287 lines instead of 1,137.
 */

#include <stdio.h>

#define VT_TABLE_MAX_COLUMNS 12

struct vt_column {
	const char *title;
	int is_number; /* right-aligned */
};

struct vt_table {
	const struct vt_column *columns;
	unsigned nr_columns;
	char **cells; /* nr_rows * nr_columns; a row whose first cell is NULL is a line of dashes */
	unsigned nr_rows;
	size_t capacity;
};

/* `columns` must stay; at most VT_TABLE_MAX_COLUMNS. */
void vt_table_init(struct vt_table *table, const struct vt_column *columns, unsigned nr_columns);
void vt_table_release(struct vt_table *table);

/* Copies one text per column; NULL means an empty cell. */
void vt_table_add(struct vt_table *table, const char *const *cells);
/* A line of dashes as wide as the table without its last column. */
void vt_table_add_line(struct vt_table *table);

/* Prints titles (where a column has one) and rows, each line after `indent` blanks. */
void vt_table_print(const struct vt_table *table, FILE *out, unsigned indent);

#endif
