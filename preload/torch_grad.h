/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_GRAD_H
#define VT_PRELOAD_TORCH_GRAD_H

#include "common/kinds.h"

/*
 * Whether autograd records what the calling thread computes.  `caller` lies in the library that
 * reports: the function is looked for beside it.  Context: hook.  A read of thread-local memory.
 */
enum vt_grad vt_torch_grad(const void *caller);

#endif
