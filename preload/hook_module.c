/* SPDX-License-Identifier: MIT */
/*
 * Hooks of what takes device memory without an allocation: modules, libraries, the limits of a
 * context.  No call says how much it takes: the events mark when the context's use may change.
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

#define UNLOAD(name, type)                                                                         \
CUresult name(type handle)                                                                         \
{                                                                                                  \
	HOOK(name);                                                                                \
	FREE(real(handle), handle, 0, NULL);                                                       \
	return result;                                                                             \
}

LOAD(cuModuleLoad, module, (CUmodule *module, const char *path), (module, path))
LOAD(cuModuleLoadData, module, (CUmodule *module, const void *image), (module, image))
LOAD(cuModuleLoadDataEx, module,
	(CUmodule *module, const void *image, unsigned int nr, int *options, void **values),
	(module, image, nr, options, values))
LOAD(cuModuleLoadFatBinary, module, (CUmodule *module, const void *binary), (module, binary))
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

	result = real(limit, value);
	if (recording && result == CUDA_SUCCESS)
		vt_hook_call_note(function, vt_devices_context(), value, limit);
	return result;
}
