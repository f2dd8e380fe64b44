/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_NEAREST_H
#define VT_COMMON_NEAREST_H

/*
 * The names that are nearest to one that is not known, for a message.  Each known name is offered
 * once; the nearest three are kept.  Names longer than VT_NEAREST_LENGTH count by their beginning.
 */

#include <stddef.h>

#define VT_NEAREST_LENGTH 63
#define VT_NEAREST_NAMES  3

struct vt_nearest {
	char wanted[VT_NEAREST_LENGTH + 1];
	unsigned nr;
	struct vt_nearest_name {
		unsigned distance;
		char text[VT_NEAREST_LENGTH + 1];
	} names[VT_NEAREST_NAMES]; /* the nearest first */
};

void vt_nearest_init(struct vt_nearest *nearest, const char *wanted);
void vt_nearest_offer(struct vt_nearest *nearest, const char *name, size_t len);

/* The one that was meant if it was mistyped: less than half of it is other; NULL: none. */
const char *vt_nearest_meant(const struct vt_nearest *nearest);

/* "h100-80g, a100-80g, v100-32g" in `buf`, which is returned. */
const char *vt_nearest_text(const struct vt_nearest *nearest, char *buf, size_t size);

#endif
