/* SPDX-License-Identifier: MIT */
#include "simulator/driver_scope.h"

#include "simulator/driver_handles.h"

#define MAX_DEPTH 32

static __thread struct {
	CUcontext stack[MAX_DEPTH];
	int depth;
} current;

CUcontext vts_scope_top(void)
{
	return current.depth ? current.stack[current.depth - 1] : NULL;
}

struct vts_context *vts_scope_find(CUcontext handle)
{
	return vts_handles_find(VTS_HANDLE_CONTEXT, (uintptr_t)handle);
}

struct vts_context *vts_scope_find_id(unsigned int id)
{
	uintptr_t handle = 0;

	while ((handle = vts_handles_next(VTS_HANDLE_CONTEXT, handle))) {
		struct vts_context *context = vts_handles_find(VTS_HANDLE_CONTEXT, handle);

		if (context->id == id)
			return context;
	}
	return NULL;
}

CUresult vts_scope_check(void)
{
	if (!vts_scope_top())
		return CUDA_ERROR_INVALID_CONTEXT;
	return vts_scope_find(vts_scope_top()) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

struct vts_context *vts_scope_context(void)
{
	return vts_scope_find(vts_scope_top());
}

CUresult vts_scope_push(CUcontext context)
{
	if (current.depth == MAX_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	current.stack[current.depth++] = context;
	return CUDA_SUCCESS;
}

CUresult vts_scope_pop(CUcontext *context)
{
	if (!current.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context)
		*context = vts_scope_top();
	current.depth--;
	return CUDA_SUCCESS;
}
