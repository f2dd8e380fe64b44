/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_scan.h"

#include <stdlib.h>

#include "analyzer/base/util.h"
#include "analyzer/database/db_connection.h"

/* In the connection that runs the query, and for queries of ours only. */
#define FUNCTION "vtrace_scan"

struct vt_scan_row {
	sqlite3_value **values;
};

struct scan {
	vt_scan_fn take;
	void *context;
};

int64_t vt_scan_int(const struct vt_scan_row *row, int column)
{
	return sqlite3_value_int64(row->values[column]);
}

int vt_scan_is_null(const struct vt_scan_row *row, int column)
{
	return sqlite3_value_type(row->values[column]) == SQLITE_NULL;
}

static void take_row(sqlite3_context *raw, int nr, sqlite3_value **values)
{
	const struct scan *scan = sqlite3_user_data(raw);
	const struct vt_scan_row row = { values };

	(void)nr;
	scan->take(scan->context, &row);
}

/* An aggregate function has a result. */
static void end(sqlite3_context *raw)
{
	sqlite3_result_null(raw);
}

int vt_db_scan(struct vt_db *db, const char *columns, const char *from, const int64_t bounds[2],
	       vt_scan_fn take, void *context)
{
	struct scan scan = { take, context };
	struct vt_stmt *stmt;
	char *sql;
	int rc;

	if (sqlite3_create_function_v2(db->raw, FUNCTION, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
				       &scan, NULL, take_row, end, NULL) != SQLITE_OK)
		return vt_db_fail(db);
	sql = vt_xasprintf("SELECT " FUNCTION "(%s) FROM %s", columns, from);
	stmt = vt_db_prepare(db, sql);
	vt_stmt_bind_int(stmt, 1, bounds[0]);
	vt_stmt_bind_int(stmt, 2, bounds[1]);
	rc = vt_stmt_step(stmt);
	vt_stmt_free(stmt);
	/* What it points to is gone. */
	sqlite3_create_function_v2(db->raw, FUNCTION, -1, SQLITE_UTF8, NULL, NULL, NULL, NULL,
				   NULL);
	free(sql);
	return rc < 0 ? -1 : 0;
}
