/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_CALLBACK_H
#define VT_PRELOAD_TORCH_CALLBACK_H

/* PyTorch's observers (ATen/record_function.h, 1.13 to 2.15) as C sees them. */

#include <stdint.h>

/* at::RecordScope */
#define VT_TORCH_SCOPE_FUNCTION 0 /* an operator is dispatched */
#define VT_TORCH_SCOPE_USER	7
#define VT_TORCH_SCOPES		10

/* A unique_ptr<ObserverContext> is returned in memory that the caller provides. */
typedef void *(*vt_torch_start_fn)(void **result, const void *call);
typedef void (*vt_torch_end_fn)(const void *call, void *context);

/* at::RecordFunctionCallback, passed by value. */
struct vt_torch_callback {
	vt_torch_start_fn start;
	vt_torch_end_fn end;
	double sampling_probability;
	uint8_t scopes[VT_TORCH_SCOPES];
	uint8_t needs_inputs;
	uint8_t needs_outputs;
	uint8_t needs_ids;
};
_Static_assert(sizeof(struct vt_torch_callback) == 40, "layout of at::RecordFunctionCallback");

/* at::addGlobalCallback; returns a handle for at::disableCallback and at::reenableCallback. */
typedef uint64_t (*vt_torch_add_callback_fn)(struct vt_torch_callback callback);
typedef void (*vt_torch_switch_callback_fn)(uint64_t handle);

/* at::RecordFunction::name */
typedef const char *(*vt_torch_call_name_fn)(const void *call);

#endif
