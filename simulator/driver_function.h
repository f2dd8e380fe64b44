/* SPDX-License-Identifier: MIT */
#ifndef VTS_DRIVER_FUNCTION_H
#define VTS_DRIVER_FUNCTION_H

/* What a handle of a kernel stands for (VTS_HANDLE_FUNCTION). */

#include <stdint.h>

struct vts_function {
	char *name;
	uintptr_t owner; /* module or library */
	int max_dynamic_shared_bytes;
	uint32_t local_bytes; /* of each thread; 0 where the image does not tell */
};

#endif
