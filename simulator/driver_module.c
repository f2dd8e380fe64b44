/* SPDX-License-Identifier: MIT */
/*
 * Modules, libraries and functions.  Any image loads, any function is found, and a global variable
 * is not; of an image only its kernels' local memory is read.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_function.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_image.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_resident.h"
#include "simulator/driver_scope.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct module {
	uintptr_t *functions; /* handles */
	size_t nr_functions;
	uintptr_t as_module; /* of a library: the module handed out for it */
	struct vts_resident code;
	struct vts_image image;
};

static struct vts_function *find_function(uintptr_t handle)
{
	return vts_handles_find(VTS_HANDLE_FUNCTION, handle);
}

static CUresult load(enum vts_handle_kind kind, uintptr_t *out, const void *image)
{
	struct module *module;

	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	module = calloc(1, sizeof(*module));
	if (module && kind == VTS_HANDLE_MODULE &&
	    vts_resident_load(&module->code, "module", vts_profile_get()->module_bytes)) {
		free(module);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = module ? vts_handles_new(kind, module) : 0;
	if (*out) {
		vts_image_read(&module->image, image);
		return CUDA_SUCCESS;
	}
	free(module);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult load_file(enum vts_handle_kind kind, uintptr_t *out, const char *path)
{
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	return access(path, R_OK) ? CUDA_ERROR_FILE_NOT_FOUND : load(kind, out, path);
}

static CUresult unload(enum vts_handle_kind kind, uintptr_t handle)
{
	struct module *module = vts_handles_find(kind, handle);

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (module->as_module)
		unload(VTS_HANDLE_MODULE, module->as_module);
	for (size_t i = 0; i < module->nr_functions; i++) {
		struct vts_function *function = find_function(module->functions[i]);

		vts_handles_drop(VTS_HANDLE_FUNCTION, module->functions[i]);
		free(function->name);
		free(function);
	}
	vts_resident_unload(&module->code);
	vts_image_release(&module->image);
	vts_handles_drop(kind, handle);
	free(module->functions);
	free(module);
	return CUDA_SUCCESS;
}

static uintptr_t add_function(struct module *module, uintptr_t owner, const char *name)
{
	uintptr_t *functions = realloc(module->functions,
				       (module->nr_functions + 1) * sizeof(*functions));
	struct vts_function *function = calloc(1, sizeof(*function));
	uintptr_t handle = 0;

	if (functions)
		module->functions = functions;
	if (function)
		function->name = strdup(name);
	if (functions && function && function->name)
		handle = vts_handles_new(VTS_HANDLE_FUNCTION, function);
	if (!handle) {
		free(function ? function->name : NULL);
		free(function);
		return 0;
	}
	function->owner = owner;
	function->local_bytes = vts_image_local_bytes(&module->image, name);
	functions[module->nr_functions++] = handle;
	return handle;
}

static CUresult get_function(enum vts_handle_kind kind, uintptr_t owner, const char *name,
			     uintptr_t *out)
{
	struct module *module = vts_handles_find(kind, owner);

	if (!module || !out || !name)
		return module ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < module->nr_functions; i++)
		if (!strcmp(find_function(module->functions[i])->name, name)) {
			*out = module->functions[i];
			return CUDA_SUCCESS;
		}
	*out = add_function(module, owner, name);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuModuleLoad(CUmodule *out, const char *path)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(load_file(VTS_HANDLE_MODULE, (uintptr_t *)out, path));
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(load(VTS_HANDLE_MODULE, (uintptr_t *)out, image));
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int nr_options, int *options,
			    void **values)
{
	(void)nr_options, (void)options, (void)values;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(load(VTS_HANDLE_MODULE, (uintptr_t *)out, image));
}

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(load(VTS_HANDLE_MODULE, (uintptr_t *)out, image));
}

CUresult cuModuleUnload(CUmodule module)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(unload(VTS_HANDLE_MODULE, (uintptr_t)module));
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(
		get_function(VTS_HANDLE_MODULE, (uintptr_t)module, name, (uintptr_t *)out));
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size_bytes, CUmodule module,
			      const char *name)
{
	(void)address, (void)size_bytes;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!vts_handles_find(VTS_HANDLE_MODULE, (uintptr_t)module) || !name)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(CUDA_ERROR_NOT_FOUND);
}

