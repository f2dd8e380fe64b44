/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LINE_SHIFTS_H
#define VT_ANALYZER_LINE_SHIFTS_H

/*
 * The lines of one function, seen in two versions of it: which is which.
 */

#include <stdint.h>

#define VT_LINE_SHIFTS_NONE UINT32_MAX

/*
 * For each of `nr_base` lines the index of its counterpart among `nr_new`, or VT_LINE_SHIFTS_NONE.
 * Both lists ascend.  Lines keep their order; most of them have moved by the same distance.
 */
void vt_line_shifts_find(const int64_t *base, uint32_t nr_base, const int64_t *new,
			 uint32_t nr_new, uint32_t *counterparts);

#endif
