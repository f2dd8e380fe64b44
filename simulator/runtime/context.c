/* SPDX-License-Identifier: MIT */
/*
 * The current device and its primary context, made at the first call that needs one.
 *
 * C1  A primary context is retained at most once per process and device, and released by
 * cudaDeviceReset only. C2  A context that the program made current through the driver is used as
 * it is.
 */
#include "runtime.h"

#include <pthread.h>

enum { MAX_DEVICES = 64 };

static struct {
	pthread_mutex_t lock; /* guards contexts; held over cuDevicePrimaryCtxRetain */
	void *contexts[MAX_DEVICES];
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread int chosen_device;

/* The preloaded library's, where there is one (libraries/control.h). */
__attribute__((weak)) void vtrace_simulator_context_made(void);

int vts_context_of_device(int device, void **context)
{
	int error = vts_driver_init();
	int is_new;

	if (error)
		return error;
	if (device < 0 || device >= MAX_DEVICES)
		return VTS_INVALID_DEVICE;
	pthread_mutex_lock(&g.lock);
	is_new = !g.contexts[device];
	if (is_new)
		error = VTS_CALL(cuDevicePrimaryCtxRetain, &g.contexts[device], device);
	*context = g.contexts[device];
	pthread_mutex_unlock(&g.lock);
	if (is_new && !error && vtrace_simulator_context_made)
		vtrace_simulator_context_made();
	return error;
}

static int use_device(int device)
{
	void *context;
	int error = vts_context_of_device(device, &context);

	return error ? error : VTS_CALL(cuCtxSetCurrent, context);
}

int vts_context_enter(void)
{
	void *context = NULL;

	/* Before cuInit the driver refuses this call: then there is no context either. */
	if (!VTS_CALL(cuCtxGetCurrent, &context) && context)
		return VTS_SUCCESS;
	return use_device(chosen_device);
}

int vts_context_device(int *device)
{
	void *context = NULL;

	if (!VTS_CALL(cuCtxGetCurrent, &context) && context)
		return VTS_CALL(cuCtxGetDevice, device);
	*device = chosen_device;
	return VTS_SUCCESS;
}

/* Since CUDA 12.0 cudaSetDevice makes the context at once. */
ENTRY(cudaSetDevice, int device)
{
	int count = 0;
	int error = vts_driver_init() ?: VTS_CALL(cuDeviceGetCount, &count);

	if (!error && (device < 0 || device >= count))
		error = VTS_INVALID_DEVICE;
	if (!error)
		error = use_device(device);
	if (!error)
		chosen_device = device;
	return vts_error_set(error);
}

ENTRY(cudaGetDevice, int *device)
{
	if (!device)
		return vts_error_set(VTS_INVALID_VALUE);
	return vts_error_set(vts_driver_init() ?: vts_context_device(device));
}

ENTRY(cudaDeviceReset, void)
{
	int device = 0;
	int error = vts_driver_init() ?: vts_context_device(&device);

	if (error || device >= MAX_DEVICES)
		return vts_error_set(error);
	pthread_mutex_lock(&g.lock);
	if (g.contexts[device])
		error = VTS_CALL(cuDevicePrimaryCtxReset, device);
	/* The reset destroyed the context but keeps our reference count. */
	if (g.contexts[device] && !error)
		error = VTS_CALL(cuDevicePrimaryCtxRelease, device);
	g.contexts[device] = NULL;
	pthread_mutex_unlock(&g.lock);
	VTS_CALL(cuCtxSetCurrent, NULL);
	return vts_error_set(error);
}

ENTRY(cudaDeviceSynchronize, void)
{
	return VTS_IN_CONTEXT(cuCtxSynchronize);
}

ENTRY(cudaDeviceGetLimit, size_t *value, int limit)
{
	return VTS_IN_CONTEXT(cuCtxGetLimit, value, limit);
}

ENTRY(cudaDeviceSetLimit, int limit, size_t value)
{
	return VTS_IN_CONTEXT(cuCtxSetLimit, limit, value);
}

ENTRY(cudaDeviceGetStreamPriorityRange, int *least, int *greatest)
{
	return VTS_IN_CONTEXT(cuCtxGetStreamPriorityRange, least, greatest);
}

ENTRY(cudaDeviceEnablePeerAccess, int peer, unsigned int flags)
{
	void *context;
	int error = vts_context_enter() ?: vts_context_of_device(peer, &context);

	return vts_error_set(error ?: VTS_CALL(cuCtxEnablePeerAccess, context, flags));
}

ENTRY(cudaDeviceDisablePeerAccess, int peer)
{
	void *context;
	int error = vts_context_enter() ?: vts_context_of_device(peer, &context);

	return vts_error_set(error ?: VTS_CALL(cuCtxDisablePeerAccess, context));
}
