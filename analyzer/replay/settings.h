/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SETTINGS_H
#define VT_ANALYZER_SETTINGS_H

/*
 * What PYTORCH_CUDA_ALLOC_CONF says, and the sizes that follow from it: how a request is rounded,
 * which pool serves it, how large a new segment is.
 *
 * Read from c10/cuda/CUDACachingAllocator.cpp, CUDAAllocatorConfig.cpp and (since 2.9)
 * c10/core/AllocatorConfig.cpp.  What differs between the releases that were read:
 *   2.6    large segments are always 20 MiB; garbage collection works only where the program has
 *          set a memory fraction by a call; ">:N" of a list of divisions begins at the interval
 *          named last (from AllocatorConfig.cpp on: behind it)
 *   2.11   large_segment_size_mb and per_process_memory_fraction; garbage collection leaves
 *          expandable segments alone
 *   2.15   expandable_segments_reserve (address space only), throw_on_cudamalloc_oom (refuses
 *          before asking the driver what would fail there anyway)
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

/*
 * Sizes that no setting changes (c10/core/AllocatorConfig.h, and CUDACachingAllocator.cpp before
 * it existed): kMinBlockSize, to which blocks are rounded up; kSmallSize, the largest small block,
 * and the most that is left uncut in a large one; kRoundLarge, to which segments of one request are
 * rounded up.
 */
#define VT_SETTINGS_BLOCK_ROUNDING   512ull
#define VT_SETTINGS_SMALL_MAX        VT_MIB
#define VT_SETTINGS_SEGMENT_ROUNDING (2 * VT_MIB)

#define VT_SETTINGS_UNLIMITED UINT64_MAX

/* Powers of two from 1 MiB to 64 GiB, each with a number of divisions of its own. */
#define VT_SETTINGS_INTERVALS 16

struct vt_settings {
	uint64_t max_split_bytes;     /* blocks from here on are never split */
	uint64_t max_rounding_bytes;  /* how much larger one of those may be than the request */
	uint64_t large_segment_bytes; /* for requests between 1 and 10 MiB */
	double gc_threshold;          /* part of the allowed memory; 0: no garbage collection */
	double memory_fraction;       /* 1: everything is allowed */
	uint32_t divisions[VT_SETTINGS_INTERVALS]; /* 0, 1: round to 512 bytes */
	uint8_t is_expandable;
	uint8_t has_open_list; /* ">:N" begins at the last interval named, not behind it */
	uint8_t is_native;     /* not backend:cudaMallocAsync, which does not cut segments itself */
};

/* The defaults of a PyTorch ("2.11.0+cu130"; NULL: the newest that was read). */
void vt_settings_init(struct vt_settings *settings, const char *version);

/*
 * Changes what `text` ("expandable_segments:True,max_split_size_mb:128") names.  Options that do
 * not change where blocks lie are passed over.  Returns 0, or -1 with `diag` filled.
 */
int vt_settings_parse(struct vt_settings *settings, const char *text, struct vt_diag *diag);
/* The same for what a user asks for: options that no release has are refused. */
int vt_settings_parse_known(struct vt_settings *settings, const char *text, struct vt_diag *diag);

/* Appends what differs from the defaults in the same language; nothing where nothing differs. */
void vt_settings_print(const struct vt_settings *settings, struct vt_buffer *out);

/* The size of block that a request becomes. */
uint64_t vt_settings_round(const struct vt_settings *settings, uint64_t request_bytes);
/* The largest size up to `bytes` that is not rounded any further. */
uint64_t vt_settings_round_down(const struct vt_settings *settings, uint64_t bytes);
int vt_settings_is_small(uint64_t rounded_bytes);
/* The size of a new segment for it, without expandable segments. */
uint64_t vt_settings_segment(const struct vt_settings *settings, uint64_t rounded_bytes);
/* What a new segment for a request has beside it that is too small to be cut off: 0 to 1 MiB. */
uint64_t vt_settings_tail(const struct vt_settings *settings, uint64_t request_bytes);
/* Bytes that an expandable segment grows by. */
uint64_t vt_settings_granule(const struct vt_settings *settings, int is_small);
/* Whether `remainder_bytes` of a block are cut off when `rounded_bytes` are taken from it. */
int vt_settings_is_split(const struct vt_settings *settings, uint64_t rounded_bytes,
			 uint64_t remainder_bytes);

/*
 * Whether ages of free memory are counted and old segments given back: without a limit below the
 * whole device the allocator does neither.
 */
static inline int vt_settings_is_collecting(const struct vt_settings *settings)
{
	return settings->gc_threshold > 0 && settings->memory_fraction < 1;
}

#endif
