/* SPDX-License-Identifier: MIT */
#ifndef VTS_NVML_H
#define VTS_NVML_H

/* What the parts of the simulated NVML share: results, handles, the look at a device. */

#include "simulator/nvml_view.h"

typedef enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t; /* here: physical index + 1 */

#define NVML_UUID_TEXT 41 /* "GPU-", 32 digits in five groups, the end */

#define EXPORT(...)                                                                                \
	__attribute__((visibility("default"))) nvmlReturn_t __VA_ARGS__;                           \
	nvmlReturn_t __VA_ARGS__

/* Fills in `view`; UNINITIALIZED before nvmlInit, INVALID_ARGUMENT for what is no device. */
nvmlReturn_t vts_nvml_look(nvmlDevice_t device, struct vts_nvml_view *view);

/* "GPU-76747261-6365-2d73-...": `text` has room for NVML_UUID_TEXT. */
void vts_nvml_uuid(const struct vts_nvml_view *view, char *text);

#endif
