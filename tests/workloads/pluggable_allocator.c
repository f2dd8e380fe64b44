/* SPDX-License-Identifier: MIT */
/* An allocator for torch.cuda.memory.CUDAPluggableAllocator: the runtime's, without any cache. */
#include <stddef.h>
#include <sys/types.h>

/* Of the runtime that PyTorch has loaded. */
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);

__attribute__((visibility("default"))) void *plain_alloc(ssize_t size, int device, void *stream);
__attribute__((visibility("default"))) void plain_free(void *pointer, ssize_t size, int device,
						       void *stream);

void *plain_alloc(ssize_t size, int device, void *stream)
{
	void *pointer = NULL;

	(void)device;
	(void)stream;
	return cudaMalloc(&pointer, (size_t)size) ? NULL : pointer;
}

void plain_free(void *pointer, ssize_t size, int device, void *stream)
{
	(void)size;
	(void)device;
	(void)stream;
	cudaFree(pointer);
}
