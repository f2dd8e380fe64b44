/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_LOCAL_H
#define VTS_DRIVER_LOCAL_H

/*
 * Local memory of threads: stacks and spilled registers.  A context has as much as the kernel that
 * needs most takes for each thread that the card can hold at a time, SMs x threads of an SM; a
 * launch that needs more makes it larger, and it stays so (NVIDIA's forum, topic 289339).  What the
 * first limit of stacks takes, 1 KiB for each thread, is part of the context's own bytes (216 MiB
 * of an A100's with 108 SMs: arcs-skku/EMDC_llvm #13).
 *
 * Needs the call mutex.
 */

#include "common/cuda_abi.h"

#define VTS_LOCAL_FIRST_LIMIT 1024

/* Of the current context's device: at least so much for each thread. */
CUresult vts_local_reserve(uint64_t bytes_per_thread);
/* The limit of stacks was set: so much, and no more, until a kernel needs it again. */
CUresult vts_local_resize(uint64_t bytes_per_thread);

#endif
