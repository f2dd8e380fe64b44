/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_scan.h"

#include <stdlib.h>

#include "analyzer/base/util.h"
#include "analyzer/database/db_connection.h"

/* In the connection that runs the query, and for our query only. */
#define FUNCTION "vtrace_scan"

static void take_row(sqlite3_context *raw, int nr, sqlite3_value **values)
{
	const struct vt_scan *scan = sqlite3_user_data(raw);
	struct vt_db_row row = { .nulls = 0 };

	for (int i = 0; i < nr; i++) {
		row.values[i] = sqlite3_value_int64(values[i]);
		/* Zeros are rare: the type is asked for only then. */
		if (!row.values[i] && sqlite3_value_type(values[i]) == SQLITE_NULL)
			row.nulls |= 1u << i;
	}
	scan->take(scan->context, &row);
}

/* An aggregate function must return something. */
static void end(sqlite3_context *raw)
{
	sqlite3_result_null(raw);
}

static void add_columns(struct vt_buffer *sql, const struct vt_scan *scan)
{
	for (unsigned int i = 0; i < scan->nr_columns; i++)
		vt_buffer_printf(sql, "%s%s", i ? "," : "", scan->columns[i]);
}

/* NOT INDEXED: an index of a stranger's file would be read first, and the rows sorted. */
static char *query_of(const struct vt_scan *scan)
{
	struct vt_buffer sql;

	vt_buffer_init(&sql);
	vt_buffer_printf(&sql, "SELECT " FUNCTION "(");
	add_columns(&sql, scan);
	vt_buffer_printf(&sql, ") FROM (SELECT ");
	add_columns(&sql, scan);
	vt_buffer_printf(
		&sql, " FROM %s NOT INDEXED WHERE %s > ? AND %s <= ? AND (%s) ORDER BY %s)",
		scan->table, scan->columns[0], scan->columns[0],
		scan->unless_passed_over ? scan->unless_passed_over : "1", scan->columns[0]);
	return vt_buffer_detach(&sql);
}

static int scan_by_function(struct vt_db *db, const struct vt_scan *scan)
{
	struct vt_stmt *stmt;
	char *sql;
	int rc;

	if (sqlite3_create_function_v2(db->raw, FUNCTION, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
				       (void *)scan, NULL, take_row, end, NULL) != SQLITE_OK)
		return vt_db_fail(db);
	sql = query_of(scan);
	stmt = vt_db_prepare(db, sql);
	vt_stmt_bind_int(stmt, 1, scan->after);
	vt_stmt_bind_int(stmt, 2, scan->upto);
	rc = vt_stmt_step(stmt);
	vt_stmt_free(stmt);
	free(sql);
	/* `scan` is the caller's. */
	sqlite3_create_function_v2(db->raw, FUNCTION, -1, SQLITE_UTF8, NULL, NULL, NULL, NULL,
				   NULL);
	return rc < 0 ? -1 : 0;
}

int vt_db_scan(struct vt_db *db, const struct vt_scan *scan)
{
	if (!vt_db_pages_scan(db, scan))
		return 0;
	scan->restart(scan->context);
	return scan_by_function(db, scan);
}

int vt_db_scan_all(struct vt_db *db, struct vt_scan scan, struct vt_diag *diag)
{
	scan.after = INT64_MIN;
	scan.upto = INT64_MAX;
	if (!vt_db_scan(db, &scan))
		return 0;
	vt_db_diag(db, diag);
	return -1;
}
