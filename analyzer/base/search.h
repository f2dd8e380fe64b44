/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SEARCH_H
#define VT_ANALYZER_SEARCH_H

/*
 * Binary search in anything that is sorted: the first index from 0 to `nr` of which `is_before`, an
 * expression in `i`, is not true; `nr` where it is of all.
 *
 *	at = vt_search_first(i, marks->len, marks->items[i].event < event);
 */

#include <stddef.h>

#define vt_search_first(i, nr, is_before)                                                          \
	__extension__({                                                                            \
		size_t low_ = 0, high_ = (nr);                                                     \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
