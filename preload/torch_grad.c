/* SPDX-License-Identifier: MIT */
#include "preload/torch_grad.h"

#include "preload/torch_real.h"

typedef _Bool (*is_enabled_fn)(void);

enum vt_grad vt_torch_grad(const void *caller)
{
	is_enabled_fn is_enabled =
		(is_enabled_fn)vt_torch_real_find(VT_TORCH_FUNCTION_GRAD_MODE, caller);

	if (!is_enabled)
		return VT_GRAD_UNKNOWN;
	return is_enabled() ? VT_GRAD_ENABLED : VT_GRAD_DISABLED;
}
