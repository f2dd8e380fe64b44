/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_rows.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"

struct table {
	sqlite3_vtab base;
	const struct vt_db_rows *rows;
};

struct cursor {
	sqlite3_vtab_cursor base;
	size_t index;
	struct vt_db_row row;
};

static int connect_table(sqlite3 *raw, void *rows, int nr_words, const char *const *words,
			 sqlite3_vtab **vtab, char **error)
{
	char sql[16 + VT_DB_ROW_COLUMNS * 4] = "CREATE TABLE x(c0";
	size_t used = strlen(sql);
	struct table *table = vt_xcalloc(1, sizeof(*table));

	(void)nr_words;
	(void)words;
	(void)error;
	for (int i = 1; i < VT_DB_ROW_COLUMNS; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ",c%d", i);
	snprintf(sql + used, sizeof(sql) - used, ")");
	table->rows = rows;
	*vtab = &table->base;
	return sqlite3_declare_vtab(raw, sql);
}

static int disconnect_table(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

/* There is one way to read it: from the first row to the last. */
static int plan(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	info->estimatedCost = 1000;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct cursor *made = vt_xcalloc(1, sizeof(*made));

	(void)vtab;
	*cursor = &made->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static const struct vt_db_rows *rows_of(const sqlite3_vtab_cursor *cursor)
{
	return ((const struct table *)cursor->pVtab)->rows;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
	return ((const struct cursor *)base)->index >= rows_of(base)->nr;
}

static void fill(struct cursor *cursor)
{
	const struct vt_db_rows *rows = rows_of(&cursor->base);

	if (cursor->index < rows->nr)
		rows->fill(rows->argument, cursor->index, &cursor->row);
}

static int go_to_first(sqlite3_vtab_cursor *base, int number, const char *text, int nr_values,
		       sqlite3_value **values)
{
	struct cursor *cursor = (struct cursor *)base;

	(void)number;
	(void)text;
	(void)nr_values;
	(void)values;
	cursor->index = 0;
	fill(cursor);
	return SQLITE_OK;
}

static int go_to_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	cursor->index++;
	fill(cursor);
	return SQLITE_OK;
}

/* A column without a result is NULL. */
static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct vt_db_row *row = &((const struct cursor *)base)->row;

	if (!(row->nulls >> column & 1))
		sqlite3_result_int64(context, row->values[column]);
	return SQLITE_OK;
}

static int give_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = (sqlite3_int64)((const struct cursor *)base)->index;
	return SQLITE_OK;
}

int vt_db_rows_register(struct sqlite3 *raw, struct vt_db_rows *rows)
{
	/* Without xCreate it is there by its name, and cannot be made a second time. */
	static const sqlite3_module module = {
		.xConnect = connect_table,
		.xDisconnect = disconnect_table,
		.xBestIndex = plan,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = go_to_first,
		.xNext = go_to_next,
		.xEof = is_at_end,
		.xColumn = give_column,
		.xRowid = give_row_id,
	};

	return sqlite3_create_module(raw, "vt_rows", &module, rows);
}
