/* SPDX-License-Identifier: MIT */
/*
 * What the calling thread's current context is, and the functions that ask or set something of it.
 */

#include "simulator/driver_call.h"
#include "simulator/driver_local.h"
#include "simulator/driver_pool.h"
#include "simulator/driver_scope.h"
#include "simulator/driver_stream.h"

static CUresult push(CUcontext context)
{
	return vts_scope_find(context) ? vts_scope_push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent(CUcontext context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(push(context));
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(push(context));
}

CUresult cuCtxPopCurrent(CUcontext *context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(vts_scope_pop(context));
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(vts_scope_pop(context));
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (context && !vts_scope_find(context))
		return vts_call_leave(CUDA_ERROR_INVALID_CONTEXT);
	vts_scope_pop(NULL); /* an empty stack stays empty */
	return vts_call_leave(context ? vts_scope_push(context) : CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!context)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*context = vts_scope_top();
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!device)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*device = vts_scope_context()->device;
	return vts_call_leave(CUDA_SUCCESS);
}

/* HANDLE NULL means the current context. */
static struct vts_context *named_or_current(CUcontext handle)
{
	return vts_scope_find(handle ? handle : vts_scope_top());
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
	struct vts_context *context;

	VTS_ENTER(VTS_NEEDS_INIT);
	context = named_or_current(handle);
	if (!context || !device)
		return vts_call_leave(context ? CUDA_ERROR_INVALID_VALUE :
						CUDA_ERROR_INVALID_CONTEXT);
	*device = context->device;
	return vts_call_leave(CUDA_SUCCESS);
}

/* Everything is complete at once; what a synchronisation still does is to let the pools shrink. */
CUresult cuCtxSynchronize(void)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE);
	vts_pool_synchronised(vts_scope_context()->device);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
	struct vts_context *context;

	VTS_ENTER(VTS_NEEDS_INIT);
	context = named_or_current(handle);
	if (!context)
		return vts_call_leave(CUDA_ERROR_INVALID_CONTEXT);
	vts_pool_synchronised(context->device);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!flags)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = vts_scope_context()->flags;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetFlags(unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	vts_scope_context()->flags = flags;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct vts_context *context;

	VTS_ENTER(VTS_NEEDS_INIT);
	context = named_or_current(handle);
	if (!context || !id)
		return vts_call_leave(context ? CUDA_ERROR_INVALID_VALUE :
						CUDA_ERROR_CONTEXT_IS_DESTROYED);
	*id = context->id;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!named_or_current(handle) || !version)
		return vts_call_leave(version ? CUDA_ERROR_INVALID_CONTEXT :
						CUDA_ERROR_INVALID_VALUE);
	*version = 3020; /* the interface of cuCtxCreate_v2, as real drivers say */
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!value)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	if ((unsigned int)limit >= VTS_NR_LIMITS)
		return vts_call_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
	*value = vts_scope_context()->limits[limit];
	return vts_call_leave(CUDA_SUCCESS);
}

/* What a real card takes for larger heaps is not known here: nothing is charged. */
CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUresult result = CUDA_SUCCESS;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if ((unsigned int)limit >= VTS_NR_LIMITS)
		return vts_call_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
	if (limit == CU_LIMIT_STACK_SIZE)
		result = vts_local_resize(value);
	if (!result)
		vts_scope_context()->limits[limit] = value;
	return vts_call_leave(result);
}

static CUresult answer_zero(int *value)
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*value = 0;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(int *config)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(answer_zero(config));
}

CUresult cuCtxSetCacheConfig(int config)
{
	(void)config;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetSharedMemConfig(int *config)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(answer_zero(config));
}

CUresult cuCtxSetSharedMemConfig(int config)
{
	(void)config;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (least)
		*least = VTS_STREAM_LEAST_PRIORITY;
	if (greatest)
		*greatest = VTS_STREAM_GREATEST_PRIORITY;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxResetPersistingL2Cache(void)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (flags)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(vts_scope_find(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(vts_scope_find(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}
