/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_REAL_H
#define VT_PRELOAD_REAL_H

/*
 * Addresses of the real functions.  The only caller of dlsym, dlvsym, dlopen and dlerror: this
 * library defines dlsym itself, so writing dlsym(...) anywhere else would call our own hook.
 *
 * A real address is learnt once per function and process: from the pointer that a look-up returned
 * (vt_real_route), or, for a caller that is linked to the driver, from the next object in search
 * order.
 *
 * Threads: any.  No lock of ours is held.  errno is left as it was.  An error of the loader that
 * the program has not asked for yet stays one: that a symbol is missing in the program or in the
 * global scope with the same text, any other inside the text of an error of this library.  No path
 * of the program's is ever opened for that.
 */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* Looks a symbol up; the type of dlsym. */
typedef void *(*vt_real_dlsym_fn)(void *handle, const char *name);

/*
 * Driver functions that are called but not hooked: pure queries.  The last is in our simulated
 * driver only.
 */
#define VT_REAL_QUERIES(X)                                                                         \
	X(cuCtxGetDevice)                                                                          \
	X(cuCtxGetCurrent)                                                                         \
	X(cuMemGetAddressRange_v2)                                                                 \
	X(cuDeviceGetCount)                                                                        \
	X(cuDeviceGetName)                                                                         \
	X(cuDeviceTotalMem_v2)                                                                     \
	X(cuDeviceGetUuid_v2)                                                                      \
	X(cuDeviceGetUuid)                                                                         \
	X(cuDeviceGetAttribute)                                                                    \
	X(cuDriverGetVersion)                                                                      \
	X(cuDeviceGetMemPool)                                                                      \
	X(cuThreadExchangeStreamCaptureMode)                                                       \
	X(cuStreamGetCaptureInfo_v2)                                                               \
	X(cuStreamIsCapturing)                                                                     \
	X(vts_is_simulated)

/* Driver functions that are hooked although they touch no memory. */
#define VT_REAL_LOADERS(X)                                                                         \
	X(cuGetProcAddress)                                                                        \
	X(cuGetProcAddress_v2)

enum vt_real_function {
#define VT_CUDA_API(id, name, version, kind, op) VT_REAL_##name,
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
#define VT_REAL_ROW(name) VT_REAL_##name,
	VT_REAL_LOADERS(VT_REAL_ROW)
	VT_REAL_HOOKED,		/* everything above has a hook */
	VT_REAL_BEFORE_QUERIES = VT_REAL_HOOKED - 1,
	VT_REAL_QUERIES(VT_REAL_ROW)
#undef VT_REAL_ROW
	VT_REAL_COUNT,
};

/* What cuda_api.def says of a function that touches memory; kind and op are 0 for the others. */
struct vt_real_api {
	const char *name;	/* exact symbol */
	uint16_t id;
	uint16_t kind;		/* enum vt_kind */
	uint16_t op;		/* enum vt_op */
};
const struct vt_real_api *vt_real_api(enum vt_real_function function);

/* The hooked function of that exact name, or -1. */
int vt_real_by_name(const char *name);

/*
 * The real address of a driver function, resolving it now if need be; NULL if the process has none.
 */
void *vt_real_find(enum vt_real_function function);
/*
 * Calls a real driver function, of cuda_calls.h, if the driver has it; what that leaves in errno is
 * not what the program's own call left there.
 */
#define VT_REAL_CALL(name, ...) __extension__({                                                    \
	__typeof__(&name) call_ = (__typeof__(&name))vt_real_find(VT_REAL_##name);                 \
	int saved_ = errno;                                                                        \
	CUresult result_ = call_ ? call_(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND;                      \
	errno = saved_;                                                                            \
	result_;                                                                                   \
})
/* Whether it was learnt already; asks nobody, so that no lock of the loader is taken. */
int vt_real_is_known(enum vt_real_function function);

/*
 * The next dlsym in search order: another preloaded library's if there is one, else libc's.
 * Chained, never skipped, because a library that limits memory may be behind us.  The assembly shim
 * reads the variable.
 */
extern vt_real_dlsym_fn vt_real_next_dlsym;
vt_real_dlsym_fn vt_real_init_dlsym(void);

/* The same for dlopen.  dlopen.S reads the variable. */
typedef void *(*vt_real_dlopen_fn)(const char *path, int flags);
extern vt_real_dlopen_fn vt_real_next_dlopen;
vt_real_dlopen_fn vt_real_init_dlopen(void);

/* The next _exit; NULL: none was found. */
typedef void (*vt_real_exit_fn)(int status);
vt_real_exit_fn vt_real_next_exit(void);

/* libc's own, whoever overrides it. */
vt_real_dlsym_fn vt_real_libc_dlsym(void);

/*
 * Which hooked driver function `address` is, or -1.  Takes note of the object that holds the
 * address on first sight: pins it in memory and learns which of its addresses are the hooked
 * functions'.  An address that is ours, belongs to a second driver in the process, or to an object
 * that is not one, gives -1.
 */
int vt_real_route(const void *address);

/* The same of an address that was learnt already, -1 for any other.  Takes no lock. */
int vt_real_known(const void *address);

/* Whether that path is one of the driver's own objects. */
int vt_real_is_driver_name(const char *path);

/*
 * Whether `address` lies in the driver's own objects (libcuda*, libnvidia-*); such callers are not
 * hooked.
 */
int vt_real_is_driver_caller(const void *address);

/* Whether `address` lies in this library. */
int vt_real_is_own(const void *address);

/*
 * Finds the loaded object whose file name starts with `prefix` ("libc10.so") and looks `symbol` up
 * in it with the real dlsym.  Returns NULL if either is missing.  Slow (walks all objects): cache
 * the result.
 */
void *vt_real_symbol_in(const char *prefix, const char *symbol);

/*
 * The same in the object that holds `address`, the caller of a hook: where it would have been found
 * without us, whatever that object's name is and whatever scope it was loaded into.
 */
void *vt_real_symbol_beside(const void *address, const char *symbol);

/* Looks `symbol` up in the global scope, the program itself included: where an interpreter is. */
void *vt_real_symbol_global(const char *symbol);

/*
 * The same by "next in search order after this library": for functions that we interpose ourselves.
 */
void *vt_real_symbol_next(const char *symbol);

/* Absolute path of libvtrace.so, found on the first call; "" if it is not known. */
const char *vt_real_own_path(void);

#endif
