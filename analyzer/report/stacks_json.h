/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STACKS_JSON_H
#define VT_ANALYZER_STACKS_JSON_H

#include <jansson.h>

#include "analyzer/model/describe.h"

/*
 * Sets the stacks of the call that made `a`, each an array of lines, innermost first: "python",
 * "native", and "forward_python".  The last is the forward call whose backward pass made it, and is
 * empty where the Python stack itself leads to the program.
 */
void vt_stacks_json_set(json_t *object, const struct vt_describe *describe,
			const struct vt_allocation *a);

#endif
