/* SPDX-License-Identifier: MIT */
#include "analyzer/model/callers.h"

const struct vt_caller vt_caller_nobody;

/* They are compared as bytes, up to the number. */
#define COMPARED offsetof(struct vt_caller, number)
_Static_assert(sizeof(struct vt_caller) == sizeof(uint64_t) + 8 * sizeof(uint32_t),
	       "struct vt_caller has holes");

const struct vt_caller *vt_callers_intern(struct vt_callers *callers,
					  const struct vt_caller *caller)
{
	int is_new;
	struct vt_caller *found =
		vt_interned_add(&callers->all, caller, sizeof(*caller), COMPARED, &is_new);

	if (is_new)
		found->number = ++callers->last_number;
	return found;
}

void vt_callers_release(struct vt_callers *callers)
{
	vt_interned_release(&callers->all);
	callers->last_number = 0;
}
