/* SPDX-License-Identifier: MIT */
/*
 * A10: what was alive when events were lost, and what later events say of it.  A segment is known
 * to be gone by what lies over it, a block by that and by its segment.
 */
#include "analyzer/import/import_allocations.h"

/* What lies at addresses, alone; the same in the statement below. */
#define PLACES "1, 2, 4, 5, 6"
_Static_assert(VT_KIND_BLOCK == 1 && VT_KIND_SEGMENT == 2 && VT_KIND_POOL == 4 &&
		       VT_KIND_MANAGED == 5 && VT_KIND_PINNED == 6,
	       "PLACES");
static int has_addresses(unsigned int kind)
{
	return kind == VT_KIND_BLOCK || kind == VT_KIND_SEGMENT || kind == VT_KIND_POOL ||
	       kind == VT_KIND_MANAGED || kind == VT_KIND_PINNED;
}

/* Blocks lie in what the driver gave out: a kind for each (A1), by which they are found. */
static unsigned int class_of(unsigned int kind)
{
	return kind == VT_KIND_BLOCK ? VT_KIND_BLOCK : VT_KIND_SEGMENT;
}

static void add_suspect(struct vt_import_allocations *a, const struct vt_open_allocation *one)
{
	struct vt_suspect suspect = { class_of(one->kind), one->address,
				      one->address + one->size_bytes, one->id, 0 };

	if (one->id && one->id < a->loss_event && one->size_bytes && has_addresses(one->kind))
		vt_suspects_add(&a->suspects, &suspect);
}

void vt_import_losses_note(struct vt_import_allocations *a, uint64_t event,
			   const struct vt_event_record *record)
{
	/* Who freed what is lost, too. */
	a->loss = (struct vt_event_record){ .time_ns = record->time_ns,
					    .thread = record->thread,
					    .op = VT_OP_LOSS,
					    .node_sequence = UINT64_MAX,
					    .forward_sequence = UINT64_MAX };
	a->loss_event = event;
	vt_suspects_clear(&a->suspects);
	for (size_t i = 0; i < a->open.len; i++)
		add_suspect(a, &a->open.items[i]);
	vt_suspects_sort(&a->suspects);
}

/* Those of a class that share bytes with that range were freed by events that are lost. */
static void end_suspects(struct vt_import_allocations *a, unsigned int class, uint64_t address,
			 uint64_t size_bytes, struct vt_open_allocations *ended)
{
	struct vt_open_allocation what;
	size_t nr;
	const struct vt_suspect *suspects =
		vt_suspects_at(&a->suspects, class, address, address + size_bytes, &nr);

	for (size_t i = 0; i < nr; i++) {
		const struct vt_open_allocation *found =
			vt_import_allocations_find(a, class, suspects[i].address);

		if (found && found->id == suspects[i].id && suspects[i].end_address > address &&
		    vt_import_allocations_end(a, class, suspects[i].address, a->loss_event,
					      &a->loss, &what))
			vt_vector_push(ended, what);
	}
}

void vt_import_losses_take_alloc(struct vt_import_allocations *a,
				 const struct vt_event_record *record)
{
	struct vt_open_allocations ended = { 0 }, blocks = { 0 };

	if (!a->suspects.items.len || !has_addresses(record->kind))
		return;
	end_suspects(a, class_of(record->kind), record->address, record->size_bytes, &ended);
	if (record->kind != VT_KIND_BLOCK) {
		/* What is new is empty. */
		end_suspects(a, VT_KIND_BLOCK, record->address, record->size_bytes, &blocks);
		for (size_t i = 0; i < ended.len; i++)
			vt_import_losses_take_end(a, &ended.items[i], &blocks);
	}
	vt_vector_release(&ended);
	vt_vector_release(&blocks);
}

void vt_import_losses_take_end(struct vt_import_allocations *a,
			       const struct vt_open_allocation *what,
			       struct vt_open_allocations *ended)
{
	if (a->suspects.items.len && has_addresses(what->kind))
		end_suspects(a, VT_KIND_BLOCK, what->address, what->size_bytes, ended);
}

void vt_import_losses_take_mapping(struct vt_import_allocations *a,
				 const struct vt_event_record *record,
				 struct vt_open_allocations *ended)
{
	if (a->suspects.items.len)
		end_suspects(a, VT_KIND_BLOCK, record->address, record->size_bytes, ended);
}

/* Not those that ended before that free, as something was put there. */
static const char blocks_ended[] =
	"SELECT id, address, size_bytes, device FROM allocation b WHERE kind = 1 AND"
	" freed_event = ?1 AND address < ?4 AND address + size_bytes > ?3 AND NOT EXISTS"
	" (SELECT 1 FROM allocation c WHERE c.id > ?1 AND c.id < ?2 AND c.kind IN (" PLACES ")"
	" AND c.address < b.address + b.size_bytes AND c.address + c.size_bytes > b.address)";

static int load_blocks(struct vt_import_allocations *a, struct vt_last_free *last, uint64_t address,
		       uint64_t size_bytes)
{
	struct vt_stmt *stmt = vt_db_prepare(a->rows->db, blocks_ended);
	int rc;

	vt_stmt_bind_int(stmt, 1, (int64_t)a->loss_event);
	vt_stmt_bind_int(stmt, 2, (int64_t)last->event);
	vt_stmt_bind_int(stmt, 3, (int64_t)address);
	vt_stmt_bind_int(stmt, 4, (int64_t)(address + size_bytes));
	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct vt_open_allocation block = { .id = (uint64_t)vt_stmt_int(stmt, 0),
						    .row = VT_ROW_WRITTEN,
						    .address = (uint64_t)vt_stmt_int(stmt, 1),
						    .size_bytes = (uint64_t)vt_stmt_int(stmt, 2),
						    .device = (int32_t)vt_stmt_int(stmt, 3),
						    .kind = VT_KIND_BLOCK };

		vt_vector_push(&last->ended, block);
	}
	vt_stmt_free(stmt);
	return rc;
}

static int load_ended_by(struct vt_import_allocations *a, struct vt_last_free *last)
{
	size_t nr = last->ended.len;
	int rc = 0;

	if (last->record.op == VT_OP_UNMAP)
		rc = load_blocks(a, last, last->record.address, last->record.size_bytes);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct vt_open_allocation what = last->ended.items[i];

		/* A newer one had no blocks from before the loss. */
		if (has_addresses(what.kind) && what.id < a->loss_event)
			rc = load_blocks(a, last, what.address, what.size_bytes);
	}
	/* Brought back, they are as uncertain as before. */
	for (size_t i = 0; i < last->ended.len; i++)
		add_suspect(a, &last->ended.items[i]);
	return rc;
}

int vt_import_losses_load_ended(struct vt_import_allocations *a)
{
	int rc = 0;

	for (size_t i = 0; i < a->last_frees.len && a->loss_event && !rc; i++)
		if (a->last_frees.items[i].event > a->loss_event)
			rc = load_ended_by(a, &a->last_frees.items[i]);
	vt_suspects_sort(&a->suspects);
	return rc;
}
