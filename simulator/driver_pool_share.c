/* SPDX-License-Identifier: MIT */
/*
 * Pools between processes: an exported pool is a file descriptor, an exported pointer a ticket with
 * its size.  What is imported has an address and a life, no contents, and is charged to nobody
 * here.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_device.h"
#include "simulator/driver_live.h"
#include "simulator/driver_pool.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POOL_MAGIC    0x7674706f6fULL
#define POINTER_MAGIC 0x7674707472ULL

struct ticket {
	uint64_t magic;
	uint64_t value;	/* of a pool the device, of a pointer the size */
};

CUresult cuMemPoolExportToShareableHandle(void *shareable, CUmemoryPool handle,
					  CUmemAllocationHandleType type, unsigned long long flags)
{
	struct ticket ticket = { .magic = POOL_MAGIC };
	const struct vts_pool *pool;
	int fd;

	VTS_ENTER(VTS_NEEDS_INIT);
	pool = vts_pool_find(handle);
	if (!shareable || !pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	ticket.value = (uint64_t)pool->arena.device;
	fd = memfd_create("vtrace-simulator-pool", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, &ticket, sizeof(ticket), 0) != sizeof(ticket)) {
		if (fd >= 0)
			close(fd);
		return vts_call_leave(CUDA_ERROR_OPERATING_SYSTEM);
	}
	*(int *)shareable = fd;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *shareable,
					    CUmemAllocationHandleType type,
					    unsigned long long flags)
{
	struct vts_pool *pool;
	struct ticket ticket;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    pread((int)(intptr_t)shareable, &ticket, sizeof(ticket), 0) != sizeof(ticket) ||
	    ticket.magic != POOL_MAGIC || !vts_device_at((CUdevice)ticket.value))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	pool = vts_pool_new((CUdevice)ticket.value);
	if (!pool)
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*out = pool->handle;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr address)
{
	struct ticket ticket = { .magic = POINTER_MAGIC };
	const struct vts_range *range;

	VTS_ENTER(VTS_NEEDS_INIT);
	range = vts_live_find_start(address);
	if (!out || !range || range->kind != VTS_KIND_POOL)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	ticket.value = range->size_bytes;
	memset(out, 0, sizeof(*out));
	memcpy(out, &ticket, sizeof(ticket));
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool handle,
				CUmemPoolPtrExportData *exported)
{
	struct vts_range range = { .kind = VTS_KIND_IPC };
	const struct vts_pool *pool;
	struct ticket ticket;
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	pool = vts_pool_find(handle);
	if (!address || !pool || !exported)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	memcpy(&ticket, exported, sizeof(ticket));
	if (ticket.magic != POINTER_MAGIC)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	range.size_bytes = ticket.value;
	range.device = pool->arena.device;
	range.handle = (uintptr_t)handle;
	result = vts_live_alloc(&range);
	if (!result)
		*address = range.start;
	return vts_call_leave(result);
}