CUresult cuModuleGetLoadingMode(int *mode)
{
	enum { EAGER = 1, LAZY = 2 };
	const char *wish = getenv("CUDA_MODULE_LOADING");

	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (!mode)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*mode = wish && !strcmp(wish, "EAGER") ? EAGER : LAZY;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuLibraryLoadData(CUlibrary *out, const void *image, int *jit_options, void **jit_values,
			   unsigned int nr_jit, int *options, void **values,
			   unsigned int nr_options)
{
	(void)jit_options, (void)jit_values, (void)nr_jit;
	(void)options, (void)values, (void)nr_options;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(load(VTS_HANDLE_LIBRARY, (uintptr_t *)out, image));
}

CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, int *jit_options,
			       void **jit_values, unsigned int nr_jit, int *options, void **values,
			       unsigned int nr_options)
{
	(void)jit_options, (void)jit_values, (void)nr_jit;
	(void)options, (void)values, (void)nr_options;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(load_file(VTS_HANDLE_LIBRARY, (uintptr_t *)out, path));
}

CUresult cuLibraryUnload(CUlibrary library)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(unload(VTS_HANDLE_LIBRARY, (uintptr_t)library));
}

CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(
		get_function(VTS_HANDLE_LIBRARY, (uintptr_t)library, name, (uintptr_t *)out));
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
	struct module *library;
	CUresult result = CUDA_SUCCESS;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	library = vts_handles_find(VTS_HANDLE_LIBRARY, (uintptr_t)handle);
	if (!out || !library)
		return vts_call_leave(out ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	if (!library->as_module)
		result = load(VTS_HANDLE_MODULE, &library->as_module, "");
	*out = (CUmodule)library->as_module;
	return vts_call_leave(result);
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size_bytes, CUlibrary library,
			    const char *name)
{
	(void)address, (void)size_bytes;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!vts_handles_find(VTS_HANDLE_LIBRARY, (uintptr_t)library) || !name)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(CUDA_ERROR_NOT_FOUND);
}

/* A kernel and its function are one handle, as programs that cast one to the other expect. */
CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!out || !find_function((uintptr_t)kernel))
		return vts_call_leave(out ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*out = (CUfunction)(uintptr_t)kernel;
	return vts_call_leave(CUDA_SUCCESS);
}

static CUresult get_name(const char **out, uintptr_t handle)
{
	const struct vts_function *function = find_function(handle);

	if (!out || !function)
		return out ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	*out = function->name;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **out, CUkernel kernel)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(get_name(out, (uintptr_t)kernel));
}

CUresult cuFuncGetName(const char **out, CUfunction function)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(get_name(out, (uintptr_t)function));
}

CUresult cuFuncGetModule(CUmodule *out, CUfunction handle)
{
	const struct vts_function *function;

	VTS_ENTER(VTS_NEEDS_INIT);
	function = find_function((uintptr_t)handle);
	if (!out || !function)
		return vts_call_leave(out ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*out = (CUmodule)function->owner;
	return vts_call_leave(CUDA_SUCCESS);
}

/* Registers and shared memory of a kernel are in its image; these are an average one's. */
static CUresult get_attribute(int *out, CUfunction_attribute attribute, uintptr_t handle)
{
	const struct vts_function *function = find_function(handle);

	if (!out || !function || (unsigned int)attribute > 15)
		return function ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*out = 1024;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*out = (int)function->local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*out = 32;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*out = vts_profile_get()->capability;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*out = function->max_dynamic_shared_bytes ? function->max_dynamic_shared_bytes :
							    49152;
		break;
	default:
		*out = 0;
		break;
	}
	return CUDA_SUCCESS;
}

static CUresult set_attribute(uintptr_t handle, CUfunction_attribute attribute, int value)
{
	struct vts_function *function = find_function(handle);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 ||
		    (uint64_t)value > vts_profile_get()->shared_per_block_optin_bytes)
			return CUDA_ERROR_INVALID_VALUE;
		function->max_dynamic_shared_bytes = value;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *out, CUfunction_attribute attribute, CUfunction function)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(get_attribute(out, attribute, (uintptr_t)function));
}

CUresult cuKernelGetAttribute(int *out, CUfunction_attribute attribute, CUkernel kernel,
			      CUdevice device)
{
	(void)device;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(get_attribute(out, attribute, (uintptr_t)kernel));
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(set_attribute((uintptr_t)function, attribute, value));
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
			      CUdevice device)
{
	(void)device;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(set_attribute((uintptr_t)kernel, attribute, value));
}

static CUresult check_function(uintptr_t handle)
{
	return find_function(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
	(void)config, (void)device;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(check_function((uintptr_t)kernel));
}

CUresult cuFuncSetCacheConfig(CUfunction function, int config)
{
	(void)config;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(check_function((uintptr_t)function));
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, int config)
{
	(void)config;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(check_function((uintptr_t)function));
}

CUresult cuFuncLoad(CUfunction function)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(check_function((uintptr_t)function));
}

CUresult cuFuncIsLoaded(int *state, CUfunction function)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!state)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*state = 1;
	return vts_call_leave(check_function((uintptr_t)function));
}
