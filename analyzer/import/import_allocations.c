/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_allocations.h"

#include <string.h>

/* Who counts the references of that kind. */
static struct vt_vmm *vmm_of(struct vt_import_allocations *a, unsigned int kind)
{
	return kind == VT_KIND_IPC ? &a->ipc : &a->vmm;
}

void vt_import_allocations_init(struct vt_import_allocations *a, struct vt_import_rows *rows,
				struct vt_peak_totals *peak)
{
	memset(a, 0, sizeof(*a));
	a->rows = rows;
	a->peak = peak;
}

void vt_import_allocations_release(struct vt_import_allocations *a)
{
	for (size_t i = 0; i < a->last_frees.len; i++) {
		vt_vector_release(&a->last_frees.items[i].ended);
		vt_vector_release(&a->last_frees.items[i].removed);
	}
	vt_vector_release(&a->last_frees);
	vt_vector_release(&a->open);
	vt_vector_release(&a->unused);
	vt_map_release(&a->places);
	vt_map_release(&a->last_free_places);
	vt_vmm_release(&a->vmm);
	vt_vmm_release(&a->ipc);
	vt_graph_lives_release(&a->graphs);
	vt_pool_lives_release(&a->pools);
	vt_suspects_release(&a->suspects);
}

static int write_event(struct vt_import_allocations *a, uint64_t event,
		       const struct vt_event_record *record)
{
	return a->is_replaying ? 0 : vt_import_rows_event(a->rows, event, record);
}

struct vt_last_free *vt_import_allocations_begin_free(struct vt_import_allocations *a,
						      uint64_t event,
						      const struct vt_event_record *record)
{
	struct vt_key key = { record->thread, 0, 0 };
	const uint64_t *found = vt_map_find(&a->last_free_places, key);
	struct vt_last_free *last;

	if (!found) {
		vt_map_put(&a->last_free_places, key, a->last_frees.len);
		vt_vector_push(&a->last_frees, ((struct vt_last_free){ 0 }));
		last = &a->last_frees.items[a->last_frees.len - 1];
	} else {
		last = &a->last_frees.items[*found];
	}
	last->event = event;
	last->record = *record;
	last->ended.len = 0;
	last->removed.len = 0;
	return last;
}

/*
 * Memory of others that is opened again has the same address or handle, and is to be closed once
 * more.
 */
static int is_again(struct vt_import_allocations *a, const struct vt_event_record *record)
{
	const struct vt_open_allocation *found;

	if (record->kind != VT_KIND_IPC && record->kind != VT_KIND_IMPORTED)
		return 0;
	found = vt_import_allocations_find(a, record->kind, record->address);
	return found && found->kind == record->kind;
}

static int take_again(struct vt_import_allocations *a, uint64_t event,
		      const struct vt_event_record *record)
{
	struct vt_event_record again = *record;

	again.op = VT_OP_RETAIN;
	vt_vmm_add_reference(vmm_of(a, record->kind), record->address);
	return write_event(a, event, &again);
}

static int take_alloc(struct vt_import_allocations *a, uint64_t event,
		      const struct vt_event_record *record)
{
	struct vt_open_allocation old, new;

	if (is_again(a, record))
		return take_again(a, event, record);
	new = (struct vt_open_allocation){
		.id = event,
		.row = VT_ROW_WRITTEN,
		.address = record->address,
		.size_bytes = record->size_bytes,
		.device = record->device,
		.kind = record->kind,
		/* Of a block the field is the size that was asked for. */
		.parent = record->kind == VT_KIND_BLOCK ? 0 : record->extra,
	};

	vt_import_losses_take_alloc(a, record);
	a->nr_reused += (uint64_t)vt_import_allocations_end(a, record->kind, record->address,
							    event, record, &old);
	if (!a->is_replaying)
		new.row = vt_import_rows_allocation(a->rows, event, record);
	vt_import_allocations_open(a, &new);
	if (vt_vmm_is_kind(record->kind) || record->kind == VT_KIND_IPC)
		vt_vmm_create(vmm_of(a, record->kind), record->address);
	return 0;
}

static int take_block_free(struct vt_import_allocations *a, uint64_t event,
			   const struct vt_event_record *record)
{
	struct vt_open_allocation what;

	if (vt_import_allocations_end(a, record->kind, record->address, event, record, &what))
		return 0;
	a->nr_unknown_frees++;
	return write_event(a, event, record);
}

