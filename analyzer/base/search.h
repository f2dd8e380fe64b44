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
#include <stdint.h>

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

/*
 * The index of the item with that `id`, of items in the order of theirs, at its own number where
 * they count from 1; `nr` where there is none.
 */
#define vt_search_id(items, nr, wanted)                                                            \
	__extension__({                                                                            \
		int64_t wanted_ = (wanted);                                                        \
		size_t nr_ = (nr), at_ = (size_t)wanted_ - 1;                                      \
		if (at_ >= nr_ || (items)[at_].id != wanted_)                                      \
			at_ = vt_search_first(i, nr_, (items)[i].id < wanted_);                    \
		at_ < nr_ && (items)[at_].id == wanted_ ? at_ : nr_;                               \
	})

#endif
