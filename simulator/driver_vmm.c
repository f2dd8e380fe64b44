/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management.  Three resources with lives of their own: reservations (addresses
 * only), physical handles (counted: cuMemCreate and cuMemRetainAllocationHandle add a reference,
 * cuMemRelease drops one) and mappings.  A handle's memory goes when its last reference and its
 * last mapping are gone.
 *
 * The bytes belong to the mapping, not to the handle: they are lost at unmap, and two mappings of
 * one handle do not share them.
 */
#include "simulator/driver_vmm.h"

#include "simulator/driver_call.h"
#include "simulator/driver_device.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_live.h"
#include "simulator/driver_size.h"
#include "simulator/driver_space.h"

#include <stdlib.h>

#define GRANULARITY VTS_SPACE_GRANULE

static struct {
	struct vts_ranges reservations;
} g;

static void write_ledger(const char *op, const char *kind, uint64_t pointer, uint64_t size_bytes,
			 uint64_t handle, CUdevice device)
{
	struct vts_ledger_entry entry = {
		.op = op,
		.kind = kind,
		.pointer = pointer,
		.size_bytes = size_bytes,
		.handle = handle,
		.device = device,
	};

	vts_ledger_write(&entry);
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
				       CUmemAllocationGranularity_flags option)
{
	(void)option;
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!granularity || !properties)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*granularity = GRANULARITY;
	return vts_call_leave(CUDA_SUCCESS);
}

/*
 * A reservation has no device; the space of the first device is used, which programs cannot tell.
 */
CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size_bytes, size_t alignment,
			     CUdeviceptr wished, unsigned long long flags)
{
	struct vts_range range = { .size_bytes = size_bytes,
				   .span_bytes = size_bytes,
				   .kind = VTS_KIND_RESERVED,
				   .device = -1 };

	VTS_ENTER_SIZED(VTS_NEEDS_INIT, size_bytes);
	if (!address || !size_bytes || size_bytes % GRANULARITY || flags ||
	    (alignment & (alignment - 1)))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	range.start = vts_space_take(0, size_bytes, alignment, wished, 0);
	if (!range.start || vts_ranges_insert(&g.reservations, &range)) {
		if (range.start)
			vts_space_give_back(0, range.start);
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	*address = range.start;
	write_ledger("reserve", "address", range.start, size_bytes, 0, -1);
	return vts_call_leave(CUDA_SUCCESS);
}

static int has_mapping(CUdeviceptr start, uint64_t size_bytes)
{
	const struct vts_range *range;

	for (CUdeviceptr at = start; at < start + size_bytes; at += GRANULARITY) {
		range = vts_live_find(at);
		if (range && range->kind == VTS_KIND_MAPPING)
			return 1;
	}
	return 0;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size_bytes)
{
	struct vts_range *range;

	VTS_ENTER(VTS_NEEDS_INIT);
	range = vts_ranges_find_start(&g.reservations, address);
	if (!range || range->size_bytes != size_bytes || has_mapping(address, size_bytes)) {
		vts_ledger_count_bad_free(address);
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	}
	vts_ranges_remove(&g.reservations, range);
	vts_space_give_back(0, address);
	write_ledger("unreserve", "address", address, size_bytes, 0, -1);
	return vts_call_leave(CUDA_SUCCESS);
}

/* Of the ways to share with other processes there are file descriptors. */
static CUresult check_properties(const CUmemAllocationProp *properties, CUdevice *device)
{
	if (properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	*device = -1;
	if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return properties->location.type >= CU_MEM_LOCATION_TYPE_HOST &&
				       properties->location.type <=
					       CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ?
			       CUDA_SUCCESS :
			       CUDA_ERROR_INVALID_VALUE;
	*device = properties->location.id;
	return vts_device_at(*device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult vts_vmm_new(struct vts_physical *physical, const char *kind)
{
	const int is_charged = physical->device >= 0 && !physical->is_foreign;
	struct vts_physical *made;
	CUresult result = CUDA_SUCCESS;

	if (is_charged)
		result = vts_device_charge(physical->device, physical->size_bytes);
	if (result)
		return result;
	made = malloc(sizeof(*made));
	physical->handle = made ? vts_handles_new(VTS_HANDLE_MEMORY, made) : 0;
	if (!physical->handle) {
		free(made);
		if (is_charged)
			vts_device_discharge(physical->device, physical->size_bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	physical->nr_references = 1;
	*made = *physical;
	write_ledger("alloc", kind, physical->handle, physical->size_bytes, physical->handle,
		     physical->is_foreign ? -1 : physical->device);
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size_bytes,
		     const CUmemAllocationProp *properties, unsigned long long flags)
{
	struct vts_physical physical = { .size_bytes = size_bytes, .device = -1 };
	CUresult result;

	VTS_ENTER_SIZED(VTS_NEEDS_INIT, size_bytes);
	if (!handle || !properties || flags || !size_bytes || size_bytes % GRANULARITY)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	physical.properties = *properties;
	result = check_properties(properties, &physical.device);
	if (!result)
		result = vts_vmm_new(&physical, "vmm");
	if (!result)
		*handle = physical.handle;
	return vts_call_leave(result);
}

static void drop_if_unused(struct vts_physical *physical)
{
	if (physical->nr_references || physical->nr_mappings)
		return;
	if (physical->device >= 0 && !physical->is_foreign)
		vts_device_discharge(physical->device, physical->size_bytes);
	vts_handles_drop(VTS_HANDLE_MEMORY, physical->handle);
	write_ledger("gone", "vmm", physical->handle, physical->size_bytes, physical->handle,
		     physical->device);
	free(physical);
}

struct vts_physical *vts_vmm_find(CUmemGenericAllocationHandle handle)
{
	struct vts_physical *physical = vts_handles_find(VTS_HANDLE_MEMORY, (uintptr_t)handle);

	return physical && physical->nr_references ? physical : NULL;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct vts_physical *physical;

	VTS_ENTER(VTS_NEEDS_INIT);
	physical = vts_vmm_find(handle);
	if (!physical) {
		vts_ledger_count_bad_free(handle);
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	}
	physical->nr_references--;
	write_ledger("release", "vmm", handle, physical->size_bytes, handle, physical->device);
	drop_if_unused(physical);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	const struct vts_range *range;
	struct vts_physical *physical;

	VTS_ENTER(VTS_NEEDS_INIT);
	range = vts_live_find((uintptr_t)address);
	if (!handle || !range || range->kind != VTS_KIND_MAPPING)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	physical = vts_handles_find(VTS_HANDLE_MEMORY, (uintptr_t)range->handle);
	physical->nr_references++;
	*handle = physical->handle;
	write_ledger("retain", "vmm", physical->handle, physical->size_bytes, physical->handle,
		     physical->device);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
						CUmemGenericAllocationHandle handle)
{
	const struct vts_physical *physical;

	VTS_ENTER(VTS_NEEDS_INIT);
	physical = vts_vmm_find(handle);
	if (!properties || !physical)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*properties = physical->properties;
	return vts_call_leave(CUDA_SUCCESS);
}

static int is_in_one_reservation(CUdeviceptr start, uint64_t size_bytes)
{
	const struct vts_range *range = vts_ranges_find(&g.reservations, start);

	return range && size_bytes <= range->start + range->size_bytes - start;
}

CUresult cuMemMap(CUdeviceptr address, size_t size_bytes, size_t offset,
		  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct vts_range range = { .start = address,
				   .size_bytes = size_bytes,
				   .span_bytes = size_bytes,
				   .kind = VTS_KIND_MAPPING,
				   .handle = handle,
				   .offset = offset };
	struct vts_physical *physical;

	VTS_ENTER_SIZED(VTS_NEEDS_INIT, size_bytes);
	physical = vts_vmm_find(handle);
	if (!physical || flags || !size_bytes || address % GRANULARITY ||
	    size_bytes % GRANULARITY || offset || size_bytes > physical->size_bytes ||
	    !is_in_one_reservation(address, size_bytes))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	range.device = physical->device;
	if (vts_live_add(&range, handle))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	physical->nr_mappings++;
	return vts_call_leave(CUDA_SUCCESS);
}

/* [start, start + size) must be mappings from edge to edge. */
static int is_covered(CUdeviceptr start, uint64_t size_bytes, int needs_whole)
{
	CUdeviceptr at = start;

	while (at < start + size_bytes) {
		const struct vts_range *range = vts_live_find(at);

		if (!range || range->kind != VTS_KIND_MAPPING ||
		    (needs_whole && range->start != at))
			return 0;
		at = range->start + range->size_bytes;
	}
	return size_bytes && (!needs_whole || at == start + size_bytes);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size_bytes)
{
	VTS_ENTER(VTS_NEEDS_INIT);
	if (!is_covered(address, size_bytes, 1)) {
		vts_ledger_count_bad_free(address);
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	}
	vts_space_unback(address, size_bytes);
	for (CUdeviceptr at = address; at < address + size_bytes;) {
		struct vts_range *range = vts_live_find(at);
		struct vts_physical *physical =
			vts_handles_find(VTS_HANDLE_MEMORY, (uintptr_t)range->handle);

		at += range->size_bytes;
		vts_live_drop(range, "unmap", physical->handle);
		physical->nr_mappings--;
		drop_if_unused(physical);
	}
	return vts_call_leave(CUDA_SUCCESS);
}

/* What one device may do is what all may: only "somebody has access" is kept. */
CUresult cuMemSetAccess(CUdeviceptr address, size_t size_bytes, const CUmemAccessDesc *access,
			size_t nr_access)
{
	unsigned int flags = 0;

	VTS_ENTER(VTS_NEEDS_INIT);
	if (!access || !nr_access || address % GRANULARITY || !is_covered(address, size_bytes, 0))
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < nr_access; i++)
		flags |= access[i].flags;
	if (flags ? vts_space_back(address, size_bytes) : 0)
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	for (CUdeviceptr at = address; at < address + size_bytes;) {
		struct vts_range *range = vts_live_find(at);

		range->flags = flags;
		at = range->start + range->size_bytes;
	}
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
			CUdeviceptr address)
{
	const struct vts_range *range;

	VTS_ENTER(VTS_NEEDS_INIT);
	range = vts_live_find(address);
	if (!flags || !location || !range)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	if (range->kind == VTS_KIND_MAPPING)
		*flags = range->flags;
	return vts_call_leave(CUDA_SUCCESS);
}