/* Closed, but not as often as it was opened. */
static int take_close(struct vt_import_allocations *a, uint64_t event,
		      const struct vt_event_record *record)
{
	struct vt_event_record close = *record;
	struct vt_last_free *last;

	close.op = VT_OP_RELEASE;
	last = vt_import_allocations_begin_free(a, event, &close);
	last->record.kind = VT_KIND_IPC;
	return write_event(a, event, &close);
}

static int is_of_graph(struct vt_import_allocations *a, const struct vt_event_record *record)
{
	const struct vt_open_allocation *found =
		vt_import_allocations_find(a, record->kind, record->address);

	return found && found->kind == VT_KIND_GRAPH;
}

/* The next run of the graph makes it again, at the same address. */
static int take_free_of_graph(struct vt_import_allocations *a, uint64_t event,
			      const struct vt_event_record *record)
{
	struct vt_event_record row = *record;

	row.kind = VT_KIND_GRAPH;
	vt_import_allocations_begin_free(a, 0, record);
	return write_event(a, event, &row);
}

static int take_free(struct vt_import_allocations *a, uint64_t event,
		     const struct vt_event_record *record)
{
	struct vt_last_free *last;
	struct vt_open_allocation what;

	if (record->kind == VT_KIND_IPC && vt_vmm_is_held(&a->ipc, record->address) &&
	    !vt_vmm_drop_reference(&a->ipc, record->address))
		return take_close(a, event, record);

	/* A framework's free cannot fail: only the driver's are remembered. */
	if (record->kind == VT_KIND_BLOCK)
		return take_block_free(a, event, record);
	if (is_of_graph(a, record))
		return take_free_of_graph(a, event, record);
	last = vt_import_allocations_begin_free(a, event, record);
	if (!vt_vmm_is_kind(record->kind) &&
	    vt_import_allocations_end(a, record->kind, record->address, event, record, &what)) {
		vt_vector_push(&last->ended, what);
		vt_import_losses_take_end(a, &what, &last->ended);
		return 0;
	}
	last->event = 0;
	a->nr_unknown_frees++;
	return write_event(a, event, record);
}

/* Ends the memory behind every removed mapping that nothing holds any more. */
static void end_unheld(struct vt_import_allocations *a, uint64_t event,
		       const struct vt_event_record *record, const struct vt_vmm_mappings *removed,
		       struct vt_open_allocations *ended)
{
	struct vt_open_allocation what;

	for (size_t i = 0; i < removed->len; i++) {
		uint64_t handle = removed->items[i].handle;

		if (!vt_vmm_is_held(&a->vmm, handle) &&
		    vt_import_allocations_end(a, VT_KIND_VMM, handle, event, record, &what))
			vt_vector_push(ended, what);
	}
}

/* A context takes with it what was allocated in it, a graph when nothing made of it is left. */
static int take_destroy(struct vt_import_allocations *a, uint64_t event,
			const struct vt_event_record *record)
{
	struct vt_last_free *last = vt_import_allocations_begin_free(a, event, record);
	struct vt_open_allocation what;
	/* A pool goes with its last allocation, not the other way; 0 is no handle. */
	int is_parent = record->kind != VT_KIND_POOL && record->address;
	uint64_t heir = 0;

	if (record->kind == VT_KIND_GRAPH)
		heir = vt_graph_lives_destroy(&a->graphs, record->address);
	for (size_t i = 0; is_parent && i < a->open.len; i++) {
		struct vt_open_allocation *child = &a->open.items[i];

		if (!child->id || child->parent != record->address)
			continue;
		if (heir) {
			child->parent = heir;
		} else if (vt_import_allocations_end(a, child->kind, child->address, event, record,
						     &what)) {
			vt_vector_push(&last->ended, what);
			vt_import_losses_take_end(a, &what, &last->ended);
		}
	}
	return write_event(a, event, record);
}

static int take_release(struct vt_import_allocations *a, uint64_t event,
			const struct vt_event_record *record)
{
	struct vt_last_free *last = vt_import_allocations_begin_free(a, event, record);
	struct vt_open_allocation what;

	if (vt_vmm_drop_reference(&a->vmm, record->address) &&
	    vt_import_allocations_end(a, VT_KIND_VMM, record->address, event, record, &what))
		vt_vector_push(&last->ended, what);
	return write_event(a, event, record);
}

static int take_unmap(struct vt_import_allocations *a, uint64_t event,
		      const struct vt_event_record *record)
{
	struct vt_last_free *last = vt_import_allocations_begin_free(a, event, record);

	vt_vmm_remove_mappings(&a->vmm, record->address, record->size_bytes, &last->removed);
	end_unheld(a, event, record, &last->removed, &last->ended);
	vt_import_losses_take_mapping(a, record, &last->ended);
	return write_event(a, event, record);
}

