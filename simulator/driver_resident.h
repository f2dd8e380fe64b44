/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_RESIDENT_H
#define VTS_DRIVER_RESIDENT_H

/*
 * What a context takes on its device besides itself and besides allocations: the code of modules,
 * executable graphs.  It goes with the last context of the device at the latest.
 *
 * Needs the call mutex.
 */

#include "common/cuda_abi.h"

struct vts_resident {
	const char *kind;    /* of the ledger: "module", "exec" */
	uint64_t size_bytes; /* 0: nothing was charged */
	CUdevice device;
};

/* Of the current context's device; without a context, or for 0 bytes, nothing happens. */
CUresult vts_resident_load(struct vts_resident *resident, const char *kind, uint64_t size_bytes);
void vts_resident_unload(const struct vts_resident *resident);

#endif
