/* SPDX-License-Identifier: MIT */
/* Kernel launches: they reach the driver, which counts and captures them, and computes nothing. */
#include "module.h"

#include <string.h>

enum {
	MAX_PUSHED = 16,
	MISSING_CONFIGURATION = 52,
	INVALID_CONFIGURATION = 9,
	/* What an ordinary kernel could report; clients size grids with it. */
	KERNEL_MAX_THREADS = 1024,
	KERNEL_REGISTERS = 32,
	RESIDENT_THREADS = 2048,
};

struct dimensions {
	unsigned int x, y, z;
};

struct configuration {
	struct dimensions grid, block;
	size_t shared_bytes;
	void *stream;
};

/* The part of cudaLaunchConfig_t before its attributes. */
struct launch_config {
	struct dimensions grid, block;
	size_t shared_bytes;
	void *stream;
	void *attributes;
	unsigned int nr_attributes;
};

/* cudaFuncAttributes: 144 bytes in both runtimes. */
struct function_attributes {
	size_t shared_bytes, constant_bytes, local_bytes;
	int max_threads_per_block;
	int nr_registers;
	int ptx_version, binary_version;
	int cache_mode;
	int max_dynamic_shared_bytes;
	int preferred_carveout;
	int rest[23];
};
_Static_assert(sizeof(struct function_attributes) == 144, "cudaFuncAttributes");

static __thread struct {
	struct configuration stack[MAX_PUSHED];
	unsigned int depth;
} pushed;

/* What "kernel<<<grid, block>>>(...)" expands to: push, then the stub pops and launches. */
unsigned int __cudaPushCallConfiguration(struct dimensions grid, struct dimensions block,
					 size_t shared_bytes, void *stream);
VTS_EXPORT unsigned int __cudaPushCallConfiguration(struct dimensions grid, struct dimensions block,
						    size_t shared_bytes, void *stream)
{
	struct configuration configuration = {grid, block, shared_bytes, stream};

	if (pushed.depth == MAX_PUSHED)
		return 1;
	pushed.stack[pushed.depth++] = configuration;
	return 0;
}

ENTRY(__cudaPopCallConfiguration, struct dimensions *grid, struct dimensions *block,
      size_t *shared_bytes, void *stream)
{
	struct configuration *top;

	if (!pushed.depth)
		return vts_error_set(MISSING_CONFIGURATION);
	top = &pushed.stack[--pushed.depth];
	*grid = top->grid;
	*block = top->block;
	*shared_bytes = top->shared_bytes;
	memcpy(stream, &top->stream, sizeof(top->stream));
	return VTS_SUCCESS;
}

static int is_empty(struct dimensions size)
{
	return !size.x || !size.y || !size.z;
}

static int launch(const struct vts_driver *driver, void *kernel, struct dimensions grid,
		  struct dimensions block, void **arguments, size_t shared_bytes, void *stream)
{
	if (is_empty(grid) || is_empty(block))
		return INVALID_CONFIGURATION;
	return VTS_CALL_OF(driver, cuLaunchKernel, kernel, grid.x, grid.y, grid.z, block.x, block.y,
			   block.z, (unsigned int)shared_bytes, stream, arguments, NULL);
}

static int launch_by_address(const struct vts_driver *driver, const void *host,
			     struct dimensions grid, struct dimensions block, void **arguments,
			     size_t shared_bytes, void *stream)
{
	void *kernel = NULL;
	int error = vts_context_enter() ?: vts_module_kernel(host, &kernel);

	return vts_error_set(
		error ?: launch(driver, kernel, grid, block, arguments, shared_bytes, stream));
}

static int launch_kernel(const struct vts_driver *driver, void *kernel, struct dimensions grid,
			 struct dimensions block, void **arguments, size_t shared_bytes,
			 void *stream)
{
	int error = vts_context_enter();

	if (!error)
		error = launch(driver, kernel, grid, block, arguments, shared_bytes, stream);
	return vts_error_set(error);
}

