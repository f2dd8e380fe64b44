/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_APPEND_CACHES_H
#define VT_ANALYZER_APPEND_CACHES_H

/*
 * Caches to which every call of a loop adds a piece, and replaces none: inner modules keep of each
 * call what they made, and need more memory in each while the loop's input stays as small as it is,
 * because they read all pieces again.  Layers do so together: one module alone may be chance.
 */

#include "analyzer/attribution/timeline/carried_tensors.h"

/*
 * The end of the row of calls that begins at `position` and may do so; fills `kept` with what its
 * modules keep of those calls and, where `has_prompt`, of the call before.  Nothing in `kept`: it
 * does not.
 */
uint32_t vt_append_caches_find_row(const struct vt_carried_tensors *carried, uint32_t position,
				   int has_prompt, vt_carried_vector *kept);

#endif
