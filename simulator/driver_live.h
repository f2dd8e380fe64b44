/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_LIVE_H
#define VTS_DRIVER_LIVE_H

/*
 * The live allocations of all kinds by address: what a free, a copy and cuPointerGetAttribute ask.
 * Adding and dropping writes the ledger.  Needs the call mutex.
 */

#include "simulator/driver_ranges.h"

/*
 * Takes memory of KIND (device, managed, host) and enters it.  The caller fills kind,
 * device (-1: host), size_bytes, flags and context of *range; start and the rest are filled here.
 */
CUresult vts_live_alloc(struct vts_range *range);

/*
 * Enters memory that came from elsewhere (a pool, a registration, a mapping).  handle is for the
 * ledger.
 */
CUresult vts_live_add(struct vts_range *range, uint64_t handle);

/* Drops one entry and gives its memory back; OP is the ledger's word ("free"). */
void vts_live_drop(struct vts_range *range, const char *op, uint64_t handle);

struct vts_range *vts_live_find(CUdeviceptr address);
struct vts_range *vts_live_find_start(CUdeviceptr start);

/* Drops what a context owned, with op "freed-by-destroy". */
void vts_live_drop_context(unsigned int context);

#endif
