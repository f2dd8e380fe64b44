/* SPDX-License-Identifier: MIT */
#ifndef VTS_RUNTIME_MODULE_H
#define VTS_RUNTIME_MODULE_H

/*
 * Kernels by the address of their host-side shadow, as nvcc's code registers them.  Any thread,
 * with a current context.
 */

#include "fat_binary.h"
#include "runtime.h"

/*
 * The driver's handle of a kernel, loading its image at the first use; 98 for an unknown address.
 */
int vts_module_kernel(const void *host, void **kernel);

/*
 * The code that a device of that capability (86 and the like) runs for a kernel; for an unknown
 * address what vts_fat_binary_code answers without a fat binary.
 */
struct vts_code vts_module_code(const void *host, int capability);

#endif
