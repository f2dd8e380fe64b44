/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_READ_H
#define VT_PRELOAD_PYTHON_READ_H

/*
 * Raw reads of an interpreter's objects: fixed-size loads, and text as UTF-8.  They follow what
 * they are given; that the object is alive is the caller's business (python_stack.h says why it
 * is).
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/python_abi.h"

static inline const void *vt_python_read_pointer(const void *base, size_t at)
{
	const void *value;

	memcpy(&value, (const char *)base + at, sizeof(value));
	return value;
}

static inline int32_t vt_python_read_int(const void *base, size_t at)
{
	int32_t value;

	memcpy(&value, (const char *)base + at, sizeof(value));
	return value;
}

static inline int64_t vt_python_read_size(const void *base, size_t at)
{
	int64_t value;

	memcpy(&value, (const char *)base + at, sizeof(value));
	return value;
}

static inline const void *vt_python_read_type(const struct vt_python_abi *abi, const void *object)
{
	return vt_python_read_pointer(object, abi->object_type);
}

/*
 * Writes a str object as UTF-8 to out, at most size bytes and whole characters only, no NUL.
 * Returns the number of bytes; 0 for an object that is not a compact string.  A lone surrogate (a
 * byte of a file name that was not UTF-8) becomes U+FFFD.
 */
size_t vt_python_read_text(const struct vt_python_abi *abi, const void *string, char *out,
			   size_t size);

#endif