static int take_map(struct vt_import_allocations *a, uint64_t event,
		    const struct vt_event_record *record)
{
	struct vt_vmm_mapping mapping = { record->address, record->size_bytes, record->extra };
	struct vt_open_allocations ended = { 0 };
	struct vt_vmm_mappings removed = { 0 };

	vt_vmm_add_mapping(&a->vmm, &mapping, &removed);
	end_unheld(a, event, record, &removed, &ended);
	/* What is new is empty: it was unmapped before, with all that lay in it. */
	vt_import_losses_take_mapping(a, record, &ended);
	vt_vector_release(&ended);
	vt_vector_release(&removed);
	return write_event(a, event, record);
}

/* Undoes what the last free did to the state and the rows. */
static void take_back(struct vt_import_allocations *a, struct vt_last_free *last)
{
	struct vt_vmm_mappings displaced = { 0 };
	struct vt_row_end none = { 0 };

	if (last->record.op == VT_OP_RELEASE ||
	    (last->record.op == VT_OP_FREE && last->record.kind == VT_KIND_IPC))
		vt_vmm_add_reference(vmm_of(a, last->record.kind), last->record.address);
	for (size_t i = 0; i < last->removed.len; i++)
		vt_vmm_add_mapping(&a->vmm, &last->removed.items[i], &displaced);
	vt_vector_release(&displaced);
	for (size_t i = 0; i < last->ended.len; i++) {
		const struct vt_open_allocation *what = &last->ended.items[i];

		/* Given out again in between: then it was free after all. */
		if (vt_import_allocations_find(a, what->kind, what->address))
			continue;
		vt_import_allocations_open(a, what);
		if (!a->is_replaying)
			vt_import_rows_end(a->rows, what->row, what->id, &none);
	}
}

/* A plain free had no row so far, it was the end of an allocation: now it gets one. */
static int write_failed_free(struct vt_import_allocations *a, const struct vt_last_free *last)
{
	struct vt_event_record record = last->record;

	record.kind = (uint16_t)last->ended.items[0].kind;
	record.device = last->ended.items[0].device;
	record.size_bytes = last->ended.items[0].size_bytes;
	record.extra = 0;
	return write_event(a, last->event, &record);
}

static int take_free_failed(struct vt_import_allocations *a, uint64_t event,
			    const struct vt_event_record *record)
{
	const uint64_t *found =
		vt_map_find(&a->last_free_places, (struct vt_key){ record->thread, 0, 0 });
	struct vt_last_free *last = found ? &a->last_frees.items[*found] : NULL;

	if (!last || !last->event || last->record.address != record->address)
		return write_event(a, event, record);
	take_back(a, last);
	if (last->record.op == VT_OP_FREE && write_failed_free(a, last))
		return -1;
	last->event = 0;
	return write_event(a, event, record);
}

int vt_import_allocations_replay(struct vt_import_allocations *a, uint64_t event,
		    const struct vt_event_record *record)
{
	vt_import_allocations_note_pool(a, record);
	switch (record->op) {
	case VT_OP_ALLOC:
		return take_alloc(a, event, record);
	case VT_OP_FREE:
		return take_free(a, event, record);
	case VT_OP_FREE_FAILED:
		return take_free_failed(a, event, record);
	case VT_OP_MAP:
		return take_map(a, event, record);
	case VT_OP_UNMAP:
		return take_unmap(a, event, record);
	case VT_OP_RELEASE:
		return take_release(a, event, record);
	case VT_OP_INSTANTIATE:
		vt_graph_lives_instantiate(&a->graphs, record->address, record->extra);
		return write_event(a, event, record);
	case VT_OP_DESTROY:
		return take_destroy(a, event, record);
	case VT_OP_RETAIN:
		vt_vmm_add_reference(vmm_of(a, record->kind), record->address);
		return write_event(a, event, record);
	case VT_OP_UNRESERVE:
		/* If it fails there is nothing to take back. */
		vt_import_allocations_begin_free(a, 0, record);
		return write_event(a, event, record);
	case VT_OP_LOSS:
		vt_import_losses_note(a, event, record);
		return write_event(a, event, record);
	case VT_OP_OUT_OF_MEMORY:
		return vt_import_rows_out_of_memory(a->rows, event, record);
	default:
		return write_event(a, event, record);
	}
}

int vt_import_allocations_event(struct vt_import_allocations *a, uint64_t event,
				const struct vt_event_record *record)
{
	int rc = vt_import_allocations_replay(a, event, record);

	vt_peak_settle(a->peak, event);
	return rc;
}
