/* SPDX-License-Identifier: MIT */
/*
 * Memory of other processes (cuIpc*) and of other interfaces (external memory).  It has an address
 * and takes nothing of the device here: whoever allocated it is charged.  Its contents are not
 * shared, it reads as zeros; the exporting process need not be alive.
 */
#include "simulator/driver_array.h"
#include "simulator/driver_call.h"
#include "simulator/driver_handles.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_live.h"
#include "simulator/driver_scope.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IPC_MAGIC 0x7674697063ULL

/* What a CUipcMemHandle holds. */
struct ticket {
	uint64_t magic;
	uint64_t pid;
	uint64_t address;
	uint64_t size_bytes;
};

/* An opened one: opening it again gives the same address, to be closed once more. */
struct opened {
	struct ticket ticket;
	CUdeviceptr address;
	unsigned int nr_opened;
	struct opened *next;
};

struct external {
	uint64_t size_bytes;
};

static struct {
	struct opened *opened;
} g;

static void write_ledger(const char *op, const char *kind, uint64_t pointer, uint64_t size_bytes)
{
	struct vts_ledger_entry entry = {
		.op = op,
		.kind = kind,
		.pointer = pointer,
		.size_bytes = size_bytes,
		.device = -1,
	};

	vts_ledger_write(&entry);
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	const struct vts_range *range;
	struct ticket ticket;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	range = vts_live_find(address);
	if (!handle || !range || range->kind != VTS_KIND_DEVICE)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	ticket = (struct ticket){ IPC_MAGIC, (uint64_t)getpid(), range->start, range->size_bytes };
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &ticket, sizeof(ticket));
	return vts_call_leave(CUDA_SUCCESS);
}

/* Of the context that opens it, and released with that. */
static CUresult map(struct opened *opened)
{
	struct vts_range range = { .size_bytes = opened->ticket.size_bytes,
				   .kind = VTS_KIND_IPC,
				   .device = vts_scope_context()->device,
				   .context = vts_scope_context()->id };
	CUresult result = vts_live_alloc(&range);

	opened->address = range.start;
	return result;
}

static CUresult open_handle(CUdeviceptr *address, const CUipcMemHandle *handle)
{
	struct opened *opened;
	struct ticket ticket;
	CUresult result;

	memcpy(&ticket, handle, sizeof(ticket));
	if (!address || ticket.magic != IPC_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	if (ticket.pid == (uint64_t)getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	for (opened = g.opened; opened; opened = opened->next)
		if (!memcmp(&opened->ticket, &ticket, sizeof(ticket))) {
			opened->nr_opened++;
			*address = opened->address;
			write_ledger("retain", "ipc", *address, ticket.size_bytes);
			return CUDA_SUCCESS;
		}
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return CUDA_ERROR_OUT_OF_MEMORY;
	opened->ticket = ticket;
	opened->nr_opened = 1;
	result = map(opened);
	if (result) {
		free(opened);
		return result;
	}
	opened->next = g.opened;
	g.opened = opened;
	*address = opened->address;
	return CUDA_SUCCESS;
}

static CUresult close_handle(CUdeviceptr address)
{
	struct vts_range *range = vts_live_find_start(address);
	struct opened **link = &g.opened;
	struct opened *opened;

	while (*link && (*link)->address != address)
		link = &(*link)->next;
	opened = *link;
	if (!opened || !range || range->kind != VTS_KIND_IPC) {
		vts_ledger_count_bad_free(address);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (--opened->nr_opened) {
		write_ledger("release", "ipc", address, opened->ticket.size_bytes);
		return CUDA_SUCCESS;
	}
	vts_live_drop(range, "free", 0);
	*link = opened->next;
	free(opened);
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE);
	return vts_call_leave(open_handle(address, &handle));
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
	(void)flags;
	VTS_ENTER(VTS_NEEDS_CONTEXT | VTS_UNSAFE_IN_CAPTURE);
	return vts_call_leave(open_handle(address, &handle));
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	return vts_call_leave(close_handle(address));
}

static struct external *find(CUexternalMemory handle)
{
	return vts_handles_find(VTS_HANDLE_EXTERNAL, (uintptr_t)handle);
}

/* Any descriptor will do: what is behind it is not looked at. */
CUresult cuImportExternalMemory(CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *what)
{
	struct external *external;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!out || !what || !what->size)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	external = calloc(1, sizeof(*external));
	*out = external ? (CUexternalMemory)vts_handles_new(VTS_HANDLE_EXTERNAL, external) : NULL;
	if (!*out) {
		free(external);
		return vts_call_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	external->size_bytes = what->size;
	write_ledger("alloc", "external", (uintptr_t)*out, what->size);
	return vts_call_leave(CUDA_SUCCESS);
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory handle,
					 const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *what)
{
	struct vts_range range = { .kind = VTS_KIND_EXTERNAL };
	const struct external *external;
	CUresult result;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	external = find(handle);
	if (!address || !external || !what || !what->size ||
	    what->offset > external->size_bytes || what->size > external->size_bytes - what->offset)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	range.size_bytes = what->size;
	range.device = vts_scope_context()->device;
	range.context = vts_scope_context()->id;
	result = vts_live_alloc(&range);
	if (!result)
		*address = range.start;
	return vts_call_leave(result);
}

CUresult cuExternalMemoryGetMappedMipmappedArray(
	CUmipmappedArray *out, CUexternalMemory handle,
	const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *what)
{
	VTS_ENTER(VTS_NEEDS_CONTEXT);
	if (!out || !what || !find(handle) || !what->numLevels || what->numLevels > 32)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	return vts_call_leave(vts_array_new_foreign(out, &what->arrayDesc, what->numLevels));
}

CUresult cuDestroyExternalMemory(CUexternalMemory handle)
{
	struct external *external;

	VTS_ENTER(VTS_NEEDS_CONTEXT);
	external = find(handle);
	if (!external)
		return vts_call_leave(CUDA_ERROR_INVALID_VALUE);
	write_ledger("free", "external", (uintptr_t)handle, external->size_bytes);
	vts_handles_drop(VTS_HANDLE_EXTERNAL, (uintptr_t)handle);
	free(external);
	return vts_call_leave(CUDA_SUCCESS);
}
