/* SPDX-License-Identifier: MIT */
/* What is live, by its address, and what pools hold: without a judgement of events. */
#include "analyzer/import/import_allocations.h"

/* A1: which addresses can be confused with which. */
enum address_class {
	CLASS_BLOCK,
	CLASS_POINTER,
	CLASS_HANDLE,
	CLASS_RANGE,
};

static struct vt_key key_of(unsigned int kind, uint64_t address)
{
	enum address_class class = kind == VT_KIND_BLOCK     ? CLASS_BLOCK
				   : vt_vmm_is_kind(kind)    ? CLASS_HANDLE
				   : kind == VT_KIND_ADDRESS ? CLASS_RANGE
							     : CLASS_POINTER;

	return (struct vt_key){ class, address, 0 };
}

static void settle_idle(struct vt_import_allocations *a, int32_t device)
{
	vt_peak_set_idle(a->peak, device, vt_pool_lives_idle(&a->pools, VT_KIND_POOL, device) +
					  vt_pool_lives_idle(&a->pools, VT_KIND_GRAPH, device));
}

/* An allocation of a pool's or a graph's memory has come (1) or gone (-1). */
static void count_pooled(struct vt_import_allocations *a, const struct vt_open_allocation *what,
			 int change)
{
	if (!vt_pool_lives_has_kind(what->kind))
		return;
	if (change > 0)
		vt_pool_lives_add(&a->pools, what->kind, what->parent, what->device,
				  what->size_bytes);
	else
		vt_pool_lives_remove(&a->pools, what->kind, what->parent, what->device,
				     what->size_bytes);
	settle_idle(a, what->device);
}

/* Events of pools themselves. */
void vt_import_allocations_note_pool(struct vt_import_allocations *a,
				     const struct vt_event_record *record)
{
	if (!vt_pool_lives_has_kind(record->kind))
		return;
	if (record->op == VT_OP_MEMORY_INFO)
		vt_pool_lives_hold(&a->pools, record->kind, record->address, record->device,
				   record->size_bytes);
	else if (record->kind == VT_KIND_POOL && record->op == VT_OP_CREATE)
		vt_pool_lives_create(&a->pools, record->address);
	else if (record->kind == VT_KIND_POOL &&
		 (record->op == VT_OP_DESTROY || record->op == VT_OP_FREE_FAILED))
		vt_pool_lives_destroy(&a->pools, record->address, record->op == VT_OP_DESTROY);
	else
		return;
	for (size_t i = 0; i < a->pools.pools.len; i++)
		settle_idle(a, a->pools.pools.items[i].device);
}

void vt_import_allocations_open(struct vt_import_allocations *a,
				const struct vt_open_allocation *what)
{
	uint64_t place;

	if (a->unused.len) {
		place = a->unused.items[--a->unused.len];
		a->open.items[place] = *what;
	} else {
		place = a->open.len;
		vt_vector_push(&a->open, *what);
	}
	vt_map_put(&a->places, key_of(what->kind, what->address), place);
	vt_peak_add(a->peak, what->device, what->kind, what->size_bytes);
	count_pooled(a, what, 1);
}

const struct vt_open_allocation *vt_import_allocations_find(const struct vt_import_allocations *a,
							     unsigned int kind, uint64_t address)
{
	const uint64_t *found = vt_map_find(&a->places, key_of(kind, address));

	return found ? &a->open.items[*found] : NULL;
}

int vt_import_allocations_end(struct vt_import_allocations *a, unsigned int kind, uint64_t address,
			      uint64_t event, const struct vt_event_record *record,
			      struct vt_open_allocation *what)
{
	struct vt_key key = key_of(kind, address);
	const uint64_t *found = vt_map_find(&a->places, key);
	struct vt_row_end end = { .event = event };
	uint64_t place;

	if (!found)
		return 0;
	place = *found;
	*what = a->open.items[place];
	vt_map_remove(&a->places, key);
	a->open.items[place].id = 0;
	vt_vector_push(&a->unused, place);
	vt_peak_remove(a->peak, what->device, what->kind, what->size_bytes);
	count_pooled(a, what, -1);
	if (!a->is_replaying) {
		end.record = *record;
		vt_import_rows_end(a->rows, what->row, what->id, &end);
	}
	return 1;
}
