/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_rows.h"

#include <sqlite3.h>
#include <stdio.h>

#include "analyzer/base/util.h"

struct vt_db_rows {
	sqlite3 *raw;
	sqlite3_stmt *insert;
	int is_attached;
	struct vt_db_image image; /* SQLite reads it while the transaction lasts */
};

/* Page 1 of a file that has that table alone, as SQLite makes it; sqlite3_free(). */
static unsigned char *make_first_page(const char *sql)
{
	unsigned char *bytes = NULL;
	sqlite3_int64 len = 0;
	char set_page[40];
	sqlite3 *raw;

	snprintf(set_page, sizeof(set_page), "PRAGMA page_size=%u", VT_DB_IMAGE_PAGE_BYTES);
	if (sqlite3_open(":memory:", &raw) == SQLITE_OK &&
	    sqlite3_exec(raw, set_page, NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(raw, sql, NULL, NULL, NULL) == SQLITE_OK)
		bytes = sqlite3_serialize(raw, "main", &len, 0);
	sqlite3_close(raw);
	/* The table's root is then page 2. */
	if (len == 2 * (sqlite3_int64)VT_DB_IMAGE_PAGE_BYTES)
		return bytes;
	sqlite3_free(bytes);
	return NULL;
}

static int prepare(sqlite3 *raw, const char *format, const char *table, sqlite3_stmt **stmt)
{
	char *sql = sqlite3_mprintf(format, table);
	int rc = sqlite3_prepare_v3(raw, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);

	sqlite3_free(sql);
	return rc;
}

/*
 * What SQLite compares before it copies records as they are.  Names are no part of it, and short
 * ones are read faster with each image.
 */
static const char definition[] =
	"SELECT 'CREATE TABLE r(' || group_concat('c' || cid || ' ' || type ||"
	" CASE WHEN pk THEN ' PRIMARY KEY' WHEN \"notnull\" THEN ' NOT NULL' ELSE '' END) || ')',"
	" count(*) FROM pragma_table_info(%Q)";

/* Whether there is such a table, and a row has room for its columns. */
static int is_fit(sqlite3 *raw, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	int nr = 0;

	if (prepare(raw, "SELECT * FROM main.%Q", table, &stmt) == SQLITE_OK)
		nr = sqlite3_column_count(stmt);
	sqlite3_finalize(stmt);
	return nr > 0 && nr <= (int)VT_DB_IMAGE_COLUMNS;
}

static int init_image(struct vt_db_rows *rows, const char *table)
{
	const char *sql = NULL;
	unsigned char *page = NULL;
	sqlite3_stmt *stmt;

	if (!is_fit(rows->raw, table))
		return -1;
	if (prepare(rows->raw, definition, table, &stmt) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		sql = (const char *)sqlite3_column_text(stmt, 0);
	if (sql)
		page = make_first_page(sql);
	if (page)
		vt_db_image_init(&rows->image, page, (unsigned int)sqlite3_column_int(stmt, 1));
	sqlite3_free(page);
	sqlite3_finalize(stmt);
	return page ? 0 : -1;
}

/* The image in place of the one before. */
static int show_image(struct vt_db_rows *rows)
{
	sqlite3_int64 len = (sqlite3_int64)(rows->image.nr_pages * VT_DB_IMAGE_PAGE_BYTES);

	return sqlite3_deserialize(rows->raw, "vt_rows", rows->image.bytes, len, len,
				   SQLITE_DESERIALIZE_READONLY);
}

struct vt_db_rows *vt_db_rows_open(sqlite3 *raw, const char *table)
{
	struct vt_db_rows *rows = vt_xcalloc(1, sizeof(*rows));

	rows->raw = raw;
	if (!init_image(rows, table) &&
	    sqlite3_exec(raw, "ATTACH ':memory:' AS vt_rows", NULL, NULL, NULL) == SQLITE_OK) {
		rows->is_attached = 1;
		vt_db_image_begin(&rows->image);
		vt_db_image_finish(&rows->image);
		if (show_image(rows) == SQLITE_OK &&
		    prepare(raw, "INSERT INTO main.%Q SELECT * FROM vt_rows.r", table,
			    &rows->insert) == SQLITE_OK)
			return rows;
	}
	vt_db_rows_close(rows);
	return NULL;
}

void vt_db_rows_close(struct vt_db_rows *rows)
{
	if (!rows)
		return;
	sqlite3_finalize(rows->insert);
	/* Where it never came to that, SQLite's error is why. */
	if (rows->is_attached)
		sqlite3_exec(rows->raw, "DETACH vt_rows", NULL, NULL, NULL);
	vt_db_image_release(&rows->image);
	free(rows);
}

int vt_db_rows_write(struct vt_db_rows *rows, size_t nr, vt_db_row_fn fill, const void *argument)
{
	/* No byte of the stack goes into a table that is wider than what is filled. */
	struct vt_db_row row = { 0 };
	int rc;

	vt_db_image_begin(&rows->image);
	for (size_t i = 0; i < nr; i++) {
		fill(argument, i, &row);
		vt_db_image_add(&rows->image, &row);
	}
	vt_db_image_finish(&rows->image);
	rc = show_image(rows);
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(rows->insert);
	sqlite3_reset(rows->insert);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}
