/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_HANDLES_H
#define VTS_DRIVER_HANDLES_H

/*
 * Opaque handles: small numbers that are the same in every run, checked on each use (a stale or
 * foreign handle is an error code, never a crash).  A handle is kind << 28 | index << 4.
 *
 * Needs the call mutex.
 */

#include <stdint.h>

enum vts_handle_kind {
	VTS_HANDLE_STREAM = 1,
	VTS_HANDLE_EVENT,
	VTS_HANDLE_GRAPH,
	VTS_HANDLE_NODE,
	VTS_HANDLE_EXEC,
	VTS_HANDLE_MODULE,
	VTS_HANDLE_LIBRARY,
	VTS_HANDLE_FUNCTION,
	VTS_HANDLE_ARRAY,
	VTS_HANDLE_POOL,
	VTS_HANDLE_MEMORY,
	VTS_HANDLE_LINK,
	VTS_HANDLE_USER_OBJECT,
	VTS_HANDLE_CONTEXT,
	VTS_HANDLE_EXTERNAL,
	VTS_NR_HANDLE_KINDS,
};

/* 0 without memory.  The object stays the caller's. */
uintptr_t vts_handles_new(enum vts_handle_kind kind, void *object);

/* NULL when there is no such handle of that kind. */
void *vts_handles_find(enum vts_handle_kind kind, uintptr_t handle);

/* The number is given out again by the next new one. */
void vts_handles_drop(enum vts_handle_kind kind, uintptr_t handle);

/* Walks the live ones: the next handle after AFTER (0: the first), 0 at the end. */
uintptr_t vts_handles_next(enum vts_handle_kind kind, uintptr_t after);

#endif
