/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_LOADER_H
#define VT_PRELOAD_LOADER_H

/*
 * Decides which look-ups of driver functions are answered with a hook; called by the dlsym in
 * dlsym.S.
 */

#include <stdint.h>

struct vt_loader_answer {
	void *value;
	uint64_t is_answered;	/* 0: ask the next dlsym, in the caller's own name */
};

/*
 * Context: inside dlsym, possibly in a library's constructor, before the driver is initialised.
 * `caller` is the return address.  dlerror() is left as the next dlsym would have left it.
 */
struct vt_loader_answer vt_loader_dlsym(void *handle, const char *name, const void *caller);

#endif
