/* SPDX-License-Identifier: MIT */
/* Creation, destruction and the primary contexts; the thread's stack is driver_current.c. */
#include "simulator/driver_array.h"
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_device.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_live.h"
#include "simulator/driver_local.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_scope.h"

#include <stdlib.h>

#define MAX_FLAGS 0x3ff

static struct {
	struct vts_context *primaries[VT_CARD_MAX_DEVICES];
	unsigned int primary_flags[VT_CARD_MAX_DEVICES];
	unsigned int nr_created;
} g;

static void write_ledger(const struct vts_context *context, const char *op)
{
	struct vts_ledger_entry entry = {
		.op = op,
		.kind = "context",
		.pointer = (uintptr_t)context->handle,
		.size_bytes = vts_profile_get()->context_bytes,
		.device = context->device,
	};

	vts_ledger_write(&entry);
}

/*
 * The profile's context bytes are those of a process: the first context pays, the last one gives
 * back.
 */
static CUresult charge(CUdevice device)
{
	struct vts_device *owner = vts_device_at(device);
	CUresult result = CUDA_SUCCESS;

	if (!owner->nr_contexts)
		result = vts_device_charge(device, vts_profile_get()->context_bytes);
	if (!result)
		owner->nr_contexts++;
	return result;
}

static void discharge(CUdevice device)
{
	struct vts_device *owner = vts_device_at(device);

	if (--owner->nr_contexts)
		return;
	vts_device_discharge(device, vts_profile_get()->context_bytes + owner->resident_bytes);
	owner->resident_bytes = 0;
	owner->local_bytes = 0;
}

static CUresult make(CUdevice device, unsigned int flags, struct vts_context **out)
{
	struct vts_context *context;
	CUresult result = charge(device);

	if (result)
		return result;
	context = calloc(1, sizeof(*context));
	if (context)
		context->handle = (CUcontext)vts_handles_new(VTS_HANDLE_CONTEXT, context);
	if (!context || !context->handle) {
		free(context);
		discharge(device);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	context->id = ++g.nr_created;
	context->device = device;
	context->flags = flags;
	context->nr_references = 1;
	context->limits[CU_LIMIT_STACK_SIZE] = VTS_LOCAL_FIRST_LIMIT;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	write_ledger(context, "create");
	*out = context;
	return CUDA_SUCCESS;
}

/*
 * Everything that the context owned goes, except pools and cuMemCreate memory, which have no
 * context.
 */
static void destroy(struct vts_context *context)
{
	vts_live_drop_context(context->id);
	vts_array_drop_context(context->id);
	vts_capture_drop_streams(context->id);
	discharge(context->device);
	write_ledger(context, "destroy");
	vts_handles_drop(VTS_HANDLE_CONTEXT, (uintptr_t)context->handle);
	free(context);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult result = CUDA_SUCCESS;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!context || !vts_device_at(device))
		return vts_call_leave(context ? CUDA_ERROR_INVALID_DEVICE :
						CUDA_ERROR_INVALID_VALUE);
	if (g.primaries[device])
		g.primaries[device]->nr_references++;
	else
		result = make(device, g.primary_flags[device], &g.primaries[device]);
	if (!result) {
		g.primaries[device]->is_primary = 1;
		*context = g.primaries[device]->handle;
	}
	return vts_call_leave(result);
}

static CUresult reset_primary(CUdevice device)
{
	if (!vts_device_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (g.primaries[device])
		destroy(g.primaries[device]);
	g.primaries[device] = NULL;
	return CUDA_SUCCESS;
}

static CUresult release_primary(CUdevice device)
{
	if (!vts_device_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!g.primaries[device])
		return CUDA_ERROR_INVALID_CONTEXT;
	return --g.primaries[device]->nr_references ? CUDA_SUCCESS : reset_primary(device);
}

static CUresult set_primary_flags(CUdevice device, unsigned int flags)
{
	if (!vts_device_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags > MAX_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	g.primary_flags[device] = flags;
	if (g.primaries[device])
		g.primaries[device]->flags = flags;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(release_primary(device));
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(release_primary(device));
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(reset_primary(device));
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(reset_primary(device));
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(set_primary_flags(device, flags));
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(set_primary_flags(device, flags));
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *is_active)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!vts_device_at(device))
		return vts_call_leave(CUDA_ERROR_INVALID_DEVICE);
	if (flags)
		*flags = g.primary_flags[device];
	if (is_active)
		*is_active = !!g.primaries[device];
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult create(CUcontext *context, unsigned int flags, CUdevice device)
{
	struct vts_context *made;
	CUresult result;

	if (!context || flags > MAX_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vts_device_at(device))
		return CUDA_ERROR_INVALID_DEVICE;
	result = make(device, flags, &made);
	if (result)
		return result;
	*context = made->handle;
	return vts_scope_push(made->handle);
}

CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(create(context, flags, device));
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(create(context, flags, device));
}

CUresult cuCtxCreate_v3(CUcontext *context, void *affinity, int nr_affinity, unsigned int flags,
			CUdevice device)
{
	(void)affinity;
	VTS_ENTER(VTS_NEEDS_INIT);
	if (nr_affinity)
		return vts_call_leave(CUDA_ERROR_NOT_SUPPORTED);
	return vts_call_leave(create(context, flags, device));
}

CUresult cuCtxCreate_v4(CUcontext *context, void *parameters, unsigned int flags, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (parameters)
		return vts_call_leave(CUDA_ERROR_NOT_SUPPORTED);
	return vts_call_leave(create(context, flags, device));
}

static CUresult destroy_handle(CUcontext handle)
{
	struct vts_context *context = vts_scope_find(handle);

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	/* A primary context is released or reset, never destroyed. */
	if (context->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (vts_scope_top() == handle)
		vts_scope_pop(NULL);
	destroy(context);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(destroy_handle(context));
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(destroy_handle(context));
}

CUresult cuCtxAttach(CUcontext *context, unsigned int flags)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!context || flags)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	vts_scope_context()->nr_references++;
	*context = vts_scope_context()->handle;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuCtxDetach(CUcontext handle)
{
	struct vts_context *context;

	VTS_ENTER(VTS_NEEDS_INIT);
	context = vts_scope_find(handle);
	if (!context)
		return vts_call_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (--context->nr_references)
		return vts_call_leave(CUDA_SUCCESS);
	return vts_call_leave(destroy_handle(handle));
}
