/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_rows.h"

#include <string.h>

void vt_import_rows_init(struct vt_import_rows *rows, struct vt_db *db)
{
	memset(rows, 0, sizeof(*rows));
	rows->db = db;
	rows->parent = vt_db_prepare(db, "INSERT INTO allocation_parent VALUES (?,?)");
	vt_import_callers_init(&rows->made, db, "allocation_made", 11, 5);
	vt_import_callers_init(&rows->freed, db, "allocation_freed", 8, 2);
	rows->update = vt_db_prepare(db, "UPDATE allocation_row SET freed=?2, lived_events=?3 - id,"
					 " lived_ns=?4 - time_ns, freed_node_sequence=?5"
					 " WHERE id=?1");
	rows->event = vt_db_prepare(db, "INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
	rows->out_of_memory =
		vt_db_prepare(db, "INSERT INTO out_of_memory VALUES"
				  " (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	rows->mark = vt_db_prepare(db, "INSERT INTO mark VALUES (?,?,?,?,?,?,?)");
}

void vt_import_rows_release(struct vt_import_rows *rows)
{
	vt_vector_release(&rows->waiting);
	vt_vector_release(&rows->updates);
	vt_import_callers_release(&rows->made);
	vt_import_callers_release(&rows->freed);
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

/* A column of a row, in the order of the table. */
static void put(struct vt_db_row *row, int column, uint64_t value)
{
	row->values[column] = (int64_t)value;
}

static void put_unless(struct vt_db_row *row, int column, uint64_t value, uint64_t none)
{
	put(row, column, value);
	if (value == none)
		row->nulls |= 1u << column;
}

static void fill_allocation(const void *items, size_t index, struct vt_db_row *row)
{
	const struct vt_row_allocation *rows = items, *allocation = &rows[index];
	const struct vt_event_record *r = &allocation->record, *end = &allocation->end.record;
	const int freed = 10;

	row->nulls = 0;
	put(row, 0, allocation->id);
	put(row, 1, allocation->made);
	put(row, 2, r->address);
	put(row, 3, r->size_bytes);
	put_unless(row, 4, r->kind == VT_KIND_BLOCK ? r->extra : 0, 0);
	put(row, 5, r->time_ns);
	put_unless(row, 6, r->node_sequence, UINT64_MAX);
	put_unless(row, 7, r->forward_sequence, UINT64_MAX);
	put(row, 8, r->allocated_bytes);
	put(row, 9, r->reserved_bytes);
	if (!allocation->end.event) {
		row->nulls |= 0xfu << freed;
		return;
	}
	put(row, freed, allocation->freed);
	put(row, freed + 1, allocation->end.event - allocation->id);
	put(row, freed + 2, end->time_ns - r->time_ns);
	put_unless(row, freed + 3, end->node_sequence, UINT64_MAX);
}

static int64_t made_id(struct vt_import_rows *rows, const struct vt_event_record *r)
{
	const int64_t values[VT_IMPORT_CALLERS_COLUMNS] = {
		r->kind,
		r->device,
		(int64_t)r->stream,
		r->function,
		r->thread,
		r->native_stack,
		r->python_stack,
		r->scope,
		r->node_class,
		r->forward_python_stack,
		r->grad,
	};

	return vt_import_callers_id(&rows->made, values);
}

static int64_t freed_id(struct vt_import_rows *rows, const struct vt_event_record *r)
{
	const int64_t values[VT_IMPORT_CALLERS_COLUMNS] = {
		r->thread, r->function,	  r->native_stack,	   r->python_stack,
		r->scope,  r->node_class, r->forward_python_stack, r->grad,
	};

	return vt_import_callers_id(&rows->freed, values);
}

/* Before the row that names them. */
static int write_callers(struct vt_import_rows *rows, struct vt_row_allocation *row)
{
	int64_t made = made_id(rows, &row->record);
	int64_t freed = row->end.event ? freed_id(rows, &row->end.record) : 0;

	row->made = (uint64_t)made;
	row->freed = (uint64_t)freed;
	return made < 0 || freed < 0 ? -1 : 0;
}

static int write_end(struct vt_import_rows *rows, const struct vt_row_update *update)
{
	const struct vt_event_record *r = &update->end.record;
	struct vt_stmt *stmt = rows->update;
	int64_t freed;

	bind_u64(stmt, 1, update->id);
	if (!update->end.event) {
		for (int i = 2; i <= 5; i++)
			vt_stmt_bind_null(stmt, i);
		return vt_stmt_step(stmt);
	}
	freed = freed_id(rows, r);
	if (freed < 0)
		return -1;
	vt_stmt_bind_int(stmt, 2, freed);
	bind_u64(stmt, 3, update->end.event);
	bind_u64(stmt, 4, r->time_ns);
	bind_sequence(stmt, 5, r->node_sequence);
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
	vt_stmt_bind_id(stmt, 14, r->grad);
	vt_stmt_bind_id(stmt, 15, r->forward_python_stack);
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

	for (size_t i = 0; i < rows->waiting.len && !rc; i++)
		rc = write_callers(rows, &rows->waiting.items[i]);
	if (rows->waiting.len && !rc)
		rc = vt_db_append(rows->db, "allocation_row", rows->waiting.len, fill_allocation,
				  rows->waiting.items);
	for (size_t i = 0; i < rows->waiting.len && !rc; i++)
		if (has_parent(&rows->waiting.items[i]))
			rc = write_parent(rows->parent, &rows->waiting.items[i]);
	/* In order: an end may be taken back in the same batch. */
	for (size_t i = 0; i < rows->updates.len && !rc; i++)
		rc = write_end(rows, &rows->updates.items[i]);
	rows->first_row += rows->waiting.len;
	rows->waiting.len = 0;
	rows->updates.len = 0;
	return rc;
}
