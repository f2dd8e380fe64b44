/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VARIABLES_H
#define VT_ANALYZER_VARIABLES_H

/*
 * Which of the program's variables a tensor is named after, where several hold it.  When the probe
 * looked differs from run to run, and with it which of them it saw; so the order in which they were
 * seen decides nothing.  Preferred are, in this order:
 *
 *  1  an element or an attribute ("outputs.3") to a plain variable, which a loop takes from it or
 *     that was its name before it was put there;
 *  2  a name that the program chose to one with a leading underscore, or IPython's Out;
 *  3  fewer parts;
 *  4  the first in the alphabet, of the names, then of their holders.
 *
 * Most tensors are not seen at all, or before they are put where they stay.  So what one place of
 * the program asked for (both stacks) in one size has one variable, the preferred of any of it; but
 * where one look saw two plain variables there ("a, b = make(), make()") each has what it was seen
 * in.
 */

#include "analyzer/base/map.h"
#include "analyzer/model/names.h"

struct vt_variables {
	const struct vt_names *names;
	struct vt_map sites; /* by stacks and size: a row (index of vt_model.tensors) */
};

/* `names` must outlive it. */
void vt_variables_init(struct vt_variables *variables, const struct vt_names *names);
void vt_variables_release(struct vt_variables *variables);

/* The preferred row of that allocation itself.  NULL: it was not seen in a variable. */
const struct vt_tensor *vt_variables_row(const struct vt_names *names, uint32_t allocation);
/* The variable in the name of a row, which the caller frees; NULL: it has no name. */
char *vt_variables_root(const struct vt_names *names, const struct vt_tensor *row);
/* Of an allocation: "outputs" of "outputs.3".  NULL: unknown.  The caller frees. */
char *vt_variables_name(const struct vt_variables *variables, uint32_t allocation);

#endif
