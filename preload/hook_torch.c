/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's memory reports: its caching allocator reports to the profiler every block that it
 * hands out or takes back and about every request that it cannot serve, whether a profiler runs or
 * not.  We override these functions, write the event, and call the real one.
 *
 * The caller holds the allocator's mutex and usually not the GIL: nothing here may wait for either.
 */

#include <stddef.h>
#include <stdint.h>

#include "preload/devices.h"
#include "preload/export.h"
#include "preload/guard.h"
#include "preload/probe.h"
#include "preload/torch_grad.h"
#include "preload/torch_observing.h"
#include "preload/torch_ranges.h"
#include "preload/torch_real.h"
#include "preload/torch_request.h"
#include "preload/tracker.h"
#include "preload/zero_reads.h"

enum {
#define VT_CUDA_API(id, name, version, kind, op)
#define VT_FRAMEWORK_API(id, name, kind, op) FUNCTION_##name = (id),
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
};

/* c10::Device, passed by value in a register. */
struct device {
	int8_t type;
	int8_t index;
};

/* c10::DeviceType::CUDA.  ROCm builds use the same number. */
#define DEVICE_CUDA 1

/* c10::reportMemoryUsageToProfiler; the first form has no totals, the second has them signed. */
typedef void (*report_v1_fn)(void *pointer, int64_t size, struct device device);
typedef void (*report_fn)(void *pointer, int64_t size, uint64_t allocated, uint64_t reserved,
			  struct device device);

/* c10::reportOutOfMemoryToProfiler */
typedef void (*out_of_memory_fn)(int64_t size, uint64_t allocated, uint64_t reserved,
				 struct device device);

/*
 * A block given out (size > 0) or taken back (size < 0).  The size is the block's, `extra` the
 * request's.
 */
static void record_block(const void *caller, const void *pointer, int64_t size, uint64_t allocated,
			 uint64_t reserved, struct device device)
{
	struct vt_event_record event = {
		.op = size > 0 ? VT_OP_ALLOC : VT_OP_FREE,
		.kind = VT_KIND_BLOCK,
		.device = device.index,
		.function = FUNCTION_c10_reportMemoryUsage,
		.address = (uint64_t)(uintptr_t)pointer,
		.size_bytes = size > 0 ? (uint64_t)size : 0 - (uint64_t)size,
		.allocated_bytes = allocated,
		.reserved_bytes = reserved,
	};
	uint64_t request = vt_torch_request_take();
	int entered;

	if (device.type != DEVICE_CUDA || size == 0)
		return;
	vt_torch_ranges_start();
	entered = vt_guard_enter();
	if (!entered)
		return;
	if (event.op == VT_OP_ALLOC) {
		/* A larger one is another's, which failed in a way that is not reported. */
		event.extra = request <= event.size_bytes ? request : 0;
		event.stream = vt_torch_request_stream(device.index, caller);
	}
	event.grad = vt_torch_grad(caller);
	vt_tracker_event(&event);
	if (event.op == VT_OP_ALLOC)
		vt_torch_observing_note_block(&event);
	vt_guard_leave();
	vt_probe_note_block(&event);
}

static void record_out_of_memory(const void *caller, int64_t size, uint64_t allocated,
				 uint64_t reserved, struct device device)
{
	struct vt_event_record event = {
		.op = VT_OP_OUT_OF_MEMORY,
		.kind = VT_KIND_BLOCK,
		.device = device.index,
		.function = FUNCTION_c10_reportOutOfMemory,
		.size_bytes = (uint64_t)size,
		.extra = vt_torch_request_take(),
		.allocated_bytes = allocated,
		.reserved_bytes = reserved,
	};

	if (device.type != DEVICE_CUDA || !vt_guard_enter())
		return;
	event.stream = vt_torch_request_stream(device.index, caller);
	event.grad = vt_torch_grad(caller);
	vt_tracker_event(&event);
	/* The first request of all may be the one that fails. */
	vt_devices_note(device.index, NULL, 0);
	vt_guard_leave();
	vt_probe_note_out_of_memory();
	vt_zero_reads_forget();
}

/*
 * Until 1.9 the pointer of a CUDA block is that of the allocator's own description of it, not the
 * device's: good for pairing an allocation with its free, and there are no totals.
 */
VT_EXPORT void vt_torch_report_v1(void *pointer, int64_t size, struct device device)
	__asm__(VT_TORCH_REPORT_V1);
void vt_torch_report_v1(void *pointer, int64_t size, struct device device)
{
	const void *caller = __builtin_return_address(0);
	report_v1_fn real =
		(report_v1_fn)vt_torch_real_find(VT_TORCH_FUNCTION_REPORT_V1, caller);

	record_block(caller, pointer, size, 0, 0, device);
	if (real)
		real(pointer, size, device);
}

static void report(enum vt_torch_function function, const void *caller, void *pointer, int64_t size,
		   uint64_t allocated, uint64_t reserved, struct device device)
{
	report_fn real = (report_fn)vt_torch_real_find(function, caller);

	record_block(caller, pointer, size, allocated, reserved, device);
	if (real)
		real(pointer, size, allocated, reserved, device);
}

VT_EXPORT void vt_torch_report_v2(void *pointer, int64_t size, uint64_t allocated,
				  uint64_t reserved, struct device device)
	__asm__(VT_TORCH_REPORT_V2);
void vt_torch_report_v2(void *pointer, int64_t size, uint64_t allocated, uint64_t reserved,
			struct device device)
{
	report(VT_TORCH_FUNCTION_REPORT_V2, __builtin_return_address(0), pointer, size, allocated,
	       reserved, device);
}

VT_EXPORT void vt_torch_report_v3(void *pointer, int64_t size, uint64_t allocated,
				  uint64_t reserved, struct device device)
	__asm__(VT_TORCH_REPORT_V3);
void vt_torch_report_v3(void *pointer, int64_t size, uint64_t allocated, uint64_t reserved,
			struct device device)
{
	report(VT_TORCH_FUNCTION_REPORT_V3, __builtin_return_address(0), pointer, size, allocated,
	       reserved, device);
}

static void out_of_memory(enum vt_torch_function function, const void *caller, int64_t size,
			  uint64_t allocated, uint64_t reserved, struct device device)
{
	out_of_memory_fn real = (out_of_memory_fn)vt_torch_real_find(function, caller);

	record_out_of_memory(caller, size, allocated, reserved, device);
	if (real)
		real(size, allocated, reserved, device);
}

VT_EXPORT void vt_torch_out_of_memory_v1(int64_t size, uint64_t allocated, uint64_t reserved,
					 struct device device) __asm__(VT_TORCH_OUT_OF_MEMORY_V1);
void vt_torch_out_of_memory_v1(int64_t size, uint64_t allocated, uint64_t reserved,
			       struct device device)
{
	out_of_memory(VT_TORCH_FUNCTION_OUT_OF_MEMORY_V1, __builtin_return_address(0), size,
		      allocated, reserved, device);
}

VT_EXPORT void vt_torch_out_of_memory_v2(int64_t size, uint64_t allocated, uint64_t reserved,
					 struct device device) __asm__(VT_TORCH_OUT_OF_MEMORY_V2);
void vt_torch_out_of_memory_v2(int64_t size, uint64_t allocated, uint64_t reserved,
			       struct device device)
{
	out_of_memory(VT_TORCH_FUNCTION_OUT_OF_MEMORY_V2, __builtin_return_address(0), size,
		      allocated, reserved, device);
}
