/* SPDX-License-Identifier: MIT */
#include "analyzer/import/vmm.h"
#include "analyzer/base/search.h"

#include <string.h>

#include "common/kinds.h"

#define ONE_REFERENCE (1ull << 32)
#define ONE_MAPPING   1ull

int vt_vmm_is_kind(unsigned int kind)
{
	return kind == VT_KIND_VMM || kind == VT_KIND_IMPORTED || kind == VT_KIND_MULTICAST;
}

static struct vt_key key_of(uint64_t handle)
{
	return (struct vt_key){ handle, 0, 0 };
}

void vt_vmm_release(struct vt_vmm *vmm)
{
	vt_map_release(&vmm->handles);
	vt_vector_release(&vmm->mappings);
}

static void count_up(struct vt_vmm *vmm, uint64_t handle, uint64_t one)
{
	const uint64_t *holders = vt_map_find(&vmm->handles, key_of(handle));

	vt_map_put(&vmm->handles, key_of(handle), (holders ? *holders : 0) + one);
}

/*
 * Returns 1 if that was the last holder.  Counting below zero is ignored: the beginning was not
 * seen.
 */
static int count_down(struct vt_vmm *vmm, uint64_t handle, uint64_t one)
{
	uint64_t *holders = vt_map_find(&vmm->handles, key_of(handle));
	uint64_t share;

	if (!holders)
		return 0;
	share = one == ONE_REFERENCE ? *holders / ONE_REFERENCE : *holders % ONE_REFERENCE;
	if (!share)
		return 0;
	*holders -= one;
	return *holders ? 0 : vt_map_remove(&vmm->handles, key_of(handle));
}

/* Index of the first mapping at or above `address`. */
static size_t lower_bound(const struct vt_vmm *vmm, uint64_t address)
{
	return vt_search_first(i, vmm->mappings.len,
			       vmm->mappings.items[i].address < address);
}

/* Closes the gap of mappings [from, to). */
static void cut(struct vt_vmm *vmm, size_t from, size_t to)
{
	if (from == to)
		return;
	memmove(vmm->mappings.items + from, vmm->mappings.items + to,
		(vmm->mappings.len - to) * sizeof(*vmm->mappings.items));
	vmm->mappings.len -= to - from;
}

static void forget_mappings_of(struct vt_vmm *vmm, uint64_t handle)
{
	size_t kept = 0;

	for (size_t i = 0; i < vmm->mappings.len; i++)
		if (vmm->mappings.items[i].handle != handle)
			vmm->mappings.items[kept++] = vmm->mappings.items[i];
	vmm->mappings.len = kept;
}

void vt_vmm_create(struct vt_vmm *vmm, uint64_t handle)
{
	const uint64_t *holders = vt_map_find(&vmm->handles, key_of(handle));

	if (holders && *holders % ONE_REFERENCE)
		forget_mappings_of(vmm, handle);
	vt_map_put(&vmm->handles, key_of(handle), ONE_REFERENCE);
}

void vt_vmm_add_reference(struct vt_vmm *vmm, uint64_t handle)
{
	count_up(vmm, handle, ONE_REFERENCE);
}

int vt_vmm_drop_reference(struct vt_vmm *vmm, uint64_t handle)
{
	return count_down(vmm, handle, ONE_REFERENCE);
}

void vt_vmm_add_mapping(struct vt_vmm *vmm, const struct vt_vmm_mapping *mapping,
			struct vt_vmm_mappings *removed)
{
	struct vt_vmm_mapping *items;
	size_t at;

	vt_vmm_remove_mappings(vmm, mapping->address, mapping->size_bytes, removed);
	at = lower_bound(vmm, mapping->address);
	vt_vector_reserve(&vmm->mappings, vmm->mappings.len + 1);
	items = vmm->mappings.items;
	memmove(items + at + 1, items + at, (vmm->mappings.len - at) * sizeof(*items));
	items[at] = *mapping;
	vmm->mappings.len++;
	count_up(vmm, mapping->handle, ONE_MAPPING);
}

void vt_vmm_remove_mappings(struct vt_vmm *vmm, uint64_t address, uint64_t size_bytes,
			    struct vt_vmm_mappings *removed)
{
	size_t from = lower_bound(vmm, address);
	size_t to = from;

	while (to < vmm->mappings.len && vmm->mappings.items[to].address - address < size_bytes) {
		vt_vector_push(removed, vmm->mappings.items[to]);
		count_down(vmm, vmm->mappings.items[to].handle, ONE_MAPPING);
		to++;
	}
	cut(vmm, from, to);
}

int vt_vmm_is_held(const struct vt_vmm *vmm, uint64_t handle)
{
	return vt_map_find(&vmm->handles, key_of(handle)) != NULL;
}
