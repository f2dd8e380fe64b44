/* SPDX-License-Identifier: MIT */
/*
 * Hooks of contexts: memory goes with the context that it was allocated in.  The end is recorded
 * before the call, as frees are, since the addresses may be given out again at once.
 *
 * A primary context is one per device, counted: it begins with the first reference and ends with
 * the last, or when it is reset.  References are counted here from the start of the process: the
 * first ones may be taken before anything is recorded.
 */
#include <stddef.h>

#include "preload/devices.h"
#include "preload/hook_call.h"
#include "preload/pools.h"
#include "preload/tracker.h"

#define MOST_DEVICES 64

static struct {
	struct {
		uint64_t handle;	/* atomic, 0 = none */
		int nr_references;	/* atomic */
	} primary[MOST_DEVICES];
} g;

/*
 * With several devices a context on the wrong one takes hundreds of MiB of it, often before or
 * without any allocation there: such a recording begins with the first context.  The device is
 * described, so that the importer can ask NVML what the process has on it.
 */
static void note_context(enum vt_real_function function, uint64_t context, CUdevice device)
{
	struct vt_event_record event = vt_hook_call_event(function, context, 0);

	event.device = device;
	if (vt_devices_are_several())
		vt_tracker_open();
	vt_tracker_event(&event);
	vt_devices_note(device, NULL, 0);
}

#define CREATE(name, parameters, arguments)                                                        \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS)                                                   \
		note_context(function, (uintptr_t)*context, device);                               \
	return result;                                                                             \
}

#define DESTROY(name)                                                                              \
CUresult name(CUcontext context)                                                                   \
{                                                                                                  \
	HOOK(name);                                                                                \
	FREE(real(context), context, 0, NULL);                                                     \
	return result;                                                                             \
}

CREATE(cuCtxCreate, (CUcontext *context, unsigned int flags, CUdevice device),
	(context, flags, device))
CREATE(cuCtxCreate_v2, (CUcontext *context, unsigned int flags, CUdevice device),
	(context, flags, device))
CREATE(cuCtxCreate_v3,
	(CUcontext *context, void *affinity, int nr, unsigned int flags, CUdevice device),
	(context, affinity, nr, flags, device))
CREATE(cuCtxCreate_v4, (CUcontext *context, void *how, unsigned int flags, CUdevice device),
	(context, how, flags, device))
DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)

/*
 * Drops a reference of the thread's current context; the last one ends it, and only that there is
 * another context then tells so.  Recorded as the end before, like all ends, and taken back (with
 * the result, CUDA_SUCCESS) where it was not the last.
 */
CUresult cuCtxDetach(CUcontext context)
{
	HOOK(cuCtxDetach);

	FREE(real(context), context, 0, NULL);
	if (recording && result == CUDA_SUCCESS && context &&
	    vt_devices_context() == (uintptr_t)context)
		vt_hook_call_refused(function, (uintptr_t)context, result);
	return result;
}

static int is_counted(CUdevice device)
{
	return device >= 0 && device < MOST_DEVICES;
}

/* Returns whether they are the first references. */
static int add_references(CUdevice device, int nr)
{
	return is_counted(device) && __atomic_fetch_add(&g.primary[device].nr_references, nr,
							__ATOMIC_RELAXED) == 0;
}

/*
 * Drops one reference, or with `is_all` all.  Returns what that ends: the context, or 0 if it lives
 * on.
 */
static uint64_t drop_references(CUdevice device, int is_all, int *nr_dropped)
{
	int nr = 0;

	*nr_dropped = 0;
	if (!is_counted(device))
		return 0;
	nr = __atomic_load_n(&g.primary[device].nr_references, __ATOMIC_RELAXED);
	/* More releases than references: the driver refuses those. */
	while (nr > 0 && !__atomic_compare_exchange_n(&g.primary[device].nr_references, &nr,
						      is_all ? 0 : nr - 1, 0, __ATOMIC_RELAXED,
						      __ATOMIC_RELAXED))
		;
	if (nr <= 0)
		return 0;
	*nr_dropped = is_all ? nr : 1;
	return nr == *nr_dropped ? __atomic_load_n(&g.primary[device].handle, __ATOMIC_RELAXED) : 0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	HOOK(cuDevicePrimaryCtxRetain);

	result = real(context, device);
	/* Counted also inside another hook: a library behind us may take references. */
	if (result != CUDA_SUCCESS || !is_counted(device))
		return result;
	__atomic_store_n(&g.primary[device].handle, (uintptr_t)*context, __ATOMIC_RELAXED);
	if (add_references(device, 1) && recording)
		note_context(function, (uintptr_t)*context, device);
	return result;
}

/*
 * A reset destroys the device's pools with all else.  Of which device a pool is, nothing says (it
 * was followed on the device of the context that allocated from it): none is asked until the next
 * allocation from it.
 */
static CUresult drop(CUresult (*real)(CUdevice), CUdevice device, int is_all)
{
	uint64_t places = is_all ? vt_pools_take_out(0) : 0;
	CUresult result = real(device);

	vt_pools_settle(places, result == CUDA_SUCCESS);
	return result;
}

#define DROP(name, is_all)                                                                         \
CUresult name(CUdevice device)                                                                     \
{                                                                                                  \
	HOOK(name);                                                                                \
	int nr_dropped;                                                                            \
	uint64_t ended = drop_references(device, is_all, &nr_dropped);                             \
	FREE(drop(real, device, is_all), ended, 0, NULL);                                          \
	if (nr_dropped && result != CUDA_SUCCESS)                                                  \
		add_references(device, nr_dropped);                                                \
	return result;                                                                             \
}

DROP(cuDevicePrimaryCtxRelease, 0)
DROP(cuDevicePrimaryCtxRelease_v2, 0)
DROP(cuDevicePrimaryCtxReset, 1)
DROP(cuDevicePrimaryCtxReset_v2, 1)
