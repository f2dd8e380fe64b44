/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_INTERNED_H
#define VT_ANALYZER_INTERNED_H

/*
 * Equal values, each kept once at an address that stays: what millions of rows share.
 * Zero-initialised memory has none.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_interned {
	struct vt_interned_chunk *chunks; /* the one that is filled first */
	void **table;                     /* by hash; a power of two, or 0 */
	size_t capacity;
	size_t nr; /* in the table */
};

/*
 * The value whose first `compared` bytes, a multiple of 4, are those of `value`; else a copy of
 * all `size` bytes.  Both sizes are the same in all calls, and padding is compared.  `is_new`
 * says which it is.  Valid until the release.
 */
void *vt_interned_add(struct vt_interned *interned, const void *value, size_t size, size_t compared,
		      int *is_new);
/* All values of `from` live as long as those of `interned`, and are not found by it. */
void vt_interned_adopt(struct vt_interned *interned, struct vt_interned *from);
/* Tells each value, adopted ones too, in no order; `size` as when they were added. */
void vt_interned_each(const struct vt_interned *interned, size_t size,
		      void (*tell)(void *context, const void *value), void *context);
void vt_interned_release(struct vt_interned *interned);

#endif
