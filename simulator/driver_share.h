/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_SHARE_H
#define VTS_DRIVER_SHARE_H

/*
 * What the processes of one simulation take of each device, so that they fill it together and NVML
 * sees them all: a table in the file VTRACE_SIM_SHARED, which whoever starts them has made.
 * Without it a process is alone.
 */

#include <stdint.h>

struct vts_share_use {
	uint32_t pid;
	uint64_t used_bytes;
};

/* Before the first vts_share_set of a process; a second call does nothing. */
void vts_share_open(void);
/* Of this process.  Physical numbers: what CUDA_VISIBLE_DEVICES hides has one too. */
void vts_share_set(int physical, uint64_t used_bytes);

/* Living processes that use the device, at most `room`; returns how many there are. */
unsigned int vts_share_list(int physical, struct vts_share_use *list, unsigned int room);
/* What the others among them use. */
uint64_t vts_share_others(int physical);

#endif
