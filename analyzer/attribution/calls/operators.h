/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OPERATORS_H
#define VT_ANALYZER_OPERATORS_H

/*
 * What PyTorch was doing, in its own names: the operator on a native stack ("addmm", from
 * at::_ops::addmm::redispatch) and the class of an autograd node ("AddmmBackward0", from its RTTI
 * name).
 */

#include <stdint.h>

#include "analyzer/model/model.h"
#include "analyzer/attribution/rules/rules.h"

/* Names are found when they are asked for; any thread may ask. */
struct vt_operators {
	const struct vt_model *model;
	const struct vt_rules *rules;
	_Atomic(char *) *names;   /* by native stack; NULL: not looked up */
	_Atomic(char *) *classes; /* by string id, short names of node classes; NULL: the same */
};

void vt_operators_init(struct vt_operators *operators, const struct vt_model *model,
		       const struct vt_rules *rules);
void vt_operators_release(struct vt_operators *operators);

/* Innermost operator that is not plumbing; NULL where there is none. */
const char *vt_operators_name(const struct vt_operators *operators, uint32_t native_stack);
/* Whether any operator on the stack fits: the innermost, or one that it was called for. */
int vt_operators_has(const struct vt_operators *operators, uint32_t native_stack,
		     const struct vt_globs *globs);
/* Short name of a node class; NULL for id 0. */
const char *vt_operators_class(const struct vt_operators *operators, uint32_t string);

/* "N5torch8autograd9generated14AddmmBackward0E" -> "AddmmBackward0"; the caller frees. */
char *vt_operators_short_class(const char *rtti);

#endif
