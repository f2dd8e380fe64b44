/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_rows.h"

#include <string.h>

void vt_import_rows_init(struct vt_import_rows *rows, struct vt_db *db)
{
	memset(rows, 0, sizeof(*rows));
	rows->db = db;
	rows->parent = vt_db_prepare(db, "INSERT INTO allocation_parent VALUES (?,?)");
	rows->update = vt_db_prepare(
		db,
		"UPDATE allocation SET freed_event=?2, freed_time_ns=?3, freed_thread=?4,"
		" freed_function=?5, freed_native_stack=?6, freed_python_stack=?7, freed_scope=?8,"
		" freed_node_class=?9, freed_node_sequence=?10, freed_forward_python_stack=?11,"
		" freed_grad=?12 WHERE id=?1");
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

/* The columns about the end of an allocation, from `first` on; the newest two from `last` on. */
static void bind_end(struct vt_stmt *stmt, int first, int last, const struct vt_row_end *end)
{
	const struct vt_event_record *r = &end->record;

	if (!end->event) {
		for (int i = 0; i < 9; i++)
			vt_stmt_bind_null(stmt, first + i);
		vt_stmt_bind_null(stmt, last);
		vt_stmt_bind_null(stmt, last + 1);
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
	vt_stmt_bind_id(stmt, last + 1, r->grad);
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

static void put_end(struct vt_db_row *row, const struct vt_row_end *end)
{
	const int first = 17, forward = 27, grad = 30;
	const struct vt_event_record *r = &end->record;

	if (!end->event) {
		row->nulls |= 0x1ffu << first | 1u << forward | 1u << grad;
		return;
	}
	put(row, first, end->event);
	put(row, first + 1, r->time_ns);
	put(row, first + 2, r->thread);
	put(row, first + 3, r->function);
	put_unless(row, first + 4, r->native_stack, 0);
	put_unless(row, first + 5, r->python_stack, 0);
	put_unless(row, first + 6, r->scope, 0);
	put_unless(row, first + 7, r->node_class, 0);
	put_unless(row, first + 8, r->node_sequence, UINT64_MAX);
	put_unless(row, forward, r->forward_python_stack, 0);
	put_unless(row, grad, r->grad, 0);
}

static void fill_allocation(const void *items, size_t index, struct vt_db_row *row)
{
	const struct vt_row_allocation *allocation = items;
	const struct vt_event_record *r = &allocation[index].record;

	allocation += index;
	row->nulls = 0;
	put(row, 0, allocation->id);
	put(row, 1, r->kind);
	row->values[2] = r->device;
	put(row, 3, r->address);
	put(row, 4, r->size_bytes);
	put(row, 5, r->stream);
	put(row, 6, r->function);
	put(row, 7, r->thread);
	put(row, 8, r->time_ns);
	put_unless(row, 9, r->native_stack, 0);
	put_unless(row, 10, r->python_stack, 0);
	put_unless(row, 11, r->scope, 0);
	put_unless(row, 12, r->node_class, 0);
	put_unless(row, 13, r->node_sequence, UINT64_MAX);
	put_unless(row, 14, r->forward_sequence, UINT64_MAX);
	put(row, 15, r->allocated_bytes);
	put(row, 16, r->reserved_bytes);
	put_unless(row, 26, r->forward_python_stack, 0);
	put_unless(row, 28, r->kind == VT_KIND_BLOCK ? r->extra : 0, 0);
	put_unless(row, 29, r->grad, 0);
	put_end(row, &allocation->end);
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

	if (rows->waiting.len)
		rc = vt_db_append(rows->db, "allocation", rows->waiting.len, fill_allocation,
				  rows->waiting.items);
	for (size_t i = 0; i < rows->waiting.len && !rc; i++)
		if (has_parent(&rows->waiting.items[i]))
			rc = write_parent(rows->parent, &rows->waiting.items[i]);
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