static int launch_config(const struct vts_driver *driver, const struct launch_config *config,
			 const void *host, void **arguments)
{
	return launch_by_address(driver, host, config->grid, config->block, arguments,
				 config->shared_bytes, config->stream);
}

/* clang-format off */
ENTRY_PER_STREAM(cudaLaunchKernel, _ptsz, launch_by_address,
	(const void *host, struct dimensions grid, struct dimensions block, void **arguments,
	 size_t shared_bytes, void *stream),
	(driver, host, grid, block, arguments, shared_bytes, stream))
ENTRY_PER_STREAM(cudaLaunchCooperativeKernel, _ptsz, launch_by_address,
	(const void *host, struct dimensions grid, struct dimensions block, void **arguments,
	 size_t shared_bytes, void *stream),
	(driver, host, grid, block, arguments, shared_bytes, stream))
ENTRY_PER_STREAM(__cudaLaunchKernel, _ptsz, launch_kernel,
	(void *kernel, struct dimensions grid, struct dimensions block, void **arguments,
	 size_t shared_bytes, void *stream),
	(driver, kernel, grid, block, arguments, shared_bytes, stream))
ENTRY_PER_STREAM(cudaLaunchKernelExC, _ptsz, launch_config,
	(const struct launch_config *config, const void *host, void **arguments),
	(driver, config, host, arguments))
/* clang-format on */

ENTRY(cudaFuncGetAttributes, struct function_attributes *answer, const void *host)
{
	enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, MAX_SHARED_OPTIN = 97 };
	int device = 0, major = 0, minor = 0, shared = 0;
	int error = vts_context_enter() ?: vts_context_device(&device);
	struct vts_code code;

	if (error)
		return vts_error_set(error);
	VTS_CALL(cuDeviceGetAttribute, &major, CAPABILITY_MAJOR, device);
	VTS_CALL(cuDeviceGetAttribute, &minor, CAPABILITY_MINOR, device);
	VTS_CALL(cuDeviceGetAttribute, &shared, MAX_SHARED_OPTIN, device);
	memset(answer, 0, sizeof(*answer));
	answer->max_threads_per_block = KERNEL_MAX_THREADS;
	answer->nr_registers = KERNEL_REGISTERS;
	/* Clients choose their launch parameters by it (CUB), from those they were compiled for. */
	code = vts_module_code(host, major * 10 + minor);
	answer->ptx_version = code.ptx_architecture;
	answer->binary_version = code.binary_architecture;
	answer->max_dynamic_shared_bytes = shared;
	return VTS_SUCCESS;
}

/* Settings of a kernel that computes nothing change nothing. */
ENTRY(cudaFuncSetAttribute, const void *host, int attribute, int value)
{
	(void)host, (void)attribute, (void)value;
	return VTS_SUCCESS;
}

ENTRY(cudaFuncSetCacheConfig, const void *host, int config)
{
	(void)host, (void)config;
	return VTS_SUCCESS;
}

ENTRY(cudaKernelSetAttributeForDevice, void *kernel, int attribute, int value, int device)
{
	(void)kernel, (void)attribute, (void)value, (void)device;
	return VTS_SUCCESS;
}

/* At least 1: clients divide by it and size cooperative grids with it. */
ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int *answer, const void *host,
      int block_size, size_t dynamic_shared_bytes, unsigned int flags)
{
	(void)host, (void)dynamic_shared_bytes, (void)flags;
	if (!answer || block_size <= 0)
		return vts_error_set(VTS_INVALID_VALUE);
	*answer = block_size < RESIDENT_THREADS ? RESIDENT_THREADS / block_size : 1;
	return VTS_SUCCESS;
}

ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *answer, const void *host, int block_size,
      size_t dynamic_shared_bytes)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(answer, host, block_size,
								      dynamic_shared_bytes, 0);
}
