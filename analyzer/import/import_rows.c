/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_rows.h"

#include <string.h>

void vt_import_rows_init(struct vt_import_rows *rows, struct vt_db *db)
{
	memset(rows, 0, sizeof(*rows));
	rows->db = db;
	rows->allocation = vt_db_prepare(db,
					 "INSERT INTO allocation VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,"
					 "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	rows->parent = vt_db_prepare(db, "INSERT INTO allocation_parent VALUES (?,?)");
	rows->update = vt_db_prepare(
		db,
		"UPDATE allocation SET freed_event=?2, freed_time_ns=?3, freed_thread=?4,"
		" freed_function=?5, freed_native_stack=?6, freed_python_stack=?7, freed_scope=?8,"
		" freed_node_class=?9, freed_node_sequence=?10, freed_forward_python_stack=?11"
		" WHERE id=?1");
	rows->event = vt_db_prepare(db, "INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
	rows->out_of_memory =
		vt_db_prepare(db, "INSERT INTO out_of_memory VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
	rows->mark = vt_db_prepare(db, "INSERT INTO mark VALUES (?,?,?,?,?,?,?)");
}

void vt_import_rows_release(struct vt_import_rows *rows)
{
	vt_vector_release(&rows->waiting);
	vt_vector_release(&rows->updates);
	vt_stmt_free(rows->allocation);
	vt_stmt_free(rows->parent);
	vt_stmt_free(rows->update);
	vt_stmt_free(rows->event);
	vt_stmt_free(rows->out_of_memory);
	vt_stmt_free(rows->mark);
}

static void bind_sequence(struct vt_stmt *stmt, int parameter, uint64_t sequence)
{
	if (sequence != UINT64_MAX)
		vt_stmt_bind_int(stmt, parameter, (int64_t)sequence);
	else
		vt_stmt_bind_null(stmt, parameter);
}

static void bind_u64(struct vt_stmt *stmt, int parameter, uint64_t value)
{
	vt_stmt_bind_int(stmt, parameter, (int64_t)value);
}

/* The columns about the end of an allocation, from `first` on; `last` is the newest one. */
static void bind_end(struct vt_stmt *stmt, int first, int last, const struct vt_row_end *end)
{
	const struct vt_event_record *r = &end->record;

	if (!end->event) {
		for (int i = 0; i < 9; i++)
			vt_stmt_bind_null(stmt, first + i);
		vt_stmt_bind_null(stmt, last);
		return;
	}
	bind_u64(stmt, first, end->event);
	bind_u64(stmt, first + 1, r->time_ns);
	bind_u64(stmt, first + 2, r->thread);
	bind_u64(stmt, first + 3, r->function);
	vt_stmt_bind_id(stmt, first + 4, r->native_stack);
	vt_stmt_bind_id(stmt, first + 5, r->python_stack);
	vt_stmt_bind_id(stmt, first + 6, r->scope);
	vt_stmt_bind_id(stmt, first + 7, r->node_class);
	bind_sequence(stmt, first + 8, r->node_sequence);
	vt_stmt_bind_id(stmt, last, r->forward_python_stack);
}

/* The same field is the size that was asked for where it is a block. */
static int has_parent(const struct vt_row_allocation *row)
{
	return row->record.extra && row->record.kind != VT_KIND_BLOCK;
}

static int write_parent(struct vt_stmt *stmt, const struct vt_row_allocation *row)
{
	bind_u64(stmt, 1, row->id);
	bind_u64(stmt, 2, row->record.extra);
	return vt_stmt_step(stmt);
}

static int write_allocation(struct vt_stmt *stmt, const struct vt_row_allocation *row)
{
	const struct vt_event_record *r = &row->record;

	bind_u64(stmt, 1, row->id);
	bind_u64(stmt, 2, r->kind);
	vt_stmt_bind_int(stmt, 3, r->device);
	bind_u64(stmt, 4, r->address);
	bind_u64(stmt, 5, r->size_bytes);
	bind_u64(stmt, 6, r->stream);
	bind_u64(stmt, 7, r->function);
	bind_u64(stmt, 8, r->thread);
	bind_u64(stmt, 9, r->time_ns);
	vt_stmt_bind_id(stmt, 10, r->native_stack);
	vt_stmt_bind_id(stmt, 11, r->python_stack);
	vt_stmt_bind_id(stmt, 12, r->scope);
	vt_stmt_bind_id(stmt, 13, r->node_class);
	bind_sequence(stmt, 14, r->node_sequence);
	bind_sequence(stmt, 15, r->forward_sequence);
	bind_u64(stmt, 16, r->allocated_bytes);
	bind_u64(stmt, 17, r->reserved_bytes);
	vt_stmt_bind_id(stmt, 27, r->forward_python_stack);
	bind_end(stmt, 18, 28, &row->end);
	if (r->kind == VT_KIND_BLOCK && r->extra)
		bind_u64(stmt, 29, r->extra);
	else
		vt_stmt_bind_null(stmt, 29);
	return vt_stmt_step(stmt);
}

uint64_t vt_import_rows_allocation(struct vt_import_rows *rows, uint64_t id,
				   const struct vt_event_record *record)
{
	struct vt_row_allocation *row;

	vt_vector_reserve(&rows->waiting, rows->waiting.len + 1);
	row = &rows->waiting.items[rows->waiting.len++];
	row->id = id;
	row->record = *record;
	row->end.event = 0;
	return rows->first_row + rows->waiting.len - 1;
}

void vt_import_rows_end(struct vt_import_rows *rows, uint64_t row, uint64_t id,
			const struct vt_row_end *end)
{
	if (row != VT_ROW_WRITTEN && row >= rows->first_row)
		rows->waiting.items[row - rows->first_row].end = *end;
	else
		vt_vector_push(&rows->updates, ((struct vt_row_update){ id, *end }));
}

int vt_import_rows_event(struct vt_import_rows *rows, uint64_t id, const struct vt_event_record *r)
{
	struct vt_stmt *stmt = rows->event;

	bind_u64(stmt, 1, id);
	bind_u64(stmt, 2, r->time_ns);
	bind_u64(stmt, 3, r->thread);
	bind_u64(stmt, 4, r->op);
	bind_u64(stmt, 5, r->kind);
	vt_stmt_bind_int(stmt, 6, r->device);
	bind_u64(stmt, 7, r->function);
	bind_u64(stmt, 8, r->address);
	bind_u64(stmt, 9, r->size_bytes);
	bind_u64(stmt, 10, r->extra);
	vt_stmt_bind_id(stmt, 11, r->native_stack);
	vt_stmt_bind_id(stmt, 12, r->python_stack);
	return vt_stmt_step(stmt);
}

int vt_import_rows_out_of_memory(struct vt_import_rows *rows, uint64_t id,
				 const struct vt_event_record *r)
{
	struct vt_stmt *stmt = rows->out_of_memory;

	bind_u64(stmt, 1, id);
	bind_u64(stmt, 2, r->time_ns);
	bind_u64(stmt, 3, r->thread);
	vt_stmt_bind_int(stmt, 4, r->device);
	bind_u64(stmt, 5, r->extra ? r->extra : r->size_bytes);
	bind_u64(stmt, 6, r->allocated_bytes);
	bind_u64(stmt, 7, r->reserved_bytes);
	vt_stmt_bind_id(stmt, 8, r->native_stack);
	vt_stmt_bind_id(stmt, 9, r->python_stack);
	vt_stmt_bind_id(stmt, 10, r->scope);
	vt_stmt_bind_id(stmt, 11, r->node_class);
	bind_sequence(stmt, 12, r->node_sequence);
	bind_u64(stmt, 13, r->stream);
	return vt_stmt_step(stmt);
}

int vt_import_rows_mark(struct vt_import_rows *rows, uint64_t id, const struct vt_mark_record *r)
{
	struct vt_stmt *stmt = rows->mark;

	bind_u64(stmt, 1, id);
	bind_u64(stmt, 2, r->time_ns);
	bind_u64(stmt, 3, r->thread);
	bind_u64(stmt, 4, r->kind);
	bind_u64(stmt, 5, r->source);
	bind_u64(stmt, 6, r->name);
	vt_stmt_bind_id(stmt, 7, r->python_stack);
	return vt_stmt_step(stmt);
}

int vt_import_rows_flush(struct vt_import_rows *rows)
{
	int rc = 0;

	for (size_t i = 0; i < rows->waiting.len && !rc; i++) {
		rc = write_allocation(rows->allocation, &rows->waiting.items[i]);
		if (!rc && has_parent(&rows->waiting.items[i]))
			rc = write_parent(rows->parent, &rows->waiting.items[i]);
	}
	/* In order: an end may be taken back in the same batch. */
	for (size_t i = 0; i < rows->updates.len && !rc; i++) {
		bind_u64(rows->update, 1, rows->updates.items[i].id);
		bind_end(rows->update, 2, 11, &rows->updates.items[i].end);
		rc = vt_stmt_step(rows->update);
	}
	rows->first_row += rows->waiting.len;
	rows->waiting.len = 0;
	rows->updates.len = 0;
	return rc;
}
