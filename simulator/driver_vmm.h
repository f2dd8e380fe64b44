/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_VMM_H
#define VTS_DRIVER_VMM_H

/*
 * Physical memory behind a handle, counted by references and mappings; also what only looks like
 * it: memory that another process exported, objects over the memory of several devices.
 *
 * Needs the call mutex.
 */

#include "common/cuda_abi.h"

struct vts_physical {
	uintptr_t handle;
	uint64_t size_bytes;
	CUmemAllocationProp properties;
	CUdevice device; /* -1: host memory */
	unsigned int nr_references;
	unsigned int nr_mappings;
	int is_foreign;	  /* charged to somebody else, or to nobody */
	int is_multicast;
};

/*
 * Takes the memory and enters a copy of *physical with one reference; its handle is filled in.
 * `kind` is the ledger's word.
 */
CUresult vts_vmm_new(struct vts_physical *physical, const char *kind);

/* NULL when there is no such handle, or none with a reference left. */
struct vts_physical *vts_vmm_find(CUmemGenericAllocationHandle handle);

#endif
