/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_TRANSFER_H
#define VTS_DRIVER_TRANSFER_H

/*
 * Moving and setting bytes.  Copies are real up to VTRACE_SIM_COPY_LIMIT (16 MiB unless set) and
 * dropped above, because a program with 80 GiB on its "device" must not need them on the host: the
 * destination then keeps what it had.  Setting to zero gives the pages back instead of touching
 * them.
 */

#include "common/cuda_abi.h"

/*
 * Checks that both sides are usable (live device memory, or not in a device window at all), then
 * copies. CUDA_ERROR_INVALID_VALUE otherwise.  Needs the call mutex.
 */
CUresult vts_transfer_copy(CUdeviceptr to, CUdeviceptr from, uint64_t size_bytes);

/*
 * After a copy, without the call mutex: where a few values came to the host and all are zeros, says
 * so to the recorder, if there is one.  A program that fails may have decided by them.
 */
void vts_transfer_note_read(CUdeviceptr to, CUdeviceptr from, uint64_t size_bytes);

/* Element size 1, 2 or 4.  Needs the call mutex. */
CUresult vts_transfer_set(CUdeviceptr to, uint32_t value, unsigned int element_bytes,
			  uint64_t nr_elements);

/*
 * A client's own allocator hands out a block of device memory, which may hold what an earlier block
 * left there: it is made zero.  What is no usable device memory is left alone.  Returns 0.
 * Exported: called by libvtrace-simulator.so, without the call mutex.
 */
__attribute__((visibility("default"))) int vts_block_handed_out(void *block, uint64_t size_bytes);

#endif
