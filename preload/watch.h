/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_WATCH_H
#define VT_PRELOAD_WATCH_H

/*
 * Words of the program's memory, and what they said when they were looked at.  What was derived
 * from nothing but these words is still right while they still say so.
 *
 * They are read in order, and none after one that has changed: a word may lie behind a pointer
 * that an earlier one holds.
 */

#include <stdint.h>
#include <string.h>

struct vt_watch {
	const void *where;
	uint64_t what;
};

static inline uint64_t vt_watch_read(const void *where)
{
	uint64_t word;

	memcpy(&word, where, sizeof(word));
	return word;
}

static inline struct vt_watch vt_watch_of(const void *base, uint64_t at)
{
	const void *where = (const char *)base + at;

	return (struct vt_watch){ where, vt_watch_read(where) };
}

static inline int vt_watch_are_same(const struct vt_watch *watches, uint32_t nr)
{
	const struct vt_watch *end = watches + nr;

	for (; watches != end; watches++)
		if (vt_watch_read(watches->where) != watches->what)
			return 0;
	return 1;
}

#endif
