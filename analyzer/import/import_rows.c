/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_rows.h"

#include <string.h>

int vt_import_rows_init(struct vt_import_rows *rows, struct vt_db *db)
{
	int rc;

	memset(rows, 0, sizeof(*rows));
	rows->db = db;
	rows->parent = vt_db_prepare(db, "INSERT INTO allocation_parent VALUES (?,?)");
	rc = vt_import_callers_init(&rows->made, db, "allocation_made", 11, 5);
	rc |= vt_import_callers_init(&rows->freed, db, "allocation_freed", 8, 2);
	rc |= vt_import_callers_init(&rows->callers, db, "allocation_callers", 2, 1);
	rc |= vt_import_bases_init(&rows->bases, db);
	rows->written = vt_db_prepare(
		db,
		"SELECT made, b.time_ns + time_offset_ns, sequence FROM allocation_row r"
		" JOIN allocation_callers c ON c.id = callers"
		" JOIN allocation_base b ON b.id = " VT_ALLOCATION_BASE_ID(
			"r.id") " WHERE r.id = ?");
	rows->update = vt_db_prepare(db,
				     "UPDATE allocation_row SET callers=?2, lived_events=?3,"
				     " lived_ns=?4, freed_node_sequence_offset=?5"
				     " WHERE id=?1");
	rows->event = vt_db_prepare(db, "INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
	rows->out_of_memory =
		vt_db_prepare(db, "INSERT INTO out_of_memory VALUES"
				  " (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	rows->mark = vt_db_prepare(db, "INSERT INTO mark VALUES (?,?,?,?,?,?,?)");
	return rc;
}

void vt_import_rows_release(struct vt_import_rows *rows)
{
	vt_vector_release(&rows->waiting);
	vt_vector_release(&rows->updates);
	vt_import_callers_release(&rows->made);
	vt_import_callers_release(&rows->freed);
	vt_import_callers_release(&rows->callers);
	vt_import_bases_release(&rows->bases);
	vt_stmt_free(rows->parent);
	vt_stmt_free(rows->written);
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

/* 0: not known. */
static uint64_t requested_bytes(const struct vt_event_record *r)
{
	return r->kind == VT_KIND_BLOCK ? r->extra : 0;
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

static void put_if(struct vt_db_row *row, int column, uint64_t is_known, uint64_t value)
{
	put(row, column, value);
	row->nulls |= is_known ? 0 : 1u << column;
}

static void put_sequence(struct vt_db_row *row, int column, uint64_t sequence,
			 const struct vt_allocation_base *base)
{
	put_if(row, column, sequence != UINT64_MAX, sequence - base->sequence);
}

static void fill_allocation(const void *items, size_t index, struct vt_db_row *row)
{
	const struct vt_row_allocation *rows = items, *allocation = &rows[index];
	const struct vt_event_record *r = &allocation->record, *end = &allocation->end.record;
	const struct vt_allocation_base *base = &allocation->base;
	const int lived = 9;

	row->nulls = 0;
	put(row, 0, allocation->id);
	put(row, 1, allocation->callers);
	put(row, 2, vt_allocation_base_pack(r->address - base->address));
	put(row, 3, vt_allocation_base_pack(r->size_bytes));
	put_if(row, 4, requested_bytes(r), r->size_bytes - r->extra);
	put(row, 5, r->time_ns - (uint64_t)base->time_ns);
	put_sequence(row, 6, r->node_sequence, base);
	put_sequence(row, 7, r->forward_sequence, base);
	put_if(row, 8, r->allocated_bytes,
	       vt_allocation_base_pack(r->allocated_bytes - base->allocated_bytes));
	if (!allocation->end.event) {
		row->nulls |= 7u << lived;
		return;
	}
	put(row, lived, allocation->end.event - allocation->id);
	put(row, lived + 1, end->time_ns - r->time_ns);
	put_sequence(row, lived + 2, end->node_sequence, base);
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

static int64_t callers_id(struct vt_import_rows *rows, int64_t made, const struct vt_row_end *end)
{
	int64_t freed = end->event ? freed_id(rows, &end->record) : 0;
	const int64_t values[VT_IMPORT_CALLERS_COLUMNS] = { made, freed };

	return made < 0 || freed < 0 ? -1 : vt_import_callers_id(&rows->callers, values);
}

/* Before the row that names them. */
static int prepare_row(struct vt_import_rows *rows, struct vt_row_allocation *row)
{
	const struct vt_allocation_base *base =
		vt_import_bases_add(&rows->bases, row->id, &row->record);
	int64_t callers = callers_id(rows, made_id(rows, &row->record), &row->end);

	if (!base || callers < 0)
		return -1;
	row->base = *base;
	row->callers = (uint64_t)callers;
	return 0;
}

/* What an earlier batch wrote of a row. */
struct written {
	int64_t made;
	uint64_t time_ns;
	uint64_t sequence; /* of its base */
};

/* 1, 0: a damaged file may have no such row, -1 with vt_db_error(). */
static int read_written(struct vt_import_rows *rows, uint64_t id, struct written *written)
{
	struct vt_stmt *stmt = rows->written;
	int rc;

	bind_u64(stmt, 1, id);
	rc = vt_stmt_step(stmt);
	if (rc != 1)
		return rc;
	written->made = vt_stmt_int(stmt, 0);
	written->time_ns = (uint64_t)vt_stmt_int(stmt, 1);
	written->sequence = (uint64_t)vt_stmt_int(stmt, 2);
	return vt_stmt_step(stmt) ? -1 : 1;
}

static int write_end(struct vt_import_rows *rows, const struct vt_row_update *update)
{
	const struct vt_event_record *r = &update->end.record;
	struct vt_stmt *stmt = rows->update;
	struct written written = { 0 };
	int rc = read_written(rows, update->id, &written);
	int64_t callers;

	if (rc != 1)
		return rc;
	callers = callers_id(rows, written.made, &update->end);
	if (callers < 0)
		return -1;
	for (int i = 3; i <= 5; i++)
		vt_stmt_bind_null(stmt, i);
	bind_u64(stmt, 1, update->id);
	vt_stmt_bind_int(stmt, 2, callers);
	if (update->end.event) {
		bind_u64(stmt, 3, update->end.event - update->id);
		bind_u64(stmt, 4, r->time_ns - written.time_ns);
		if (r->node_sequence != UINT64_MAX)
			bind_u64(stmt, 5, r->node_sequence - written.sequence);
	}
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
		rc = prepare_row(rows, &rows->waiting.items[i]);
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
