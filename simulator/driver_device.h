/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_DEVICE_H
#define VTS_DRIVER_DEVICE_H

/*
 * Devices as programs see them (after CUDA_VISIBLE_DEVICES) and the account of their physical
 * memory: used = context bytes (while any context of this process lives) + allocations, in driver
 * granules.
 */

#include "common/cuda_abi.h"

struct vts_device {
	int physical; /* index before CUDA_VISIBLE_DEVICES */
	uint64_t used_bytes;
	uint64_t peak_bytes;
	uint64_t resident_bytes; /* driver_resident.h; they go with the last context */
	uint64_t local_bytes;	 /* of these, driver_local.h */
	unsigned int nr_contexts;
};

/* Reads CUDA_VISIBLE_DEVICES; returns how many devices there are.  For cuInit. */
int vts_device_open_all(void);

/* NULL when there is none of that number.  Needs the call mutex or an initialised driver. */
struct vts_device *vts_device_at(CUdevice number);
int vts_device_count(void);

/* What is left for this process: without its own, other processes' and the profile's other=. */
uint64_t vts_device_free_bytes(CUdevice number);

/* CUDA_ERROR_OUT_OF_MEMORY when the profile's usable size would be exceeded. */
CUresult vts_device_charge(CUdevice number, uint64_t size_bytes);
void vts_device_discharge(CUdevice number, uint64_t size_bytes);

#define VTS_UUID_BYTES 16
void vts_device_uuid(int physical, char *bytes);

#endif
