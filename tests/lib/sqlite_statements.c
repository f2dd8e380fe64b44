/* SPDX-License-Identifier: MIT */
#include "tests/lib/sqlite_statements.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 512

struct kept {
	sqlite3_stmt *stmt;
	const char *sql; /* SQLite's copy */
	size_t len;
	uint32_t sum; /* of the text: few others have the same */
	int is_used;
};

static struct {
	sqlite3 *db;
	struct kept kept[MOST];
	unsigned nr;
	void *user_data; /* of its function */
	int has_function;
} g;

static struct {
	int (*prepare)(sqlite3 *db, const char *sql, int len, unsigned flags, sqlite3_stmt **stmt,
		       const char **tail);
	int (*finalize)(sqlite3_stmt *stmt);
	int (*exec)(sqlite3 *db, const char *sql,
		    int (*row)(void *context, int nr, char **values, char **names), void *context,
		    char **error);
	int (*create_function)(sqlite3 *db, const char *name, int nr, int encoding, void *data,
			       void (*func)(sqlite3_context *raw, int nr, sqlite3_value **values),
			       void (*step)(sqlite3_context *raw, int nr, sqlite3_value **values),
			       void (*final)(sqlite3_context *raw), void (*destroy)(void *data));
	void *(*user_data)(sqlite3_context *raw);
} real;

static void find_real(void)
{
	if (real.exec)
		return;
	*(void **)&real.prepare = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
	*(void **)&real.finalize = dlsym(RTLD_NEXT, "sqlite3_finalize");
	*(void **)&real.exec = dlsym(RTLD_NEXT, "sqlite3_exec");
	*(void **)&real.create_function = dlsym(RTLD_NEXT, "sqlite3_create_function_v2");
	*(void **)&real.user_data = dlsym(RTLD_NEXT, "sqlite3_user_data");
	if (!real.prepare || !real.finalize || !real.exec || !real.create_function ||
	    !real.user_data)
		abort();
}

void sqlite_statements_keep(sqlite3 *db)
{
	find_real();
	for (unsigned i = 0; i < g.nr; i++)
		if (!g.kept[i].is_used)
			real.finalize(g.kept[i].stmt);
	g.nr = 0;
	g.db = db;
	g.has_function = 0;
}

static uint32_t sum_of(const char *sql, size_t len)
{
	uint32_t first = 0, last = 0;

	memcpy(&first, sql, len < 4 ? len : 4);
	memcpy(&last, sql + (len < 4 ? 0 : len - 4), len < 4 ? len : 4);
	return (first * 31 + last) * 31 + (uint32_t)len;
}

static int take(const char *sql, size_t len, unsigned flags, sqlite3_stmt **stmt)
{
	uint32_t sum = sum_of(sql, len);
	int rc;

	for (unsigned i = 0; i < g.nr; i++) {
		struct kept *kept = &g.kept[i];

		if (kept->sum != sum || kept->is_used || kept->len != len ||
		    memcmp(kept->sql, sql, len) != 0)
			continue;
		kept->is_used = 1;
		*stmt = kept->stmt;
		return SQLITE_OK;
	}
	rc = real.prepare(g.db, sql, (int)len, flags, stmt, NULL);
	if (rc == SQLITE_OK && *stmt && g.nr < MOST) {
		const char *text = sqlite3_sql(*stmt);

		/* One of several in the text is not found again. */
		if (strlen(text) == len)
			g.kept[g.nr++] = (struct kept){ *stmt, text, len, sum, 1 };
	}
	return rc;
}

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int len, unsigned flags, sqlite3_stmt **stmt,
		       const char **tail)
{
	find_real();
	if (!g.db || db != g.db || len >= 0 || tail)
		return real.prepare(db, sql, len, flags, stmt, tail);
	return take(sql, strlen(sql), flags, stmt);
}

int sqlite3_finalize(sqlite3_stmt *stmt)
{
	find_real();
	for (unsigned i = 0; stmt && i < g.nr; i++) {
		if (g.kept[i].stmt != stmt)
			continue;
		/* Twice is what nobody would find here. */
		if (!g.kept[i].is_used)
			abort();
		g.kept[i].is_used = 0;
		sqlite3_clear_bindings(stmt);
		return sqlite3_reset(stmt);
	}
	return real.finalize(stmt);
}

/* No text of ours has a semicolon inside a string. */
int sqlite3_exec(sqlite3 *db, const char *sql,
		 int (*row)(void *context, int nr, char **values, char **names), void *context,
		 char **error)
{
	int rc = SQLITE_OK;

	find_real();
	if (!g.db || db != g.db || row)
		return real.exec(db, sql, row, context, error);
	while (rc == SQLITE_OK && *sql) {
		size_t len = strcspn(sql, ";");
		sqlite3_stmt *stmt = NULL;

		len += sql[len] == ';';
		rc = take(sql, len, 0, &stmt);
		if (rc == SQLITE_OK && stmt) {
			while (sqlite3_step(stmt) == SQLITE_ROW)
				;
			rc = sqlite3_finalize(stmt);
		}
		sql += len;
	}
	return rc;
}

/*
 * Of the one that db_scan.c makes and takes away around each query: SQLite compiles all statements
 * again when it comes or goes.  Here it stays, and only its data change.
 */
int sqlite3_create_function_v2(sqlite3 *db, const char *name, int nr, int encoding, void *data,
			       void (*func)(sqlite3_context *raw, int nr, sqlite3_value **values),
			       void (*step)(sqlite3_context *raw, int nr, sqlite3_value **values),
			       void (*final)(sqlite3_context *raw), void (*destroy)(void *data))
{
	int rc = SQLITE_OK;

	find_real();
	if (!g.db || db != g.db)
		return real.create_function(db, name, nr, encoding, data, func, step, final,
					    destroy);
	g.user_data = data;
	if (step && !g.has_function)
		rc = real.create_function(db, name, nr, encoding, NULL, func, step, final, destroy);
	g.has_function |= step && rc == SQLITE_OK;
	return rc;
}

void *sqlite3_user_data(sqlite3_context *raw)
{
	find_real();
	return g.db && sqlite3_context_db_handle(raw) == g.db ? g.user_data : real.user_data(raw);
}
