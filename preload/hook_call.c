/* SPDX-License-Identifier: MIT */
#include "preload/hook_call.h"

#include "preload/devices.h"
#include "preload/pools.h"
#include "preload/tracker.h"

struct vt_event_record vt_hook_call_event(enum vt_real_function function, uint64_t address,
	uint64_t size_bytes)
{
	const struct vt_real_api *api = vt_real_api(function);

	return (struct vt_event_record){
		.op = api->op,
		.kind = api->kind,
		.function = api->id,
		.device = VT_HOOK_NO_DEVICE,
		.address = address,
		.size_bytes = size_bytes,
	};
}

void vt_hook_call_in_context(enum vt_real_function function, uint64_t address,
	uint64_t size_bytes)
{
	struct vt_event_record event = vt_hook_call_event(function, address, size_bytes);

	vt_pools_look();
	event.device = vt_devices_current();
	event.extra = vt_devices_context();
	vt_tracker_event(&event);
	vt_devices_note(event.device, NULL, size_bytes);
}

void vt_hook_call_host_in_context(enum vt_real_function function, const void *address,
	uint64_t size_bytes)
{
	vt_hook_call_note(function, (uintptr_t)address, size_bytes, vt_devices_context());
}

void vt_hook_call_from_pool(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	CUmemoryPool pool, CUstream stream)
{
	struct vt_event_record event = vt_hook_call_event(function, address, size_bytes);

	vt_tracker_open();
	event.device = vt_devices_current();
	event.stream = (uintptr_t)stream;
	event.extra = vt_devices_captured_graph(stream);
	if (event.extra)
		event.kind = VT_KIND_GRAPH;
	else
		event.extra = vt_pools_follow((uintptr_t)pool, event.device);
	if (event.kind == VT_KIND_GRAPH)
		vt_pools_follow_graphs(event.device);
	vt_tracker_event(&event);
	vt_devices_note(event.device, stream, size_bytes);
}

void vt_hook_call_on_device(enum vt_real_function function, uint64_t handle, CUdevice device,
	uint64_t extra)
{
	struct vt_event_record event = vt_hook_call_event(function, handle, 0);

	event.device = device;
	event.extra = extra;
	vt_tracker_event(&event);
}

void vt_hook_call_note(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	uint64_t extra)
{
	struct vt_event_record event = vt_hook_call_event(function, address, size_bytes);

	event.extra = extra;
	vt_tracker_event(&event);
}

void vt_hook_call_free(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	CUstream stream)
{
	struct vt_event_record event = vt_hook_call_event(function, address, size_bytes);

	vt_pools_look();
	event.stream = (uintptr_t)stream;
	vt_tracker_event(&event);
}

void vt_hook_call_refused(enum vt_real_function function, uint64_t address, CUresult result)
{
	struct vt_event_record event = vt_hook_call_event(function, address, 0);

	event.op = VT_OP_FREE_FAILED;
	event.extra = result;
	vt_tracker_event(&event);
}
