/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_FRAME_CACHE_H
#define VT_PRELOAD_FRAME_CACHE_H

/*
 * One frame of a remembered Python stack: what a walk in full found in it, and the words that this
 * came from.  As long as they read the same, and the code and the type are what they were
 * (code_cache.h), the frame and the way to the next one outwards are the same.
 *
 * Context: hook; the frame is on the calling thread's stack.
 */

#include <stdint.h>

#include "common/journal_format.h"
#include "preload/python_abi.h"
#include "preload/code_cache.h"

/* A cell (2), and an entry frame of the interpreter's C loop (2). */
#define VT_FRAME_CACHE_EXTRAS 4

struct vt_frame_cache_entry {
	/* What every event compares, one cache line. */
	const void *frame;
	uint64_t code;		/* as they are in the frame; 0: never the same */
	uint64_t instruction;
	uint64_t previous;
	uint64_t local;		/* what is at local_at */
	const void *object;	/* the first argument, or something that never changes */
	uint64_t type;
	uint32_t local_at;	/* of the first argument, of the code where there is none */
	uint32_t nr_extras;
	struct vt_watch extras[VT_FRAME_CACHE_EXTRAS];

	const void *outer;	/* the next frame with code outwards, or NULL */
	struct vt_cached_code *what;
	struct vt_cached_type *kind;	/* of the first argument, or NULL */
	uint32_t what_version;	/* of what is known of both, when this was found */
	uint32_t kind_version;
	struct vt_python_frame found;
	uint64_t own_call;	/* the module whose call this is, 0: none */
} __attribute__((aligned(64)));

/* It has to be looked at each time. */
static inline void vt_frame_cache_spoil(struct vt_frame_cache_entry *level)
{
	level->code = 0;
}

/*
 * Looks at a frame in full.  Returns 0 for one without code, of which only `outer` is set, and
 * which is never the same.
 */
int vt_frame_cache_look(const struct vt_python *python, struct vt_code_cache *known,
			 const void *frame, struct vt_frame_cache_entry *level);

/*
 * Makes a level that was found once, whose frame is on the stack, what looking at it in full would
 * find, if nothing but a first argument that no stack names has changed.  Returns 0 otherwise.
 */
int vt_frame_cache_renew(const struct vt_python_abi *abi, const struct vt_code_cache *known,
			  struct vt_frame_cache_entry *level);

/* How many of the levels up to level[0], which goes outwards to level[-nr + 1], are the same. */
uint32_t vt_frame_cache_compare(const struct vt_python_abi *abi,
				 const struct vt_frame_cache_entry *level, uint32_t nr);

#endif
