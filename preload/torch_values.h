/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_VALUES_H
#define VT_PRELOAD_TORCH_VALUES_H

/*
 * The arguments and results of a dispatched operator, read raw: which device storages they lie in.
 * No function of PyTorch's is called and no reference counted: the caller is inside the observer's
 * callback, for whose time PyTorch keeps the values.
 *
 * The layout of these objects is nobody's promise.  Nothing is followed before addresses that were
 * read by it have turned out to be blocks that the allocator had just reported; until then reads go
 * through the kernel, which refuses what is no memory.
 *
 * Context: hook.  Any thread.
 */

#include <stdint.h>

#include "common/journal_format.h"

enum vt_torch_layout {
	VT_TORCH_LAYOUT_UNPROVEN,
	VT_TORCH_LAYOUT_PROVEN,
	VT_TORCH_LAYOUT_OTHER, /* none of those that we know, for good */
};
enum vt_torch_layout vt_torch_values_layout(void);

/*
 * While unproven: a call that begins, with PyTorch's own count of its inputs, and one that ends,
 * with the block that was last reported on this thread since it began, 0 = none.
 */
void vt_torch_values_try_inputs(const void *call, uint64_t nr_inputs);
void vt_torch_values_try_outputs(const void *call, uint64_t block);

/*
 * When proven: the storages of device tensors among a beginning call's inputs, and an ending call's
 * outputs, also in lists, once their tag is proven.  Writes at most `most` of them and returns how
 * many it wrote; `out` NULL only counts.
 */
uint32_t vt_torch_values_inputs(const void *call, struct vt_operator_address *out, uint32_t most);
uint32_t vt_torch_values_outputs(const void *call, struct vt_operator_address *out, uint32_t most);

#endif
