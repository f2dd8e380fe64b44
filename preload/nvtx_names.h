/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_NVTX_NAMES_H
#define VT_PRELOAD_NVTX_NAMES_H

/*
 * Names given to NVTX as UTF-8, and memory for those that outlive the call.  Context: hook.  Any
 * thread.
 */

#include <stddef.h>
#include <wchar.h>

#define VT_NVTX_LONGEST_NAME 255

struct vt_nvtx_name {
	size_t len;
	char text[VT_NVTX_LONGEST_NAME + 1];	/* NUL-terminated; longer names are cut */
};

/* Both leave *name empty for NULL. */
void vt_nvtx_names_narrow(struct vt_nvtx_name *name, const char *text);
void vt_nvtx_names_wide(struct vt_nvtx_name *name, const wchar_t *text);

/* A copy for the life of the process, or NULL when memory is out. */
const char *vt_nvtx_names_keep(const struct vt_nvtx_name *name);

#endif
