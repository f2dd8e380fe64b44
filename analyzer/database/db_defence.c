/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_defence.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/base/embedded.h"
#include "analyzer/base/util.h"
#include "analyzer/database/db_connection.h"

/*
 * Instructions of SQLite's machine.  A report takes 0.2 to 0.4 per byte of the file; 30 times that,
 * and what an empty file may take.
 */
#define INSTRUCTIONS_PER_BYTE 10
#define INSTRUCTIONS_AT_LEAST 5000000
#define INSTRUCTIONS_PER_LOOK 100000

/* As SQLite itself writes them down; a name of ours may stand behind each. */
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
	struct vt_db *db = context;

	db->nr_looks++;
	return db->nr_looks > db->most_looks;
}

void vt_db_defence_start(struct vt_db *db, int is_reader)
{
	uint64_t bytes = file_bytes(db->path, "") + file_bytes(db->path, "-wal");

	sqlite3_db_config(db->raw, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (!is_reader)
		return;
	db->most_looks =
		(INSTRUCTIONS_AT_LEAST + bytes * INSTRUCTIONS_PER_BYTE) / INSTRUCTIONS_PER_LOOK;
	sqlite3_progress_handler(db->raw, INSTRUCTIONS_PER_LOOK, is_too_much, db);
}

static int refuse(const struct vt_db *db, const char *name, const char *why, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a vtrace database: %s %s", db->path, name,
		    why);
	return -1;
}

static const char object_sql[] =
	"SELECT type, (SELECT count(*) FROM pragma_table_xinfo(?1, 'main') WHERE hidden)"
	" FROM main.sqlite_master WHERE name = ?1 COLLATE NOCASE AND type <> 'index'";

/* NULL: nothing, one that older databases lack, or the query failed, as later ones will. */
static const char *what_is_wrong(const struct vt_db *db, sqlite3_stmt *stmt, const char *table)
{
	const char *type, *why = NULL;

	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		type = (const char *)sqlite3_column_text(stmt, 0);
		/* The first is what is written down, the second what SQLite took it for. */
		if (!type || strcmp(type, "table") != 0 ||
		    sqlite3_table_column_metadata(db->raw, "main", table, NULL, NULL, NULL, NULL,
						  NULL, NULL) != SQLITE_OK)
			why = "is no table";
		else if (sqlite3_column_int(stmt, 1))
			why = "has generated columns";
	}
	sqlite3_reset(stmt);
	return why;
}

/* The tables of schema.sql, each of which begins a line. */
static int check_tables(const struct vt_db *db, sqlite3_stmt *stmt, struct vt_diag *diag)
{
	static const char start[] = "\nCREATE TABLE ";
	const char *at = vt_embedded_schema;

	while ((at = strstr(at, start))) {
		char name[64];
		const char *why;

		at += sizeof(start) - 1;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, " ("), at);
		why = what_is_wrong(db, stmt, name);
		if (why)
			return refuse(db, name, why, diag);
	}
	return 0;
}

int vt_db_defence_check(struct vt_db *db, struct vt_diag *diag)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(db->raw, odd_objects, -1, &stmt, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		refuse(db, (const char *)sqlite3_column_text(stmt, 0),
		       "is a trigger or a virtual table", diag);
	else if (rc != SQLITE_DONE)
		vt_db_fail(db);
	sqlite3_finalize(stmt);
	if (rc != SQLITE_DONE)
		return -1;
	if (sqlite3_prepare_v2(db->raw, object_sql, -1, &stmt, NULL) != SQLITE_OK)
		return vt_db_fail(db);
	rc = check_tables(db, stmt, diag);
	sqlite3_finalize(stmt);
	return rc;
}
