/* SPDX-License-Identifier: MIT */
#ifndef VTS_RUNTIME_MODULE_H
#define VTS_RUNTIME_MODULE_H

/*
 * Kernels and device variables by the address of their host-side shadow, as nvcc's code registers
 * them. Both need a current context and are safe from any thread.
 */

#include "runtime.h"

/*
 * The driver's handle of a kernel, loading its image at the first use; 98 for an unknown address.
 */
int vts_module_kernel(const void *host, void **kernel);

/*
 * The device memory of a variable, allocated at the first use; 13 (invalid symbol) for an unknown
 * address.
 */
int vts_module_variable(const void *host, uint64_t *address, size_t *size_bytes);

#endif
