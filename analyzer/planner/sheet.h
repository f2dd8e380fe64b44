/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SHEET_H
#define VT_ANALYZER_SHEET_H

/*
 * A sheet: somebody's own formulas, to be computed, compared and swept like the planner's.
 *
 *	[symbols]            names, each from those above it
 *	P = 72e9
 *	[rows]               one line per row, "owner = formula"
 *	weights = P*2
 */

#include <stdio.h>

#include "analyzer/base/diag.h"
#include "analyzer/planner/formula.h"

struct vt_sheet_row {
	char *owner, *formula, *numbers;
	double bytes;
};

VT_VECTOR_DECLARE(vt_sheet_rows, struct vt_sheet_row);

struct vt_sheet {
	char *name;
	struct vt_symbols symbols;
	struct vt_sheet_rows rows;
	double total;
};

int vt_sheet_is(const char *path); /* by its name: "*.ini" */

/*
 * Computes the sheet in `text`.  Where `given` is not NULL, the symbol of that name takes `value`
 * instead of what the sheet says.  0, or -1 with `diag` filled (exit code 3); release it anyway.
 */
int vt_sheet_compute(struct vt_sheet *sheet, const char *name, const char *text, const char *given,
		     double value, struct vt_diag *diag);
void vt_sheet_release(struct vt_sheet *sheet);

/*
 * Reads the file and prints it; `what_if` is NULL or "NAME=VALUE,VALUE,...".  0, or -1 with `diag`
 * filled.
 */
int vt_sheet_print(const char *path, const char *what_if, int is_json, FILE *out,
		   struct vt_diag *diag);

#endif
