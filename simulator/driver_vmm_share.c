/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory between processes and devices: handles as file descriptors, multicast objects.  A
 * descriptor tells size and device; contents are not shared, and what is imported is charged to
 * nobody here.
 */
#include "simulator/driver_call.h"
#include "simulator/driver_device.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_live.h"
#include "simulator/driver_space.h"
#include "simulator/driver_vmm.h"

#include <sys/mman.h>
#include <unistd.h>

#define TICKET_MAGIC 0x7674766d6dULL

/* What stands in the file behind an exported descriptor. */
struct ticket {
	uint64_t magic;
	uint64_t size_bytes;
	CUmemAllocationProp properties;
};

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags)
{
	struct ticket ticket = { .magic = TICKET_MAGIC };
	const struct vts_physical *physical;
	int fd;

	VTS_ENTER(VTS_NEEDS_INIT);
	physical = vts_vmm_find(handle);
	if (!shareable || !physical || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(physical->properties.requestedHandleTypes & type))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	ticket.size_bytes = physical->size_bytes;
	ticket.properties = physical->properties;
	fd = memfd_create("vtrace-simulator-memory", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, &ticket, sizeof(ticket), 0) != sizeof(ticket)) {
		if (fd >= 0)
			close(fd);
		return vts_call_leave(CUDA_ERROR_OPERATING_SYSTEM);
	}
	*(int *)shareable = fd;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
					CUmemAllocationHandleType type)
{
	struct vts_physical physical = { .is_foreign = 1 };
	struct ticket ticket;
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    pread((int)(intptr_t)shareable, &ticket, sizeof(ticket), 0) != sizeof(ticket) ||
	    ticket.magic != TICKET_MAGIC)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	physical.size_bytes = ticket.size_bytes;
	physical.properties = ticket.properties;
	physical.device = ticket.properties.location.id;
	result = vts_vmm_new(&physical, "imported");
	if (!result)
		*handle = physical.handle;
	return vts_call_leave(result);
}

CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *properties,
				   int option)
{
	(void)option;
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!granularity || !properties)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*granularity = VTS_SPACE_GRANULE;
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle,
			   const CUmulticastObjectProp *properties)
{
	struct vts_physical physical = { .is_foreign = 1, .is_multicast = 1 };
	CUresult result;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!handle || !properties || !properties->numDevices || !properties->size ||
	    properties->size % VTS_SPACE_GRANULE)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	physical.size_bytes = properties->size;
	result = vts_vmm_new(&physical, "multicast");
	if (!result)
		*handle = physical.handle;
	return vts_call_leave(result);
}

static struct vts_physical *find_object(CUmemGenericAllocationHandle handle)
{
	struct vts_physical *physical = vts_vmm_find(handle);

	return physical && physical->is_multicast ? physical : NULL;
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(find_object(handle) && vts_device_at(device) ?
				      CUDA_SUCCESS :
				      CUDA_ERROR_INVALID_VALUE);
}

static void write_ledger(const char *op, uint64_t object, uint64_t size_bytes, uint64_t what)
{
	struct vts_ledger_entry entry = {
		.op = op,
		.kind = "multicast",
		.pointer = object,
		.size_bytes = size_bytes,
		.handle = what,
		.device = -1,
	};

	vts_ledger_write(&entry);
}

/* That the memory is there and the piece inside the object is all that is looked at. */
static CUresult bind(CUmemGenericAllocationHandle handle, size_t at, int is_there, uint64_t what,
		     size_t size_bytes)
{
	const struct vts_physical *object = find_object(handle);

	if (!object || !is_there || !size_bytes || at > object->size_bytes ||
	    size_bytes > object->size_bytes - at)
		return CUDA_ERROR_INVALID_VALUE;
	write_ledger("bind", handle, size_bytes, what);
	return CUDA_SUCCESS;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle object, size_t at,
			    CUmemGenericAllocationHandle memory, size_t offset, size_t size_bytes,
			    unsigned long long flags)
{
	(void)offset, (void)flags;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(bind(object, at, !!vts_vmm_find(memory), memory, size_bytes));
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle object, size_t at, CUdeviceptr memory,
			     size_t size_bytes, unsigned long long flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(bind(object, at, !!vts_live_find(memory), memory, size_bytes));
}

/* The device is the one of the memory that is bound. */
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
			       CUmemGenericAllocationHandle memory, size_t offset,
			       size_t size_bytes, unsigned long long flags)
{
	(void)device, (void)offset, (void)flags;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(bind(object, at, !!vts_vmm_find(memory), memory, size_bytes));
}

CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
				CUdeviceptr memory, size_t size_bytes, unsigned long long flags)
{
	(void)device, (void)flags;
	VTS_ENTER(VTS_NEEDS_INIT);
	return vts_call_leave(bind(object, at, !!vts_live_find(memory), memory, size_bytes));
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle object, CUdevice device, size_t at,
			   size_t size_bytes)
{
	(void)device;
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!find_object(object))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	write_ledger("unbind", object, size_bytes, at);
	return vts_call_leave(CUDA_SUCCESS);
}
