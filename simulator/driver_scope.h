/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_SCOPE_H
#define VTS_DRIVER_SCOPE_H

/* Live contexts and the calling thread's stack of current ones.  Needs the call mutex. */

#include "common/cuda_abi.h"

#define VTS_NR_LIMITS 10 /* known in CUDA 13.0 */

struct vts_context {
	CUcontext handle;
	unsigned int id; /* from 1, never reused: owner of allocations */
	CUdevice device;
	unsigned int flags;
	int is_primary;
	unsigned int nr_references; /* primary: retains; else attaches */
	size_t limits[VTS_NR_LIMITS];
};

/* CUDA_SUCCESS when the calling thread has a live current context. */
CUresult vts_scope_check(void);

/* The current one of the calling thread; only after vts_scope_check said CUDA_SUCCESS. */
struct vts_context *vts_scope_context(void);

/* What is on top of the stack, dead or alive; NULL when it is empty. */
CUcontext vts_scope_top(void);

/* NULL when HANDLE is no live context. */
struct vts_context *vts_scope_find(CUcontext handle);

/* By the id that allocations carry; NULL when it is gone. */
struct vts_context *vts_scope_find_id(unsigned int id);

CUresult vts_scope_push(CUcontext context);
CUresult vts_scope_pop(CUcontext *context); /* context may be NULL */

#endif
