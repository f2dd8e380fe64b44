/* SPDX-License-Identifier: MIT */
#ifndef VTS_RUNTIME_RUNTIME_H
#define VTS_RUNTIME_RUNTIME_H

/*
 * What every file of the runtime shares: how an entry point is declared, the error codes, the
 * per-thread last error and the current context.  VTS_CUDART_MAJOR (11, 12 or 13) is the runtime
 * being built.
 */

#include <stddef.h>
#include <stdint.h>

#include "driver.h"

/* In the static archive the entry points are hidden, as in a program linked with -cudart static. */
#ifdef VTS_RUNTIME_STATIC
#define VTS_EXPORT __attribute__((visibility("hidden")))
#else
#define VTS_EXPORT __attribute__((visibility("default")))
#endif

/* An entry point that returns a cudaError_t. */
#define ENTRY(name, ...)                                                                           \
	int name(__VA_ARGS__);                                                                     \
	VTS_EXPORT int name(__VA_ARGS__)

enum {
	VTS_SUCCESS = 0,
	VTS_INVALID_VALUE = 1,
	VTS_OUT_OF_MEMORY = 2,
	VTS_INVALID_DEVICE_FUNCTION = 98,
	VTS_NO_DEVICE = 100,
	VTS_INVALID_DEVICE = 101,
	VTS_SYMBOL_NOT_FOUND = 500,
	VTS_NOT_SUPPORTED = 801,
};

/* Remembers a failure as the calling thread's last error and returns it unchanged. */
int vts_error_set(int error);

/*
 * Makes sure that the calling thread has a current context: the one that is current already, else
 * the primary context of the thread's device, retained once per process and device.
 */
int vts_context_enter(void);

/* The thread's device: that of the current context, else the one chosen with cudaSetDevice. */
int vts_context_device(int *device);

/* Retains the primary context of a device without making it current; *context is borrowed. */
int vts_context_of_device(int device, void **context);

/* Runs a driver call in the current context and keeps its failure as the last error. */
#define VTS_IN_CONTEXT(name, ...) VTS_IN_CONTEXT_OF(vts_driver_legacy(), name, ##__VA_ARGS__)
#define VTS_IN_CONTEXT_OF(driver, name, ...)                                                       \
	vts_error_set(vts_context_enter() ?: VTS_CALL_OF(driver, name, ##__VA_ARGS__))

/* The same without a context: only cuInit is needed. */
#define VTS_INITIALIZED(name, ...) vts_error_set(vts_driver_init() ?: VTS_CALL(name, ##__VA_ARGS__))

/*
 * An entry point twice, for the legacy and for the per-thread default stream: name and name with
 * suffix call the function or macro with the arguments in parentheses, one of which is "driver".
 */
#define ENTRY_PER_STREAM(name, suffix, function, parameters, arguments)                            \
	int name parameters;                                                                       \
	int name##suffix parameters;                                                               \
	VTS_EXPORT int name parameters                                                             \
	{                                                                                          \
		const struct vts_driver *driver = vts_driver_legacy();                             \
		return function arguments;                                                         \
	}                                                                                          \
	VTS_EXPORT int name##suffix parameters                                                     \
	{                                                                                          \
		const struct vts_driver *driver = vts_driver_per_thread();                         \
		return function arguments;                                                         \
	}

#endif
