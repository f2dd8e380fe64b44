/* SPDX-License-Identifier: MIT */
#include "analyzer/model/caller_table.h"

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

VT_VECTOR_DECLARE(caller_rows, struct vt_caller_row);

static const struct vt_caller_row nobody = { .caller = &vt_caller_nobody };

/* The columns of a caller are in the same places, as far as both have them. */
static const char made_sql[] =
	"SELECT id, thread, native_stack, python_stack, forward_python_stack, scope, node_class,"
	" grad, stream, device, kind FROM allocation_made ORDER BY id";
static const char freed_sql[] =
	"SELECT id, thread, native_stack, python_stack, forward_python_stack, scope, node_class,"
	" grad FROM allocation_freed ORDER BY id";

static struct vt_caller read_caller(struct vt_stmt *stmt)
{
	return (struct vt_caller){ .thread = (uint32_t)vt_stmt_int(stmt, 1),
				   .native_stack = vt_stmt_id(stmt, 2),
				   .python_stack = vt_stmt_id(stmt, 3),
				   .forward_python_stack = vt_stmt_id(stmt, 4),
				   .scope = vt_stmt_id(stmt, 5),
				   .node_class = vt_stmt_id(stmt, 6),
				   .grad = vt_stmt_id(stmt, 7) };
}

static int load(struct vt_caller_table *table, struct vt_db *db, struct vt_callers *callers,
		const char *sql, int is_made, struct vt_diag *diag)
{
	struct vt_stmt *stmt = vt_db_prepare(db, sql);
	struct caller_rows rows = { 0 };
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct vt_caller caller = read_caller(stmt);
		struct vt_caller_row row = { .id = vt_stmt_int(stmt, 0) };

		if (is_made) {
			caller.stream = (uint64_t)vt_stmt_int(stmt, 8);
			row.device = (int16_t)vt_stmt_int(stmt, 9);
			row.kind = (uint8_t)vt_stmt_int(stmt, 10);
		}
		row.caller = vt_callers_intern(callers, &caller);
		vt_vector_push(&rows, row);
	}
	vt_stmt_free(stmt);
	*table = (struct vt_caller_table){ rows.items, rows.len };
	if (rc < 0)
		vt_db_diag(db, diag);
	return rc;
}

int vt_caller_table_load_made(struct vt_caller_table *table, struct vt_db *db,
			      struct vt_callers *callers, struct vt_diag *diag)
{
	return load(table, db, callers, made_sql, 1, diag);
}

int vt_caller_table_load_freed(struct vt_caller_table *table, struct vt_db *db,
			       struct vt_callers *callers, struct vt_diag *diag)
{
	return load(table, db, callers, freed_sql, 0, diag);
}

const struct vt_caller_row *vt_caller_table_find(const struct vt_caller_table *table, int64_t id)
{
	/* An importer numbers them from 1 on. */
	size_t at = vt_search_id(table->items, table->nr, id);

	return at < table->nr ? &table->items[at] : &nobody;
}
