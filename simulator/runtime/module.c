/* SPDX-License-Identifier: MIT */
/*
 * Device code: registration by the static initialisers that nvcc writes, and the kernel handles
 * behind it.
 *
 * M1  Registration touches neither the driver nor the device (a wheel registers tens of thousands
 * of functions while it is imported, perhaps on a machine that never uses them). M2  An image is
 * loaded as a driver library at the first use of one of its functions or variables. M3  The table
 * of host addresses only grows; entries never move, so that a pointer to one stays good.
 */
#include "module.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A fat binary as __cudaRegisterFatBinary hands it back; lives until the process ends. */
struct image {
	const void *data;
	void *library;
};

/* A kernel or variable, found by the address of its host-side shadow. */
struct symbol {
	struct symbol *next;
	const void *host;
	const char *name;
	struct image *image;
	size_t size_bytes; /* of a variable */
	void *kernel;
	uint64_t address;
};

enum { NR_BUCKETS = 1 << 15, SYMBOLS_PER_CHUNK = 4096 };

static struct {
	pthread_rwlock_t lock; /* guards buckets and chunk; not held while the driver is called */
	struct symbol *buckets[NR_BUCKETS];
	struct symbol *chunk;
	size_t chunk_used;
} g = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static size_t bucket_of(const void *host)
{
	/*
	 * Shadows are functions and variables of at least 16-byte spacing; Fibonacci hashing
	 * spreads them.
	 */
	return (size_t)(((uint64_t)(uintptr_t)host * 0x9E3779B97F4A7C15u) >> 49);
}

static void add_symbol(const void *host, const char *name, struct image *image, size_t size_bytes)
{
	struct symbol *symbol;

	pthread_rwlock_wrlock(&g.lock);
	if (!g.chunk || g.chunk_used == SYMBOLS_PER_CHUNK) {
		g.chunk = calloc(SYMBOLS_PER_CHUNK, sizeof(*g.chunk));
		g.chunk_used = 0;
	}
	if (g.chunk) {
		symbol = &g.chunk[g.chunk_used++];
		symbol->host = host;
		symbol->name = name;
		symbol->image = image;
		symbol->size_bytes = size_bytes;
		symbol->next = g.buckets[bucket_of(host)];
		g.buckets[bucket_of(host)] = symbol;
	}
	pthread_rwlock_unlock(&g.lock);
}

static struct symbol *find_symbol(const void *host)
{
	struct symbol *symbol;

	pthread_rwlock_rdlock(&g.lock);
	for (symbol = g.buckets[bucket_of(host)]; symbol && symbol->host != host;)
		symbol = symbol->next;
	pthread_rwlock_unlock(&g.lock);
	return symbol;
}

/* Two threads may load the same image at once: the loser's library is unloaded again. */
static int load_image(struct image *image, void **library)
{
	void *expected = NULL;
	int error;

	*library = __atomic_load_n(&image->library, __ATOMIC_ACQUIRE);
	if (*library)
		return VTS_SUCCESS;
	error = VTS_CALL(cuLibraryLoadData, library, image->data, NULL, NULL, 0, NULL, NULL, 0);
	if (error)
		return error;
	if (__atomic_compare_exchange_n(&image->library, &expected, *library, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return VTS_SUCCESS;
	VTS_CALL(cuLibraryUnload, *library);
	*library = expected;
	return VTS_SUCCESS;
}

int vts_module_kernel(const void *host, void **kernel)
{
	struct symbol *symbol = find_symbol(host);
	void *library;
	int error;

	if (!symbol)
		return VTS_INVALID_DEVICE_FUNCTION;
	*kernel = __atomic_load_n(&symbol->kernel, __ATOMIC_ACQUIRE);
	if (*kernel)
		return VTS_SUCCESS;
	error = load_image(symbol->image, &library);
	if (!error)
		error = VTS_CALL(cuLibraryGetKernel, kernel, library, symbol->name);
	if (!error)
		__atomic_store_n(&symbol->kernel, *kernel, __ATOMIC_RELEASE);
	return error;
}

struct vts_code vts_module_code(const void *host, int capability)
{
	struct symbol *symbol = find_symbol(host);

	return vts_fat_binary_code(symbol ? symbol->image->data : NULL, capability);
}

/*
 * The device memory of a variable, allocated at the first use; 13 (invalid symbol) for an unknown
 * address.
 */
static int find_variable(const void *host, uint64_t *address, size_t *size_bytes)
{
	enum { INVALID_SYMBOL = 13 };
	struct symbol *symbol = find_symbol(host);
	int error = VTS_SUCCESS;

	if (!symbol || !symbol->size_bytes)
		return INVALID_SYMBOL;
	/*
	 * The simulated driver knows no image's contents: the variable is memory of its registered
	 * size.
	 */
	if (!symbol->address)
		error = VTS_CALL(cuMemAllocManaged, &symbol->address, symbol->size_bytes, 1);
	*address = symbol->address;
	*size_bytes = symbol->size_bytes;
	return error;
}

/* The preloaded library's, where there is one (libraries/control.h). */
__attribute__((weak)) void vtrace_simulator_client_loads(void);

void **__cudaRegisterFatBinary(void *wrapper);
VTS_EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
	/* The wrapper: magic 0x466243b1, version, pointer to the image. */
	struct fat_binary {
		int magic, version;
		const void *data;
		void *file;
	};
	struct image *image = calloc(1, sizeof(*image));

	if (vtrace_simulator_client_loads)
		vtrace_simulator_client_loads();
	if (image)
		image->data = ((struct fat_binary *)wrapper)->data;
	return (void **)image;
}

void __cudaRegisterFatBinaryEnd(void **handle);
VTS_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

/*
 * Runs in the host's exit handlers, when symbols of the image may still be looked up: nothing is
 * freed.
 */
void __cudaUnregisterFatBinary(void **handle);
VTS_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

char __cudaInitModule(void **handle);
VTS_EXPORT char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int thread_limit, void *thread, void *block, void *block_size,
			    void *grid_size, int *warp_size);
