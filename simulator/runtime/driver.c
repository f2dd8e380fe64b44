/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "log.h"

enum {
	/* Flags of cuGetProcAddress. */
	LEGACY_STREAM = 0,
	PER_THREAD_STREAM = 2,
	/* No per-thread variant is older than CUDA 7.0, whatever the age of its function. */
	FIRST_PER_THREAD = 7000,
	INSUFFICIENT_DRIVER = 35,
	NOT_SUPPORTED = 801,
};

/* cuGetProcAddress_v2, by its introduction in CUDA 12.0. */
typedef int (*get_proc_fn)(const char *name, void **function, int version, uint64_t flags,
			   int *status);

static struct {
	pthread_once_t resolve_once;
	pthread_once_t init_once;
	get_proc_fn get_proc;
	struct vts_driver legacy;
	struct vts_driver per_thread;
	int init_error;
} g = {.resolve_once = PTHREAD_ONCE_INIT, .init_once = PTHREAD_ONCE_INIT};

static void *look_up(const char *name, int version, uint64_t flags)
{
	void *function = NULL;
	int status = 0;

	if (g.get_proc(name, &function, version, flags, &status))
		return NULL;
	return function;
}

static void store(void *slot, void *function)
{
	memcpy(slot, &function, sizeof(function));
}

static void resolve(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *entry = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;

	if (!entry)
		return;
	memcpy(&g.get_proc, &entry, sizeof(entry));
	/*
	 * NVIDIA's runtime starts with an empty name and version 0 (seen with 11.8, 12.4 and 13.0).
	 */
	look_up("", 0, LEGACY_STREAM);
#define DRIVER(name, version, parameters)                                                          \
	store(&g.legacy.name, look_up(#name, version, LEGACY_STREAM));                             \
	g.per_thread.name = g.legacy.name;
#define DRIVER_STREAM(name, version, parameters)                                                   \
	store(&g.legacy.name, look_up(#name, version, LEGACY_STREAM));                             \
	store(&g.per_thread.name,                                                                  \
	      look_up(#name, version < FIRST_PER_THREAD ? FIRST_PER_THREAD : version,              \
		      PER_THREAD_STREAM));
#include "driver.def"
#undef DRIVER
#undef DRIVER_STREAM
}

const struct vts_driver *vts_driver_legacy(void)
{
	pthread_once(&g.resolve_once, resolve);
	return &g.legacy;
}

const struct vts_driver *vts_driver_per_thread(void)
{
	pthread_once(&g.resolve_once, resolve);
	return &g.per_thread;
}

static void init(void)
{
	const struct vts_driver *driver = vts_driver_legacy();

	g.init_error = driver->cuInit ? driver->cuInit(0) : INSUFFICIENT_DRIVER;
}

int vts_driver_init(void)
{
	pthread_once(&g.init_once, init);
	return g.init_error;
}

int vts_driver_find(const char *name, int version, uint64_t flags, void **function, int *status)
{
	vts_driver_legacy();
	*function = NULL;
	return g.get_proc ? g.get_proc(name, function, version, flags, status)
			  : INSUFFICIENT_DRIVER;
}

int vts_driver_missing(const char *name)
{
	vts_log_once("the driver has no", name);
	return NOT_SUPPORTED;
}
