/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CSV_H
#define VT_ANALYZER_CSV_H

/*
 * Comma-separated values, as RFC 4180 has them: a line of names first, text always in quotes,
 * nothing at all between two commas for NULL.
 */

#include <stdint.h>
#include <stdio.h>

struct vt_csv {
	FILE *file; /* NULL: it could not be made */
	unsigned nr_cells; /* of the line that is being written */
	unsigned nr_columns;
};

/* `names`: `nr` of them.  A file that is there is an error; vt_csv_close says so. */
void vt_csv_open(struct vt_csv *csv, const char *path, const char *const *names, unsigned nr);
/* 0, or -1 with errno: anything that went wrong since it was opened. */
int vt_csv_close(struct vt_csv *csv);

/* The last of a line's columns ends it. */
void vt_csv_number(struct vt_csv *csv, int64_t number);
void vt_csv_text(struct vt_csv *csv, const char *text); /* NULL: none */
void vt_csv_null(struct vt_csv *csv);

#endif
