/* SPDX-License-Identifier: MIT */
#ifndef VTS_RUNTIME_DRIVER_H
#define VTS_RUNTIME_DRIVER_H

/*
 * The runtime's only door to the driver: dlopen("libcuda.so.1"), dlsym("cuGetProcAddress_v2"), and
 * from there everything through cuGetProcAddress, in one batch at the first use, as NVIDIA's
 * runtime does.
 */

#include <stddef.h>
#include <stdint.h>

/* CUmemcpy2D as the driver reads it. */
struct vts_copy_2d {
	size_t from_x_bytes, from_y;
	int from_type; /* 1 host, 2 device, 4 unified */
	const void *from_host;
	uint64_t from_device;
	void *from_array;
	size_t from_pitch_bytes;
	size_t to_x_bytes, to_y;
	int to_type;
	void *to_host;
	uint64_t to_device;
	void *to_array;
	size_t to_pitch_bytes;
	size_t width_bytes, height;
};

/* CUipcMemHandle, CUipcEventHandle: passed by value. */
struct vts_ipc_handle {
	char bytes[64];
};

/* One resolved driver; a function that this driver does not have is NULL. */
struct vts_driver {
#define DRIVER(name, version, parameters)        int(*name) parameters;
#define DRIVER_STREAM(name, version, parameters) int(*name) parameters;
#include "driver.def"
#undef DRIVER
#undef DRIVER_STREAM
};

/*
 * The driver for the legacy default stream, resolved at the first call; never NULL (without a
 * driver every member is).  Thread-safe.
 */
const struct vts_driver *vts_driver_legacy(void);

/* The same for the per-thread default stream (flag 2 of cuGetProcAddress). */
const struct vts_driver *vts_driver_per_thread(void);

/*
 * cuInit once per process; the result of every later call is that of the first, as in NVIDIA's
 * runtime (35, insufficient driver, where there is no libcuda.so.1).
 */
int vts_driver_init(void);

/*
 * cuGetProcAddress for cudaGetDriverEntryPoint: 0 or an error; *function is NULL when status is not
 * 0.
 */
int vts_driver_find(const char *name, int version, uint64_t flags, void **function, int *status);

/*
 * The answer for a driver function that is not there: logs its name once, returns 801 (not
 * supported).
 */
int vts_driver_missing(const char *name);

#define VTS_CALL_OF(driver, name, ...)                                                             \
	((driver)->name ? (driver)->name(__VA_ARGS__) : vts_driver_missing(#name))
#define VTS_CALL(name, ...) VTS_CALL_OF(vts_driver_legacy(), name, ##__VA_ARGS__)

#endif
