/* SPDX-License-Identifier: MIT */
#include "simulator/driver_live.h"

#include "simulator/driver_arena.h"
#include "simulator/driver_device.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_profile.h"
#include "simulator/driver_size.h"
#include "simulator/driver_space.h"

/*
 * Below this an allocation shares a 2 MiB slab with others, as allocations of a real driver are
 * seen to (nvidia-smi grows in steps of 2 MiB).  The exact limit of the real one is not known:
 * assumed.
 */
#define SLAB_LIMIT VTS_MIB

#define SLAB_BYTES (2 * VTS_MIB)

static struct {
	struct vts_ranges live;
	struct vts_arena slabs[VT_CARD_MAX_DEVICES];
	uint64_t serial;
} g;

static const char *const KIND_NAMES[] = {
	[VTS_KIND_DEVICE] = "device", [VTS_KIND_MANAGED] = "managed",
	[VTS_KIND_HOST] = "host",     [VTS_KIND_REGISTERED] = "registered",
	[VTS_KIND_POOL] = "pool",     [VTS_KIND_GRAPH] = "graph",
	[VTS_KIND_MAPPING] = "vmm",   [VTS_KIND_IPC] = "ipc",
	[VTS_KIND_EXTERNAL] = "external",
};

static void write_ledger(const struct vts_range *range, const char *op, uint64_t handle)
{
	struct vts_ledger_entry entry = {
		.op = op,
		.kind = KIND_NAMES[range->kind],
		.pointer = range->start,
		.size_bytes = range->size_bytes,
		.handle = handle,
		/* Memory of others is on a device, but not this process's. */
		.device = range->kind == VTS_KIND_IPC || range->kind == VTS_KIND_EXTERNAL ?
				  -1 :
				  range->device,
	};

	vts_ledger_write(&entry);
}

CUresult vts_live_add(struct vts_range *range, uint64_t handle)
{
	range->serial = ++g.serial;
	if (vts_ranges_insert(&g.live, range))
		return CUDA_ERROR_OUT_OF_MEMORY;
	write_ledger(range, range->kind == VTS_KIND_MAPPING ? "map" : "alloc", handle);
	return CUDA_SUCCESS;
}

/* Managed memory lives on the host: no kernel of ours ever moves it to the device. */
static uint64_t physical_bytes(const struct vts_range *range)
{
	return range->kind == VTS_KIND_DEVICE ? range->span_bytes : 0;
}

/* Only memory of the device itself shares slabs. */
static int is_small(const struct vts_range *range)
{
	return vts_device_at(range->device) && range->kind == VTS_KIND_DEVICE &&
	       range->size_bytes < SLAB_LIMIT;
}

static CUresult take_small(struct vts_range *range)
{
	struct vts_arena *slabs = &g.slabs[range->device];

	slabs->device = range->device;
	slabs->chunk_bytes = SLAB_BYTES;
	range->arena = slabs;
	range->span_bytes = vts_size_round_up(range->size_bytes, VTS_ARENA_ALIGNMENT);
	return vts_arena_alloc(slabs, range->size_bytes, &range->start);
}

static CUresult take_memory(struct vts_range *range)
{
	struct vts_device *device = vts_device_at(range->device);
	CUresult result;

	if (is_small(range))
		return take_small(range);
	range->span_bytes = vts_size_round_up(range->size_bytes, device ? VTS_SPACE_GRANULE : 4096);
	if (device) {
		result = vts_device_charge(range->device, physical_bytes(range));
		if (result)
			return result;
	}
	range->start = vts_space_take(range->device, range->size_bytes, 0, 0, 1);
	if (range->start)
		return CUDA_SUCCESS;
	if (device)
		vts_device_discharge(range->device, physical_bytes(range));
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static void give_memory_back(const struct vts_range *range)
{
	switch (range->kind) {
	case VTS_KIND_REGISTERED:
	case VTS_KIND_MAPPING:
		return;
	case VTS_KIND_POOL:
	case VTS_KIND_GRAPH:
		vts_arena_free(range->arena, range->start);
		return;
	default:
		break;
	}
	if (range->arena) {
		vts_arena_free(range->arena, range->start);
		vts_arena_trim(range->arena, 0);
		return;
	}
	vts_space_give_back(range->device, range->start);
	if (range->device >= 0)
		vts_device_discharge(range->device, physical_bytes(range));
}

CUresult vts_live_alloc(struct vts_range *range)
{
	/* Sizes beyond any address space would overflow the rounding. */
	CUresult result = range->size_bytes < 1ULL << 46 ? take_memory(range) :
							   CUDA_ERROR_OUT_OF_MEMORY;

	if (result)
		return result;
	result = vts_live_add(range, 0);
	if (result)
		give_memory_back(range);
	return result;
}

void vts_live_drop(struct vts_range *range, const char *op, uint64_t handle)
{
	struct vts_range gone = *range;

	vts_ranges_remove(&g.live, range);
	give_memory_back(&gone);
	write_ledger(&gone, op, handle);
}

struct vts_range *vts_live_find(CUdeviceptr address)
{
	return vts_ranges_find(&g.live, address);
}

struct vts_range *vts_live_find_start(CUdeviceptr start)
{
	return vts_ranges_find_start(&g.live, start);
}

void vts_live_drop_context(unsigned int context)
{
	for (size_t i = g.live.nr_items; i-- > 0;)
		if (g.live.items[i].context == context)
			vts_live_drop(&g.live.items[i], "freed-by-destroy", 0);
}
