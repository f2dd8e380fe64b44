/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OWNER_TABLE_H
#define VT_ANALYZER_OWNER_TABLE_H

/*
 * The table of the text report that says who owns the bytes of a device, at one moment or at two
 * moments side by side: owners by the first part of their path with their leaves below, then what
 * no owner has (cached, context, ...), then the total.
 */

#include <stdio.h>

#include "analyzer/analysis/books.h"
#include "analyzer/report/report_sections.h"

/* One moment: a column of bytes and one of their share of the device's use. */
struct vt_owner_column {
	const struct vt_books *books;
	const char *title; /* "most used", behind the unit; NULL: the unit alone */
};

#define VT_OWNER_COLUMNS_MAX 2

/* Rows are sorted by the bytes of the first column, then by those of the second. */
void vt_owner_table_print(const struct vt_owner_column *columns, unsigned nr_columns,
			  struct vt_report_unit unit, FILE *out);

#endif
