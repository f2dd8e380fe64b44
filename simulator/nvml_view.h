/* SPDX-License-Identifier: MIT */
#ifndef VTS_NVML_VIEW_H
#define VTS_NVML_VIEW_H

#include "simulator/driver_share.h"

#define VTS_NVML_PROCESSES 64

/*
 * What the simulated driver tells the simulated NVML of the same process.  NVML sees physical
 * devices, with or without cuInit, whatever CUDA_VISIBLE_DEVICES says.
 */

struct vts_nvml_view {
	char name[96];
	char uuid[16];
	int nr_devices;
	int driver_version; /* 13000 */
	int capability;     /* 90: 9.0 */
	int bus;
	unsigned long long total_bytes;
	unsigned long long used_bytes; /* by all processes */
	unsigned int nr_processes;     /* known ones */
	struct vts_share_use processes[VTS_NVML_PROCESSES];
};

/* 0, or -1 without such a device.  Exported by the driver. */
typedef int (*vts_nvml_view_fn)(int physical, struct vts_nvml_view *view);
__attribute__((visibility("default"))) int vts_device_view(int physical,
							    struct vts_nvml_view *view);

#endif
