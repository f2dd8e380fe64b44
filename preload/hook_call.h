/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_HOOK_CALL_H
#define VT_PRELOAD_HOOK_CALL_H

/*
 * What the hooks of cuda_api.def share: each calls the real function exactly once and returns what
 * it returned.
 *
 * Frees are recorded before the call, because the driver may give the address to another thread at
 * once; if the driver then refuses, a free_failed event takes the record back.  Everything else is
 * recorded after the call succeeded.  Output parameters are read only then.
 *
 * Device: physical memory (cuMemCreate) names its own; other device memory is on the device of the
 * thread's context; address ranges, mappings, host memory and frees have none (-1).
 */

#include <stdint.h>

#include "common/cuda_abi.h"
#include "common/journal_format.h"
#include "preload/guard.h"
#include "preload/real.h"

#define VT_HOOK_NO_DEVICE (-1)

/*
 * Opens every hook: `real` to call, `function` for the record, `recording` = not inside another
 * hook.
 */
#define HOOK(name)                                                                                 \
	__typeof__(&name) real = (__typeof__(&name))vt_real_find(VT_REAL_##name);                  \
	const enum vt_real_function function = VT_REAL_##name;                                     \
	const int recording VT_GUARD_SCOPE = vt_guard_enter();                                     \
	CUresult result;                                                                           \
	if (!real)                                                                                 \
		return CUDA_ERROR_NOT_INITIALIZED

/* The middle of every freeing hook. */
#define FREE(call, address, size_bytes, stream)                                                    \
	do {                                                                                       \
		uint64_t freed_ = (uintptr_t)(address);                                            \
		int noted_ = recording && freed_;                                                  \
		if (noted_)                                                                        \
			vt_hook_call_free(function, freed_, size_bytes, stream);                   \
		result = call;                                                                     \
		if (noted_ && result != CUDA_SUCCESS)                                              \
			vt_hook_call_refused(function, freed_, result);                            \
	} while (0)

/* The event of that function, with kind and operation from the table and no device. */
struct vt_event_record vt_hook_call_event(enum vt_real_function function, uint64_t address,
	uint64_t size_bytes);

/*
 * Memory that the thread's context owns and that goes with it.  On that context's device, which is
 * described when it is new.
 */
void vt_hook_call_in_context(enum vt_real_function function, uint64_t address,
	uint64_t size_bytes);
/* The same for host memory: the context's, on no device. */
void vt_hook_call_host_in_context(enum vt_real_function function, const void *address,
	uint64_t size_bytes);

/*
 * Stream-ordered memory; `pool` NULL is the device's current one.  On a stream that captures it is
 * the graph's.
 */
void vt_hook_call_from_pool(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	CUmemoryPool pool, CUstream stream);

/* Something of that device, without known memory. */
void vt_hook_call_on_device(enum vt_real_function function, uint64_t handle, CUdevice device,
	uint64_t extra);

/* Anything that is on no device, or whose device is another event's matter. */
void vt_hook_call_note(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	uint64_t extra);

void vt_hook_call_free(enum vt_real_function function, uint64_t address, uint64_t size_bytes,
	CUstream stream);
void vt_hook_call_refused(enum vt_real_function function, uint64_t address, CUresult result);

#endif
