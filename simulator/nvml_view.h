/* SPDX-License-Identifier: MIT */
#ifndef VTS_NVML_VIEW_H
#define VTS_NVML_VIEW_H

/*
 * What the simulated driver tells the simulated NVML of the same process.  NVML sees physical
 * devices, with or without cuInit, whatever CUDA_VISIBLE_DEVICES says.
 */

struct vts_nvml_view {
	char name[96];
	int nr_devices;
	int driver_version; /* 13000 */
	int bus;
	unsigned long long total_bytes;
	unsigned long long used_bytes; /* by this process */
};

/* 0, or -1 without such a device.  Exported by the driver. */
typedef int (*vts_nvml_view_fn)(int physical, struct vts_nvml_view *view);
__attribute__((visibility("default"))) int vts_device_view(int physical,
							    struct vts_nvml_view *view);

#endif
