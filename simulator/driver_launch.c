/* SPDX-License-Identifier: MIT */
/* Launches do nothing but check their arguments; occupancy goes by the limits of the profile. */
#include "simulator/driver_call.h"
#include "simulator/driver_capture.h"
#include "simulator/driver_function.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_local.h"
#include "simulator/driver_profile.h"

#include <string.h>

#define MAX_BLOCK_THREADS 1024
#define TENSOR_MAP_BYTES  128

static CUresult launch(CUfunction function, CUstream stream, const unsigned int *grid,
		       const unsigned int *block, uint64_t shared_bytes)
{
	const struct vts_function *kernel =
		vts_handles_find(VTS_HANDLE_FUNCTION, (uintptr_t)function);
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
	CUresult result;

	if (!kernel || !vts_stream_is_valid(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!grid[0] || !grid[1] || !grid[2] || !threads || threads > MAX_BLOCK_THREADS ||
	    shared_bytes > vts_profile_get()->shared_per_block_optin_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	result = vts_local_reserve(kernel->local_bytes);
	if (result)
		return result;
	return vts_capture_node(stream, CU_GRAPH_NODE_TYPE_KERNEL, &result) ? result :
									      CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
			unsigned int grid_z, unsigned int block_x, unsigned int block_y,
			unsigned int block_z, unsigned int shared_bytes, CUstream stream,
			void **arguments, void **extra)
{
	const unsigned int grid[] = { grid_x, grid_y, grid_z };
	const unsigned int block[] = { block_x, block_y, block_z };

	(void)arguments, (void)extra;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(launch(function, stream, grid, block, shared_bytes));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
			  void **extra)
{
	(void)arguments, (void)extra;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!config)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(launch(function, config->hStream, &config->gridDimX,
				     &config->blockDimX, config->sharedMemBytes));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
				   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
				   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
				   void **arguments)
{
	const unsigned int grid[] = { grid_x, grid_y, grid_z };
	const unsigned int block[] = { block_x, block_y, block_z };

	(void)arguments;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(launch(function, stream, grid, block, shared_bytes));
}

/* Only threads and block slots limit: registers and shared memory of a kernel are not known. */
static int blocks_per_sm(int block_size)
{
	const struct vt_card_profile *profile = vts_profile_get();
	int blocks = profile->max_threads_per_sm / block_size;

	if (blocks > profile->max_blocks_per_sm)
		blocks = profile->max_blocks_per_sm;
	return blocks > 0 ? blocks : 1;
}

static CUresult max_active(int *blocks, CUfunction function, int block_size)
{
	if (!blocks || block_size <= 0 || block_size > MAX_BLOCK_THREADS)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vts_handles_find(VTS_HANDLE_FUNCTION, (uintptr_t)function))
		return CUDA_ERROR_INVALID_HANDLE;
	*blocks = blocks_per_sm(block_size);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
						     int block_size, size_t shared_bytes)
{
	(void)shared_bytes;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(max_active(blocks, function, block_size));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
							      int block_size, size_t shared_bytes,
							      unsigned int flags)
{
	(void)shared_bytes, (void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(max_active(blocks, function, block_size));
}

static CUresult max_potential(int *grid, int *block, CUfunction function, int limit)
{
	if (!grid || !block)
		return CUDA_ERROR_INVALID_VALUE;
	if (!vts_handles_find(VTS_HANDLE_FUNCTION, (uintptr_t)function))
		return CUDA_ERROR_INVALID_HANDLE;
	*block = limit > 0 && limit < MAX_BLOCK_THREADS ? limit : MAX_BLOCK_THREADS;
	*grid = vts_profile_get()->nr_sms * blocks_per_sm(*block);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
					  CUoccupancyB2DSize shared_of_block, size_t shared_bytes,
					  int limit)
{
	(void)shared_of_block, (void)shared_bytes;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(max_potential(grid, block, function, limit));
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
						   CUoccupancyB2DSize shared_of_block,
						   size_t shared_bytes, int limit,
						   unsigned int flags)
{
	(void)shared_of_block, (void)shared_bytes, (void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(max_potential(grid, block, function, limit));
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int nr_blocks,
						 int block_size)
{
	(void)function, (void)block_size;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!bytes || nr_blocks <= 0)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*bytes = vts_profile_get()->shared_per_block_optin_bytes / (size_t)nr_blocks;
	return vts_call_leave(CUDA_SUCCESS);
}

/* 8: the largest portable cluster. */
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
					    const CUlaunchConfig *config)
{
	(void)function, (void)config;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!size)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*size = 8;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveClusters(int *nr, CUfunction function, const CUlaunchConfig *config)
{
	(void)function, (void)config;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!nr)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*nr = vts_profile_get()->nr_sms / 8;
	return vts_call_leave(CUDA_SUCCESS);
}

/* The linker's output is an empty image, which loads like any other. */
static const char LINKED_IMAGE[8];

CUresult cuLinkCreate_v2(unsigned int nr_options, int *options, void **values, CUlinkState *out)
{
	static char state;

	(void)nr_options, (void)options, (void)values;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!out)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*out = (CUlinkState)vts_handles_new(VTS_HANDLE_LINK, &state);
	return vts_call_leave(*out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

static CUresult check_link(CUlinkState link)
{
	return vts_handles_find(VTS_HANDLE_LINK, (uintptr_t)link) ? CUDA_SUCCESS :
								    CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkAddData_v2(CUlinkState link, int type, void *data, size_t size_bytes,
			  const char *name, unsigned int nr_options, int *options, void **values)
{
	(void)type, (void)data, (void)size_bytes, (void)name;
	(void)nr_options, (void)options, (void)values;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(check_link(link));
}

CUresult cuLinkAddFile_v2(CUlinkState link, int type, const char *path, unsigned int nr_options,
			  int *options, void **values)
{
	(void)type, (void)path, (void)nr_options, (void)options, (void)values;
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(check_link(link));
}

CUresult cuLinkComplete(CUlinkState link, void **image, size_t *size_bytes)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (image)
		*image = (void *)(uintptr_t)LINKED_IMAGE;
	if (size_bytes)
		*size_bytes = sizeof(LINKED_IMAGE);
	return vts_call_leave(check_link(link));
}

CUresult cuLinkDestroy(CUlinkState link)
{
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	result = check_link(link);
	vts_handles_drop(VTS_HANDLE_LINK, (uintptr_t)link);
	return vts_call_leave(result);
}

CUresult cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
				const uint64_t *sizes, const uint64_t *strides,
				const uint32_t *box, const uint32_t *element_strides,
				int interleave, int swizzle, int promotion, int fill)
{
	(void)type, (void)rank, (void)address, (void)sizes, (void)strides, (void)box;
	(void)element_strides, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (!map)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	memset(map, 0, TENSOR_MAP_BYTES);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuProfilerStart(void)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuProfilerStop(void)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(CUDA_SUCCESS);
}
