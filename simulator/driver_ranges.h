/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_RANGES_H
#define VTS_DRIVER_RANGES_H

/*
 * A table of address ranges that do not overlap, sorted by start.  One element type for everything
 * that has an address: occupied address space, live allocations, reservations, blocks of an arena.
 */

#include "common/cuda_abi.h"

enum vts_kind {
	VTS_KIND_DEVICE,
	VTS_KIND_MANAGED,
	VTS_KIND_HOST,
	VTS_KIND_REGISTERED,
	VTS_KIND_POOL,
	VTS_KIND_GRAPH,
	VTS_KIND_RESERVED, /* cuMemAddressReserve */
	VTS_KIND_MAPPING,  /* cuMemMap */
	VTS_KIND_IPC,	   /* of another process */
	VTS_KIND_EXTERNAL, /* of another interface */
};

struct vts_arena;

struct vts_range {
	CUdeviceptr start;
	uint64_t size_bytes;  /* as asked for */
	uint64_t span_bytes;  /* address space taken, a multiple of the granularity */
	enum vts_kind kind;
	int device;
	unsigned int flags;	 /* host flags, mapping access */
	unsigned int context;	 /* id of the owning context, 0: none */
	uint64_t serial;	 /* cuPointerGetAttribute(BUFFER_ID): never reused */
	uint64_t handle;	 /* mapping: the physical handle; pool: the pool */
	uint64_t offset;	 /* mapping: where in the handle */
	struct vts_arena *arena; /* sub-allocated: from which; NULL: own address space */
};

struct vts_ranges {
	struct vts_range *items;
	size_t nr_items;
	size_t capacity;
};

/* 0, or -1 without memory or when it would overlap one that is there. */
int vts_ranges_insert(struct vts_ranges *ranges, const struct vts_range *range);

/*
 * The one that contains ADDRESS, that starts there, or NULL.  Borrowed until the next insert or
 * remove.
 */
struct vts_range *vts_ranges_find(const struct vts_ranges *ranges, CUdeviceptr address);
struct vts_range *vts_ranges_find_start(const struct vts_ranges *ranges, CUdeviceptr start);

void vts_ranges_remove(struct vts_ranges *ranges, struct vts_range *range);

/*
 * The lowest free place of SIZE bytes in [low, high), a multiple of ALIGNMENT, or 0 if there is
 * none. "Free" goes by span_bytes.
 */
CUdeviceptr vts_ranges_first_fit(const struct vts_ranges *ranges, CUdeviceptr low,
				 CUdeviceptr high, uint64_t size_bytes, uint64_t alignment);

#endif
