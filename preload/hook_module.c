/* SPDX-License-Identifier: MIT */
/*
 * Hooks of what takes device memory without an allocation: modules, libraries, the limits of a
 * context.  No call says how much it takes: the events mark when the context's use may change.
 *
 * A module's code is on the device when its load returns, and a limit is in force: what is in use
 * is asked before and after.  A library's code comes later, kernel by kernel (CUDA's runtime loads
 * its libraries so): nothing is asked.
 */
#include "preload/devices.h"
#include "preload/hook_call.h"

#define LOAD(name, handle, parameters, arguments)                                                  \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS)                                                   \
		vt_hook_call_on_device(function, (uintptr_t)*handle, vt_devices_current(), 0);     \
	return result;                                                                             \
}

#define LOAD_MEASURED(name, handle, parameters, arguments)                                         \
CUresult name parameters                                                                           \
{                                                                                                  \
	HOOK(name);                                                                                \
	if (recording)                                                                             \
		vt_devices_measure();                                                              \
	result = real arguments;                                                                   \
	if (recording && result == CUDA_SUCCESS) {                                                 \
		vt_hook_call_on_device(function, (uintptr_t)*handle, vt_devices_current(), 0);     \
		vt_devices_measure();                                                              \
	}                                                                                          \
	return result;                                                                             \
}

#define UNLOAD(name, type)                                                                         \
CUresult name(type handle)                                                                         \
{                                                                                                  \
	HOOK(name);                                                                                \
	FREE(real(handle), handle, 0, NULL);                                                       \
	return result;                                                                             \
}

LOAD_MEASURED(cuModuleLoad, module, (CUmodule *module, const char *path), (module, path))
LOAD_MEASURED(cuModuleLoadData, module, (CUmodule *module, const void *image), (module, image))
LOAD_MEASURED(cuModuleLoadDataEx, module,
	(CUmodule *module, const void *image, unsigned int nr, int *options, void **values),
	(module, image, nr, options, values))
LOAD_MEASURED(cuModuleLoadFatBinary, module, (CUmodule *module, const void *binary), (module, binary))
UNLOAD(cuModuleUnload, CUmodule)
LOAD(cuLibraryLoadData, library,
	(CUlibrary *library, const void *code, int *jit, void **jit_values, unsigned int nr_jit,
	 int *options, void **values, unsigned int nr),
	(library, code, jit, jit_values, nr_jit, options, values, nr))
LOAD(cuLibraryLoadFromFile, library,
	(CUlibrary *library, const char *path, int *jit, void **jit_values, unsigned int nr_jit,
	 int *options, void **values, unsigned int nr),
	(library, path, jit, jit_values, nr_jit, options, values, nr))
UNLOAD(cuLibraryUnload, CUlibrary)

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	HOOK(cuCtxSetLimit);

	if (recording)
		vt_devices_measure();
	result = real(limit, value);
	if (recording && result == CUDA_SUCCESS) {
		vt_hook_call_note(function, vt_devices_context(), value, limit);
		vt_devices_measure();
	}
	return result;
}
