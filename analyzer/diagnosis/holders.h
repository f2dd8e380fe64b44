/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HOLDERS_H
#define VT_ANALYZER_HOLDERS_H

/*
 * Who holds what piles up, as far as the probe saw it: the way that it searched from a tensor
 * outwards (role "held"); without one the variable that it found the tensor in.  What only C++
 * holds is in the graph of a result that somebody holds: of one that grows with it, in the same
 * iterations.
 *
 * Who held some of it once is no holder: a name counts for the tensor that it was last seen with,
 * while that is alive, and a variable that has one tensor holds no pile of them, unless by its
 * graph.
 */

#include "analyzer/diagnosis/leak.h"
#include "analyzer/model/names.h"

/*
 * Fills `holders` of all, at the moment `event`.  `groups`: by allocation, what each leak's `group`
 * is compared with, of nr_groups.
 */
void vt_holders_find(struct vt_leak *leaks, uint32_t nr, const struct vt_names *names,
		     const uint32_t *groups, uint32_t nr_groups, int64_t event);
void vt_holders_release(struct vt_leak *leak);

#endif