VTS_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
				       const char *name, int thread_limit, void *thread,
				       void *block, void *block_size, void *grid_size,
				       int *warp_size)
{
	(void)device, (void)thread_limit, (void)thread, (void)block;
	(void)block_size, (void)grid_size, (void)warp_size;
	add_symbol(host, name, (struct image *)handle, 0);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
		       size_t size_bytes, int is_constant, int is_global);
VTS_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
				  int is_extern, size_t size_bytes, int is_constant, int is_global)
{
	(void)device, (void)is_extern, (void)is_constant, (void)is_global;
	add_symbol(host, name, (struct image *)handle, size_bytes);
}

ENTRY(__cudaGetKernel, void **kernel, const void *host)
{
	return vts_error_set(vts_context_enter() ?: vts_module_kernel(host, kernel));
}

ENTRY(cudaGetFuncBySymbol, void **function, const void *host)
{
	return vts_error_set(vts_context_enter() ?: vts_module_kernel(host, function));
}

ENTRY(cudaGetSymbolAddress, void **pointer, const void *host)
{
	uint64_t address = 0;
	size_t size_bytes;
	int error = vts_context_enter() ?: find_variable(host, &address, &size_bytes);

	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return vts_error_set(error);
}

ENTRY(cudaGetSymbolSize, size_t *answer, const void *host)
{
	uint64_t address;

	return vts_error_set(vts_context_enter() ?: find_variable(host, &address, answer));
}

ENTRY(cudaMemcpyToSymbol, const void *host, const void *from, size_t count, size_t offset,
      int direction)
{
	uint64_t address = 0;
	size_t size_bytes = 0;
	int error = vts_context_enter() ?: find_variable(host, &address, &size_bytes);

	(void)direction;
	if (!error && (offset > size_bytes || count > size_bytes - offset))
		error = VTS_INVALID_VALUE;
	if (!error && count)
		error = VTS_CALL(cuMemcpy, address + offset, (uint64_t)(uintptr_t)from, count);
	return vts_error_set(error);
}

ENTRY(cudaLibraryLoadData, void **library, const void *image, void *jit, void **jit_values,
      unsigned int jit_count, void *options, void **option_values, unsigned int option_count)
{
	return VTS_IN_CONTEXT(cuLibraryLoadData, library, image, jit, jit_values, jit_count,
			      options, option_values, option_count);
}

ENTRY(cudaLibraryLoadFromFile, void **library, const char *path, void *jit, void **jit_values,
      unsigned int jit_count, void *options, void **option_values, unsigned int option_count)
{
	return VTS_IN_CONTEXT(cuLibraryLoadFromFile, library, path, jit, jit_values, jit_count,
			      options, option_values, option_count);
}

ENTRY(cudaLibraryUnload, void *library)
{
	return VTS_IN_CONTEXT(cuLibraryUnload, library);
}

ENTRY(cudaLibraryGetKernel, void **kernel, void *library, const char *name)
{
	return VTS_IN_CONTEXT(cuLibraryGetKernel, kernel, library, name);
}

ENTRY(cudaLibraryGetGlobal, void **pointer, size_t *size_bytes, void *library, const char *name)
{
	uint64_t address = 0;
	int error = VTS_IN_CONTEXT(cuLibraryGetGlobal, &address, size_bytes, library, name);

	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return error;
}

ENTRY(cudaLibraryGetManaged, void **pointer, size_t *size_bytes, void *library, const char *name)
{
	uint64_t address = 0;
	int error = VTS_IN_CONTEXT(cuLibraryGetManaged, &address, size_bytes, library, name);

	if (!error)
		*pointer = (void *)(uintptr_t)address;
	return error;
}
