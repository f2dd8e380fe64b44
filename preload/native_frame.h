/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_NATIVE_FRAME_H
#define VT_PRELOAD_NATIVE_FRAME_H

/*
 * How a function is left at one of its addresses (struct vt_unwind_frame), in one word, and a
 * memory of those that were met lately.  Only plain frames, of the usual sizes; 0 is none.
 *
 * Context: hook; the memory is for one thread at a time and good until vt_unwind_flush.
 */

#include <stdint.h>

#include "preload/unwind.h"

#define VT_NATIVE_FRAME_IS_KNOWN	   1u
#define VT_NATIVE_FRAME_FROM_FRAME_POINTER 2u

/* In words of eight bytes: a new slot lies below the new top, which lies above the old one. */
#define VT_NATIVE_FRAME_SLOT_SHIFT 4
#define VT_NATIVE_FRAME_MOST_SLOT  0xfffu
#define VT_NATIVE_FRAME_MOVES_SLOT (VT_NATIVE_FRAME_MOST_SLOT << VT_NATIVE_FRAME_SLOT_SHIFT)
#define VT_NATIVE_FRAME_TOP_SHIFT  16
#define VT_NATIVE_FRAME_MOST_TOP   0xffffu

static inline uint32_t vt_native_frame_pack(const struct vt_unwind_frame *frame)
{
	uint32_t top = (uint32_t)frame->top_offset / 8, slot = (uint32_t)-frame->slot_offset / 8;
	uint32_t word = VT_NATIVE_FRAME_IS_KNOWN;

	if (!frame->is_plain || frame->top_offset < 0 || frame->slot_offset > 0 ||
	    frame->top_offset % 8 || frame->slot_offset % 8 || top > VT_NATIVE_FRAME_MOST_TOP ||
	    slot > VT_NATIVE_FRAME_MOST_SLOT)
		return 0;
	if (frame->is_from_frame_pointer)
		word |= VT_NATIVE_FRAME_FROM_FRAME_POINTER;
	return word | slot << VT_NATIVE_FRAME_SLOT_SHIFT | top << VT_NATIVE_FRAME_TOP_SHIFT;
}

/* The stack pointer after the return, from the one or the frame pointer before. */
static inline uint64_t vt_native_frame_top(uint32_t frame, uint64_t base)
{
	return base + 8 * (uint64_t)(frame >> VT_NATIVE_FRAME_TOP_SHIFT);
}

/* Where the frame pointer after the return is stored; the top itself: where it was before. */
static inline uint64_t vt_native_frame_slot(uint32_t frame, uint64_t top)
{
	uint32_t words = (frame & VT_NATIVE_FRAME_MOVES_SLOT) >> VT_NATIVE_FRAME_SLOT_SHIFT;

	return top - 8 * (uint64_t)words;
}

/* A training run has some thousand return addresses on its way to where memory is taken. */
#define VT_NATIVE_FRAME_BITS 12

struct vt_native_frames {
	struct {
		uint64_t address;
		uint32_t frame;
	} known[1u << VT_NATIVE_FRAME_BITS];
};

static inline uint32_t vt_native_frame_place(uint64_t address)
{
	/* 2^64 divided by the golden ratio: upper bits of the product depend on all of it. */
	return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> (64 - VT_NATIVE_FRAME_BITS));
}

static inline uint32_t vt_native_frame_find(const struct vt_native_frames *frames, uint64_t address)
{
	uint32_t place = vt_native_frame_place(address);

	return frames->known[place].address == address ? frames->known[place].frame : 0;
}

static inline void vt_native_frame_store(struct vt_native_frames *frames, uint64_t address,
					 uint32_t frame)
{
	uint32_t place = vt_native_frame_place(address);

	frames->known[place].address = address;
	frames->known[place].frame = frame;
}

#endif
