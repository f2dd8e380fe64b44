/* SPDX-License-Identifier: MIT */
/*
 * DeviceCachingAllocator::malloc rounds a request first thing, and asks its configuration for the
 * divisions of that size on the way: we override that function.  The report of the block
 * (or of the failure) follows on the same thread, with only the allocator's own work in between.
 *
 * Requests below the smallest block are not rounded, so nothing is asked: what an earlier request
 * left behind would be wrong for them, hence each report forgets it.
 */

#include "preload/torch_request.h"

#include <errno.h>
#include <stddef.h>

#include "preload/export.h"
#include "preload/thread_state.h"
#include "preload/torch_real.h"

typedef size_t (*divisions_fn)(size_t size);

/* c10::cuda::CUDAStream, returned in two registers: c10::Stream is a device and a number. */
struct stream {
	int8_t device_type;
	int8_t device;
	int64_t id;
};
typedef struct stream (*current_stream_fn)(int8_t device);

static size_t divisions(enum vt_torch_function function, size_t size, const void *caller)
{
	divisions_fn real = (divisions_fn)vt_torch_real_find(function, caller);

	vt_thread_self()->request_bytes = size;
	/* 0 is PyTorch's own answer where nothing is set. */
	return real ? real(size) : 0;
}

VT_EXPORT size_t vt_torch_divisions_v1(size_t size) __asm__(VT_TORCH_DIVISIONS_V1);
size_t vt_torch_divisions_v1(size_t size)
{
	return divisions(VT_TORCH_FUNCTION_DIVISIONS_V1, size, __builtin_return_address(0));
}

VT_EXPORT size_t vt_torch_divisions_v2(size_t size) __asm__(VT_TORCH_DIVISIONS_V2);
size_t vt_torch_divisions_v2(size_t size)
{
	return divisions(VT_TORCH_FUNCTION_DIVISIONS_V2, size, __builtin_return_address(0));
}

uint64_t vt_torch_request_take(void)
{
	struct vt_thread *thread = vt_thread_self();
	uint64_t bytes = thread->request_bytes;

	thread->request_bytes = 0;
	return bytes;
}

/*
 * Asked instead of intercepted: every launch of a kernel asks for it.  The allocator has just asked
 * itself on this thread, so the answer is a read of thread-local memory.
 */
uint64_t vt_torch_request_stream(int8_t device, const void *caller)
{
	current_stream_fn current = (current_stream_fn)vt_torch_real_find(
		VT_TORCH_FUNCTION_CURRENT_STREAM, caller);
	int saved = errno;
	uint64_t id = current ? (uint64_t)current(device).id : 0;

	errno = saved;
	return id;
}
