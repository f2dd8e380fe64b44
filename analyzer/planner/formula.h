/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FORMULA_H
#define VT_ANALYZER_FORMULA_H

/*
 * Formulas as text: "2*L*k*d*s*e*b".  The same text is computed, printed, and printed with the
 * numbers in the place of the names, so that what a user reads is what was computed.
 *
 *	expression: + - * / ( ) numbers names min(x,y) max(x,y) ceil(x) floor(x)
 */

#include <stddef.h>

#include "analyzer/base/util.h"

#define VT_FORMULA_MAX_SYMBOLS 160
#define VT_FORMULA_MAX_NAME    40
/* From here on a double does not hold every whole number, and no device holds so much. */
#define VT_FORMULA_MAX 0x1p53

struct vt_symbol {
	char name[VT_FORMULA_MAX_NAME];
	size_t name_len;
	double value;
};

/* Zero-initialised memory is an empty table. */
struct vt_symbols {
	struct vt_symbol items[VT_FORMULA_MAX_SYMBOLS];
	size_t len;
};

/* Adds or replaces.  0, or -1 where the table is full or the name too long. */
int vt_formula_define(struct vt_symbols *symbols, const char *name, size_t len, double value);
/* NULL where there is no such name. */
const struct vt_symbol *vt_formula_find(const struct vt_symbols *symbols, const char *name,
					size_t len);

/*
 * Computes.  0, or -1 with *error naming what is wrong (static text) and *value 0: an unknown name,
 * a division by zero, text that is no formula, a result that is negative or VT_FORMULA_MAX or more.
 */
int vt_formula_evaluate(const char *text, const struct vt_symbols *symbols, double *value,
			const char **error);

/* A step of the computation: a value, or what becomes of the one or two that came last. */
enum vt_formula_operation {
	VT_FORMULA_NUMBER,
	VT_FORMULA_NAME,
	VT_FORMULA_ADD,
	VT_FORMULA_SUBTRACT,
	VT_FORMULA_MULTIPLY,
	VT_FORMULA_DIVIDE,
	VT_FORMULA_NEGATE,
	VT_FORMULA_ROUND,  /* ceil, floor */
	VT_FORMULA_FIRST,  /* min, max: the one that was chosen */
	VT_FORMULA_SECOND,
};

struct vt_formula_step {
	enum vt_formula_operation operation;
	double value;     /* the result */
	const char *name; /* VT_FORMULA_NAME: in the text, of name_len */
	size_t name_len;
};

VT_VECTOR_DECLARE(vt_formula_steps, struct vt_formula_step);

/*
 * vt_formula_evaluate that also appends its steps, operands before operations: "2*h+1" is 2, h,
 * multiply, 1, add.  Where it fails, those up to there.  Release with vt_vector_release.
 */
int vt_formula_trace(const char *text, const struct vt_symbols *symbols,
		     struct vt_formula_steps *steps, double *value, const char **error);

/* Drops parentheses directly inside others, "((x))", in place. */
void vt_formula_tidy(char *text);

/* Appends the formula with numbers in the place of names. */
void vt_formula_substitute(const char *text, const struct vt_symbols *symbols,
			   struct vt_buffer *out);

#endif
