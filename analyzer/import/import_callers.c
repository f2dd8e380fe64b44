/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_callers.h"

#include <stdio.h>
#include <string.h>

/* 7 MiB; a program that runs in steps has a few thousand. */
#define MOST_KNOWN 65536

struct known {
	int64_t values[VT_IMPORT_CALLERS_COLUMNS];
	int64_t id;
};

static struct vt_stmt *prepare_insert(struct vt_db *db, const char *table, unsigned int nr_columns)
{
	char sql[160];
	int len = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?", table);

	for (unsigned int i = 0; i < nr_columns; i++)
		len += snprintf(sql + len, sizeof(sql) - (size_t)len, ",?");
	snprintf(sql + len, sizeof(sql) - (size_t)len, ")");
	return vt_db_prepare(db, sql);
}

/* What an earlier import wrote last. */
static int load(struct vt_import_callers *callers, struct vt_db *db, const char *table)
{
	struct vt_stmt *stmt;
	char sql[96];
	int is_new, rc;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY id DESC LIMIT %d", table,
		 MOST_KNOWN / 2);
	stmt = vt_db_prepare(db, sql);
	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct known row = { .id = vt_stmt_int(stmt, 0) };

		callers->last_id = row.id > callers->last_id ? row.id : callers->last_id;
		for (unsigned int i = 0; i < callers->nr_columns; i++)
			row.values[i] = vt_stmt_int(stmt, (int)i + 1);
		vt_interned_add(&callers->known, &row, sizeof(row), sizeof(row.values), &is_new);
	}
	vt_stmt_free(stmt);
	return rc;
}

int vt_import_callers_init(struct vt_import_callers *callers, struct vt_db *db, const char *table,
			   unsigned int nr_columns, unsigned int nr_required)
{
	*callers =
		(struct vt_import_callers){ .nr_columns = nr_columns, .nr_required = nr_required };
	callers->insert = prepare_insert(db, table, nr_columns);
	return load(callers, db, table);
}

void vt_import_callers_release(struct vt_import_callers *callers)
{
	vt_interned_release(&callers->known);
	vt_stmt_free(callers->insert);
}

static int write_row(struct vt_import_callers *callers, const struct known *row)
{
	vt_stmt_bind_int(callers->insert, 1, row->id);
	for (unsigned int i = 0; i < callers->nr_columns; i++) {
		if (i >= callers->nr_required && !row->values[i])
			vt_stmt_bind_null(callers->insert, (int)i + 2);
		else
			vt_stmt_bind_int(callers->insert, (int)i + 2, row->values[i]);
	}
	return vt_stmt_step(callers->insert);
}

int64_t vt_import_callers_id(struct vt_import_callers *callers,
			     const int64_t values[VT_IMPORT_CALLERS_COLUMNS])
{
	struct known row = { .id = (int64_t)((uint64_t)callers->last_id + 1) }, *found;
	int is_new;

	memcpy(row.values, values, callers->nr_columns * sizeof(*values));
	if (callers->known.nr >= MOST_KNOWN)
		vt_interned_release(&callers->known);
	found = vt_interned_add(&callers->known, &row, sizeof(row), sizeof(row.values), &is_new);
	if (!is_new)
		return found->id;
	callers->last_id = row.id;
	return write_row(callers, &row) ? -1 : row.id;
}
