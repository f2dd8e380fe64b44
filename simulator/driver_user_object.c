/* SPDX-License-Identifier: MIT */
#include "simulator/driver_user_object.h"

#include "simulator/driver_call.h"
#include "simulator/driver_handles.h"

#include <stdlib.h>

struct user_object {
	void *object;
	CUhostFn destroy;
	unsigned int nr_references;
};

static struct user_object *find_object(CUuserObject handle)
{
	return vts_handles_find(VTS_HANDLE_USER_OBJECT, (uintptr_t)handle);
}

CUresult cuUserObjectCreate(CUuserObject *out, void *pointer, CUhostFn destroy, unsigned int count,
			    unsigned int flags)
{
	enum { NO_DESTRUCTOR_SYNC = 1 };
	struct user_object *object;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!out || !destroy || !count || flags != NO_DESTRUCTOR_SYNC)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	object = calloc(1, sizeof(*object));
	*out = object ? (CUuserObject)vts_handles_new(VTS_HANDLE_USER_OBJECT, object) : NULL;
	if (!*out) {
		free(object);
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	object->object = pointer;
	object->destroy = destroy;
	object->nr_references = count;
	return vts_call_leave(CUDA_SUCCESS);
}

/* The destructor may not call CUDA (documented), so it can run with the mutex held. */
CUresult vts_user_object_release(CUuserObject handle, unsigned int count)
{
	struct user_object *object = find_object(handle);

	if (!object || count > object->nr_references)
		return CUDA_ERROR_INVALID_VALUE;
	object->nr_references -= count;
	if (object->nr_references)
		return CUDA_SUCCESS;
	vts_handles_drop(VTS_HANDLE_USER_OBJECT, (uintptr_t)handle);
	object->destroy(object->object);
	free(object);
	return CUDA_SUCCESS;
}

int vts_user_object_exists(CUuserObject handle)
{
	return !!find_object(handle);
}

CUresult vts_user_object_retain(CUuserObject handle, unsigned int count)
{
	struct user_object *object = find_object(handle);

	if (!object || !count)
		return CUDA_ERROR_INVALID_VALUE;
	object->nr_references += count;
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(vts_user_object_retain(object, count));
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(vts_user_object_release(object, count));
}
