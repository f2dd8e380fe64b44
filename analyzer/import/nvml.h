/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_NVML_H
#define VT_ANALYZER_NVML_H

/*
 * The only user of NVML (libnvidia-ml.so.1), loaded when it is there.  Never in the traced process:
 * only the collector asks, about another process.
 */

#include <stdint.h>

struct vt_nvml;
struct vt_nvml_device; /* NVML's own */

struct vt_nvml_use {
	uint64_t total_used_bytes;
	uint64_t process_used_bytes;
	int has_process; /* NVML knows the process, and what it uses */
};

/* NULL where there is no NVML, or no driver. */
struct vt_nvml *vt_nvml_open(void);
void vt_nvml_close(struct vt_nvml *nvml);

/* By "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" of a device or of a part of one; NULL: not known. */
struct vt_nvml_device *vt_nvml_find(struct vt_nvml *nvml, const char *uuid);

/* 0, or -1 where NVML does not answer or the use changed while it was asked. */
int vt_nvml_look(struct vt_nvml *nvml, struct vt_nvml_device *device, uint32_t pid,
		 struct vt_nvml_use *use);

#endif
