/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_SPACE_H
#define VTS_DRIVER_SPACE_H

/*
 * Address space: one fixed window per device and one for pinned host memory, handed out from the
 * lowest free address, so that the same calls give the same addresses in every run.
 *
 * Device memory is private anonymous memory without reservation: untouched pages cost nothing,
 * read as zeros, and can be read by the host at the very address.  With VTRACE_SIM_STRICT=1 the
 * address itself is inaccessible, as on a real card, and the bytes live at address +
 * VTS_SPACE_ALIAS.
 *
 * All functions need the call mutex.
 */

#include "common/cuda_abi.h"

#define VTS_SPACE_GRANULE (2ULL << 20) /* the driver's physical granularity */
#define VTS_SPACE_ALIAS   (1ULL << 45) /* 32 TiB */

/*
 * Takes address space of a device (or of pinned host memory with device -1): SIZE is rounded up to
 * the granule (4 KiB for the host).  With is_backed the memory is usable at once, else it is only
 * reserved. FIXED, if not 0, is the address wished for; another is given when it is taken.  0 when
 * nothing fits.
 */
CUdeviceptr vts_space_take(int device, uint64_t size_bytes, uint64_t alignment, CUdeviceptr fixed,
			   int is_backed);
void vts_space_give_back(int device, CUdeviceptr start);

/* Makes a part of a reservation usable or not; unbacking drops its contents.  0 or -1. */
int vts_space_back(CUdeviceptr start, uint64_t size_bytes);
int vts_space_unback(CUdeviceptr start, uint64_t size_bytes);

/* Makes usable device memory zero; whole pages go back to the host's kernel. */
void vts_space_clear(CUdeviceptr start, uint64_t size_bytes);

/* Where the host can reach the byte behind a device or host address.  Needs no mutex. */
void *vts_space_host_view(CUdeviceptr address);

/* Whether an address lies in a window of the simulator at all.  Needs no mutex. */
int vts_space_is_device(CUdeviceptr address);

#endif
