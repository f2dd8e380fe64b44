/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FORMULA_PARTS_H
#define VT_ANALYZER_FORMULA_PARTS_H

/*
 * A formula as the tensors it adds up: "L*T*(e*(a*d+2*k*d)+4*a)" is, in each of L layers, one
 * tensor of T*e*a*d bytes, two of T*e*k*d and one of T*4*a.
 *
 * The parts are the products that are left when parentheses are multiplied out.  In a product a
 * number counts tensors, but where no name in it is a type: then the last number is the bytes of an
 * element ("3*4*h": three of 4*h).  A name of layers counts layers; "chosen" experts per token are
 * a tensor of each expert's share.  max() and min() are the parts of the side that they choose; a
 * difference, a quotient and what it is divided by are one part.
 */

#include "analyzer/planner/formula.h"

struct vt_formula_part {
	double bytes;  /* of one tensor */
	double count;  /* tensors, of one layer where there are layers */
	double layers; /* 0: in no layer */
	char layer_name[8]; /* the name that counts them: "L", "Lmoe" */
	double number; /* while it is read: the last number, of which nothing is known yet */
	int is_typed;
};

VT_VECTOR_DECLARE(vt_formula_parts, struct vt_formula_part);

/* None where vt_formula_evaluate fails.  *parts is empty before; release with vt_vector_release. */
void vt_formula_split(const char *text, const struct vt_symbols *symbols,
		      struct vt_formula_parts *parts);

#endif
