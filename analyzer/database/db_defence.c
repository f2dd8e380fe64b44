/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_defence.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/base/util.h"
#include "analyzer/database/migrations.h"

/*
 * Instructions of SQLite's machine.  A report takes 0.2 to 0.4 per byte of the file; 30 times that,
 * and what an empty file may take.
 */
#define INSTRUCTIONS_PER_BYTE 10
#define INSTRUCTIONS_AT_LEAST 5000000
#define INSTRUCTIONS_PER_LOOK 100000

/* As SQLite itself writes them down; a name of ours may follow each. */
static const char odd_objects[] =
	"SELECT coalesce(name, '?') FROM main.sqlite_master WHERE sql IS NOT NULL AND NOT ("
	"substr(sql, 1, 13) = 'CREATE TABLE ' OR substr(sql, 1, 12) = 'CREATE VIEW ' OR "
	"substr(sql, 1, 13) = 'CREATE INDEX ' OR substr(sql, 1, 20) = 'CREATE UNIQUE INDEX ')";

static uint64_t file_bytes(const char *path, const char *suffix)
{
	char *name = vt_xasprintf("%s%s", path, suffix);
	struct stat st;
	uint64_t bytes = stat(name, &st) ? 0 : (uint64_t)st.st_size;

	free(name);
	return bytes;
}

static int is_too_much(void *context)
{
	struct vt_db_defence *defence = context;

	defence->nr_looks++;
	return defence->nr_looks > defence->most_looks;
}

void vt_db_defence_start(struct vt_db_defence *defence, sqlite3 *raw, const char *path,
			 int is_reader)
{
	uint64_t bytes = file_bytes(path, "") + file_bytes(path, "-wal");

	sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (!is_reader)
		return;
	*defence = (struct vt_db_defence){
		.most_looks = (INSTRUCTIONS_AT_LEAST + bytes * INSTRUCTIONS_PER_BYTE) /
			      INSTRUCTIONS_PER_LOOK,
	};
	sqlite3_progress_handler(raw, INSTRUCTIONS_PER_LOOK, is_too_much, defence);
}

const char *vt_db_defence_error(sqlite3 *raw)
{
	int code = sqlite3_errcode(raw) & 0xff; /* without the extension */

	if (code == SQLITE_INTERRUPT)
		return "damaged: more rows than a file of its size can hold";
	/* "Database disk image" is SQLite's word for a file. */
	return code == SQLITE_CORRUPT ? "damaged or incomplete" : sqlite3_errmsg(raw);
}

/* No column is generated without the word AS; to ask for a table's columns compiles a statement. */
static const char object_sql[] =
	"SELECT type, CASE WHEN CAST(sql AS TEXT) LIKE '%as%' THEN"
	" (SELECT count(*) FROM pragma_table_xinfo(?1, 'main') WHERE hidden) END"
	" FROM main.sqlite_master WHERE name = ?1 COLLATE NOCASE AND type <> 'index'";

/* NULL: nothing, one that older databases lack, or the query failed, as later ones will. */
static const char *what_is_wrong(sqlite3 *raw, sqlite3_stmt *stmt, const char *table)
{
	const char *type, *why = NULL;

	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		type = (const char *)sqlite3_column_text(stmt, 0);
		/* The first is what is written down, the second what SQLite took it for. */
		if (!type || strcmp(type, "table") != 0 ||
		    sqlite3_table_column_metadata(raw, "main", table, NULL, NULL, NULL, NULL, NULL,
						  NULL) != SQLITE_OK)
			why = "is no table";
		else if (sqlite3_column_int(stmt, 1))
			why = "has generated columns";
	}
	sqlite3_reset(stmt);
	return why;
}

static int check_tables(sqlite3 *raw, sqlite3_stmt *stmt, const char *schema, char *wrong,
			size_t size)
{
	static const char start[] = "\nCREATE TABLE ", condition[] = "IF NOT EXISTS ";
	const char *at = schema;

	while ((at = strstr(at, start))) {
		char name[64];
		const char *why;

		at += sizeof(start) - 1;
		if (!strncmp(at, condition, sizeof(condition) - 1))
			at += sizeof(condition) - 1;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " ("), at);
		why = what_is_wrong(raw, stmt, name);
		if (why) {
			snprintf(wrong, size, "%s %s", name, why);
			return 1;
		}
	}
	return 0;
}

const char *vt_db_defence_view(const char *schema, const char *name, size_t *len)
{
	char start[64];
	const char *at;

	snprintf(start, sizeof(start), "\nCREATE VIEW %s AS", name);
	at = strstr(schema, start);
	if (!at++)
		return NULL;
	*len = strcspn(at, ";");
	return at;
}

static int is_text(const char *text, const char *wanted, size_t len)
{
	return strlen(text) == len && memcmp(text, wanted, len) == 0;
}

/* Commands read it: one of other words could run for hours.  In older databases it is a table. */
static int check_allocation(sqlite3 *raw, sqlite3_stmt *stmt, const char *schema, char *wrong,
			    size_t size)
{
	static const char sql[] = "SELECT sql FROM main.sqlite_master WHERE type = 'view' AND"
				  " name = 'allocation' COLLATE NOCASE";
	size_t len;
	const char *ours = vt_db_defence_view(schema, "allocation", &len), *why = NULL, *text;
	sqlite3_stmt *view;

	if (!ours)
		return 0;
	if (sqlite3_prepare_v2(raw, sql, -1, &view, NULL) != SQLITE_OK)
		return -1;
	if (sqlite3_step(view) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(view, 0);
		if (!text || (!is_text(text, ours, len) &&
			      !is_text(text, vt_migrations_view_10, strlen(vt_migrations_view_10))))
			why = "is another view";
	} else {
		why = what_is_wrong(raw, stmt, "allocation");
	}
	sqlite3_finalize(view);
	if (why)
		snprintf(wrong, size, "allocation %s", why);
	return why != NULL;
}

static int check_all(sqlite3 *raw, const char *schema, char *wrong, size_t size)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(raw, odd_objects, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		snprintf(wrong, size, "%s is a trigger or a virtual table",
			 (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	if (rc != SQLITE_DONE)
		return rc == SQLITE_ROW ? 1 : -1;
	if (sqlite3_prepare_v2(raw, object_sql, -1, &stmt, NULL) != SQLITE_OK)
		return -1;
	rc = check_tables(raw, stmt, schema, wrong, size);
	if (!rc)
		rc = check_allocation(raw, stmt, schema, wrong, size);
	sqlite3_finalize(stmt);
	return rc;
}

int vt_db_defence_check(sqlite3 *raw, const char *schema, char *wrong, size_t size)
{
	int rc;

	/* One transaction: SQLite takes a lock and looks for other writers' logs in each. */
	if (sqlite3_exec(raw, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return -1;
	rc = check_all(raw, schema, wrong, size);
	/* The connection's error says what is wrong. */
	if (rc >= 0)
		sqlite3_exec(raw, "COMMIT", NULL, NULL, NULL);
	return rc;
}
