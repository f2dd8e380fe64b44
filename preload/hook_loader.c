/* SPDX-License-Identifier: MIT */
/*
 * The two look-ups of driver functions: dlsym (dlsym.S) and cuGetProcAddress, which libcudart asks
 * for some 440 functions.  Both ask the real look-up first and then compare the pointer that it
 * returned (real.h), so errors, versions, flags and status are the driver's own, and
 * cuGetProcAddress asked for itself yields the hook of the right signature.
 *
 * cuGetExportTable is not touched: cudart checks the addresses of those tables and refuses a driver
 * whose tables were replaced.
 */
#include "preload/loader.h"

#include <dlfcn.h>
#include <stddef.h>

#include "common/cuda_abi.h"
#include "preload/real.h"
#include "preload/torch_real.h"

/* Where each hooked function's hook is.  The library is linked with -Bsymbolic: these are ours. */
static void *const hooks[VT_REAL_HOOKED] = {
#define VT_CUDA_API(id, name, version, kind, op) [VT_REAL_##name] = (void *)name,
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
#define ROW(name) [VT_REAL_##name] = (void *)name,
	VT_REAL_LOADERS(ROW)
#undef ROW
};

void *vt_loader_hook(const void *address)
{
	int function = vt_real_known(address);

	return function < 0 ? NULL : hooks[function];
}

void *vt_loader_hook_of_name(const char *name)
{
	int function = vt_real_by_name(name);

	return function < 0 || !vt_real_is_known((enum vt_real_function)function) ?
		       NULL : hooks[function];
}

/*
 * The hook for a real address, or the address itself.  The driver's own libraries get the real
 * ones: on WSL libcuda.so.1 is a small loader that looks its functions up in the true driver, and a
 * hook would call it back for ever.
 */
static void *substitute(void *address, const void *caller)
{
	int function = vt_real_route(address);

	/* PyTorch is loaded before it looks for a driver, and holds no lock here. */
	vt_torch_real_prepare();
	if (function < 0 || vt_real_is_driver_caller(caller))
		return address;
	return hooks[function];
}

/* Our exported hooks must not make a driver appear that is not there. */
static int is_without_driver(const char *name)
{
	int function = vt_real_by_name(name);

	return function >= 0 && !vt_real_find((enum vt_real_function)function);
}

struct vt_loader_answer vt_loader_dlsym(void *handle, const char *name, const void *caller)
{
	const struct vt_loader_answer pass = { NULL, 0 };
	vt_real_dlsym_fn next = vt_real_init_dlsym();
	void *value;

	/*
	 * Look-ups that depend on the caller are passed on; in global scope our exports answer
	 * them.
	 */
	if (handle == RTLD_NEXT || (handle == RTLD_DEFAULT && !is_without_driver(name)))
		return pass;
	value = handle == RTLD_DEFAULT ? NULL : next(handle, name);
	if (value && !vt_real_is_own(value))
		value = substitute(value, caller);
	else if (handle == RTLD_DEFAULT || (value && is_without_driver(name)))
		/* "Not found", with the message of the loader itself. */
		value = next(RTLD_NEXT, name);
	return (struct vt_loader_answer){ value, 1 };
}

CUresult cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags)
{
	__typeof__(&cuGetProcAddress) real =
		(__typeof__(&cuGetProcAddress))vt_real_find(VT_REAL_cuGetProcAddress);
	CUresult result;

	if (!real)
		return CUDA_ERROR_NOT_INITIALIZED;
	result = real(symbol, address, version, flags);
	if (result == CUDA_SUCCESS && address)
		*address = substitute(*address, __builtin_return_address(0));
	return result;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	__typeof__(&cuGetProcAddress_v2) real =
		(__typeof__(&cuGetProcAddress_v2))vt_real_find(VT_REAL_cuGetProcAddress_v2);
	CUresult result;

	if (!real)
		return CUDA_ERROR_NOT_INITIALIZED;
	result = real(symbol, address, version, flags, status);
	if (result == CUDA_SUCCESS && address)
		*address = substitute(*address, __builtin_return_address(0));
	return result;
}
