/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_LOADER_H
#define VT_PRELOAD_LOADER_H

/*
 * Decides which look-ups of driver functions are answered with a hook; called by the dlsym in
 * dlsym.S.
 */

#include <stdint.h>

#include "preload/real.h"

struct vt_loader_answer {
	void *value;
	uint64_t is_answered;	/* 0: ask the next dlsym, in the caller's own name */
};

/*
 * Context: inside dlsym, possibly in a library's constructor, before the driver is initialised.
 * `caller` is the return address.  dlerror() is left as the next dlsym would have left it.
 */
struct vt_loader_answer vt_loader_dlsym(void *handle, const char *name, const void *caller);

/*
 * The hook for the address of a real function that was learnt already, NULL for any other.  Takes
 * no lock, and asks nobody.
 */
void *vt_loader_hook(const void *address);
/* The hook of that exact name, NULL where there is none or no driver has it. */
void *vt_loader_hook_of_name(const char *name);

/*
 * Before the program opens a library; called by the dlopen in dlopen.S.  Returns the next dlopen.
 */
vt_real_dlopen_fn vt_loader_dlopen(int is_deep);

/*
 * Nonzero: this thread opened a library with RTLD_DEEPBIND, at which so many objects were loaded.
 * The dlsym in dlsym.S reads it, and calls vt_loader_bind_deep() before it does anything else.
 */
extern _Thread_local uint32_t vt_loader_nr_before __attribute__((visibility("hidden")));
void vt_loader_bind_deep(void);

#endif
