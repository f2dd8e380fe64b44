/* SPDX-License-Identifier: MIT */
#include "simulator/driver_transfer.h"

#include "common/size.h"
#include "simulator/driver_call.h"
#include "simulator/driver_live.h"
#include "simulator/driver_size.h"
#include "simulator/driver_space.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What a program reads to decide by: a number, a mask, token ids; not a result. */
#define MOST_READ_BYTES (64 * 1024)

static struct {
	uint64_t copy_limit_bytes;
} g;

static uint64_t copy_limit(void)
{
	const char *text;

	if (g.copy_limit_bytes)
		return g.copy_limit_bytes;
	text = getenv("VTRACE_SIM_COPY_LIMIT");
	if (!text || vt_size_parse(text, &g.copy_limit_bytes) || !g.copy_limit_bytes)
		g.copy_limit_bytes = 16 * VTS_MIB;
	return g.copy_limit_bytes;
}

/* Host memory is the program's own affair; a device window is ours: only live and mapped ranges. */
static int is_usable(CUdeviceptr address, uint64_t size_bytes)
{
	while (vts_space_is_device(address)) {
		const struct vts_range *range = vts_live_find(address);
		uint64_t left;

		if (!range || (range->kind == VTS_KIND_MAPPING && !range->flags))
			return 0;
		left = range->start + range->size_bytes - address;
		if (size_bytes <= left)
			return 1;
		/* Neighbouring mappings are one buffer to the program, allocations are not. */
		if (range->kind != VTS_KIND_MAPPING)
			return 0;
		address += left;
		size_bytes -= left;
	}
	return address != 0;
}

CUresult vts_transfer_copy(CUdeviceptr to, CUdeviceptr from, uint64_t size_bytes)
{
	if (!size_bytes)
		return CUDA_SUCCESS;
	if (!is_usable(to, size_bytes) || !is_usable(from, size_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (size_bytes <= copy_limit())
		memmove(vts_space_host_view(to), vts_space_host_view(from), size_bytes);
	return CUDA_SUCCESS;
}

static int is_zeros(const char *bytes, uint64_t size_bytes)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size_bytes - 1);
}

void vts_transfer_note_read(CUdeviceptr to, CUdeviceptr from, uint64_t size_bytes)
{
	typedef void (*note_fn)(uint64_t bytes);
	static note_fn note;

	if (!size_bytes || size_bytes > MOST_READ_BYTES || !vts_space_is_device(from) ||
	    vts_space_is_device(to) || !is_zeros(vts_space_host_view(to), size_bytes))
		return;
	/* The recorder is preloaded: it is there from the start, or not at all. */
	if (!__atomic_load_n(&note, __ATOMIC_RELAXED))
		__atomic_store_n(&note, (note_fn)dlsym(RTLD_DEFAULT, "vtrace_zeros_read"),
				 __ATOMIC_RELAXED);
	if (note)
		note(size_bytes);
}

int vts_block_handed_out(void *block, uint64_t size_bytes)
{
	CUdeviceptr start = (CUdeviceptr)(uintptr_t)block;

	VTS_ENTER(VTS_NEEDS_NOTHING);
	if (vts_space_is_device(start) && is_usable(start, size_bytes))
		vts_space_clear(start, size_bytes);
	return vts_call_leave(CUDA_SUCCESS);
}

static void fill(char *start, uint32_t value, unsigned int element_bytes, uint64_t nr_elements)
{
	if (element_bytes == 1) {
		memset(start, (int)value, nr_elements);
		return;
	}
	for (uint64_t i = 0; i < nr_elements; i++)
		memcpy(start + i * element_bytes, &value, element_bytes);
}

CUresult vts_transfer_set(CUdeviceptr to, uint32_t value, unsigned int element_bytes,
			  uint64_t nr_elements)
{
	uint64_t size_bytes = nr_elements * element_bytes;
	char *start = vts_space_host_view(to);

	if (!size_bytes)
		return CUDA_SUCCESS;
	if (!is_usable(to, size_bytes) || to % element_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	/* Pinned memory can be shared or locked: never drop its pages. */
	if (!value && vts_space_is_device(to))
		vts_space_clear(to, size_bytes);
	else if (size_bytes <= copy_limit())
		fill(start, value, element_bytes, nr_elements);
	return CUDA_SUCCESS;
}
