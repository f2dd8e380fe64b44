/* SPDX-License-Identifier: MIT */
#ifndef VTS_RUNTIME_MODULE_H
#define VTS_RUNTIME_MODULE_H

/*
 * Kernels by the address of their host-side shadow, as nvcc's code registers them.  Any thread,
 * with a current context.
 */

#include "runtime.h"

/*
 * The driver's handle of a kernel, loading its image at the first use; 98 for an unknown address.
 */
int vts_module_kernel(const void *host, void **kernel);

#endif
