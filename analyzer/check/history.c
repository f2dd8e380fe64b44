/* SPDX-License-Identifier: MIT */
#include "analyzer/check/history.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/search.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/database/db_defence.h"

#define BUSY_MS 10000

#define NO_HISTORY "not a history (vtrace check --history writes one)"

static const char schema[] =
	"\nCREATE TABLE IF NOT EXISTS run (id INTEGER PRIMARY KEY, time_s INTEGER NOT NULL,"
	" revision TEXT NOT NULL);"
	"\nCREATE TABLE IF NOT EXISTS figure (run INTEGER NOT NULL, name TEXT NOT NULL,"
	" unit INTEGER NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (name, run)) WITHOUT ROWID;";

static int fail(sqlite3 *db, const char *path, struct vt_diag *diag)
{
	int code = sqlite3_errcode(db);
	struct stat st;

	/* SQLITE_ERROR: no such table, no such column. */
	if (code == SQLITE_NOTADB || code == SQLITE_ERROR)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: " NO_HISTORY, path);
	else if (stat(path, &st))
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, vt_db_defence_error(db));
	sqlite3_close(db);
	return -1;
}

static int open_file(sqlite3 **db, struct vt_db_defence *defence, const char *path, int flags,
		     struct vt_diag *diag)
{
	char wrong[128];
	struct stat st;
	int rc;

	/* SQLite would wait for the writer of a pipe. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path,
			    S_ISDIR(st.st_mode) ? "is a directory" : NO_HISTORY);
		return -1;
	}
	if (sqlite3_open_v2(path, db, flags, NULL))
		return fail(*db, path, diag);
	sqlite3_busy_timeout(*db, BUSY_MS);
	vt_db_defence_start(defence, *db, path, flags & SQLITE_OPEN_READONLY);
	rc = vt_db_defence_check(*db, schema, wrong, sizeof(wrong));
	if (rc > 0)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a history: %s", path, wrong);
	return rc ? fail(*db, path, diag) : 0;
}

static int add_figure(sqlite3 *db, sqlite3_int64 run, const struct vt_history_figure *figure)
{
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?)", -1, &stmt,
			       NULL))
		return -1;
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_text(stmt, 2, figure->name, -1, SQLITE_STATIC);
	sqlite3_bind_int(stmt, 3, (int)figure->unit);
	sqlite3_bind_int64(stmt, 4, (sqlite3_int64)figure->value);
	rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : -1;
	sqlite3_finalize(stmt);
	return rc;
}

static int add_run(sqlite3 *db, const char *revision)
{
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(db, "INSERT INTO run (time_s, revision) VALUES (?, ?)", -1, &stmt,
			       NULL))
		return -1;
	sqlite3_bind_int64(stmt, 1, (sqlite3_int64)time(NULL));
	sqlite3_bind_text(stmt, 2, revision, -1, SQLITE_STATIC);
	rc = sqlite3_step(stmt) == SQLITE_DONE ? 0 : -1;
	sqlite3_finalize(stmt);
	return rc;
}

static int add_all(sqlite3 *db, const struct vt_history_figures *figures, const char *revision)
{
	sqlite3_int64 run;

	if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) ||
	    sqlite3_exec(db, schema, NULL, NULL, NULL) || add_run(db, revision))
		return -1;
	run = sqlite3_last_insert_rowid(db);
	for (size_t i = 0; i < figures->len; i++)
		if (add_figure(db, run, &figures->items[i]))
			return -1;
	return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) ? -1 : 0;
}

int vt_history_add(const char *path, const struct vt_history_figures *figures,
		   const char *revision, struct vt_diag *diag)
{
	struct vt_db_defence defence;
	sqlite3 *db = NULL;

	if (open_file(&db, &defence, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, diag))
		return -1;
	if (add_all(db, figures, revision))
		return fail(db, path, diag);
	sqlite3_close(db);
	return 0;
}

struct reading {
	struct vt_history *history;
	VT_VECTOR(int64_t) ids; /* of the runs, rising */
};

static void take_run(struct reading *reading, sqlite3_stmt *row)
{
	struct vt_history *history = reading->history;
	const char *revision = (const char *)sqlite3_column_text(row, 2);
	uint32_t nr = history->nr_runs++;

	history->revisions =
		vt_xrealloc(history->revisions, (nr + 1) * sizeof(*history->revisions));
	history->times_s = vt_xrealloc(history->times_s, (nr + 1) * sizeof(*history->times_s));
	history->revisions[nr] = vt_printable_copy(revision ? revision : "");
	history->times_s[nr] = sqlite3_column_int64(row, 1);
	vt_vector_push(&reading->ids, sqlite3_column_int64(row, 0));
}

/* Returns 0 where there is no such run: somebody took it away. */
static int find_run(const struct reading *reading, int64_t id, uint32_t *run)
{
	size_t at = vt_search_first(i, reading->ids.len, reading->ids.items[i] < id);

	*run = (uint32_t)at;
	return at < reading->ids.len && reading->ids.items[at] == id;
}

/* Ordered by name, so that a new one begins a series. */
static void take_figure(struct reading *reading, sqlite3_stmt *row)
{
	const char *name = (const char *)sqlite3_column_text(row, 0);
	struct vt_history *history = reading->history;
	struct vt_history_series *series;
	uint32_t run;

	if (!find_run(reading, sqlite3_column_int64(row, 3), &run))
		return;
	if (!history->nr_series ||
	    strcmp(history->series[history->nr_series - 1].name, name ? name : "") != 0) {
		history->series = vt_xrealloc(history->series, (history->nr_series + 1) *
								       sizeof(*history->series));
		history->series[history->nr_series++] = (struct vt_history_series){
			.name = vt_printable_copy(name ? name : ""),
			.unit = (enum vt_budget_unit)sqlite3_column_int(row, 1),
		};
	}
	series = &history->series[history->nr_series - 1];
	series->figures =
		vt_xrealloc(series->figures, (series->nr + 1) * sizeof(*series->figures));
	series->runs = vt_xrealloc(series->runs, (series->nr + 1) * sizeof(*series->runs));
	/* Differences of two have to be numbers, too. */
	series->figures[series->nr] =
		fmax(-0x1p62, fmin(0x1p62, (double)sqlite3_column_int64(row, 2)));
	series->runs[series->nr++] = run;
}

static int each(struct reading *reading, sqlite3 *db, const char *sql,
		void (*take)(struct reading *reading, sqlite3_stmt *row))
{
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		take(reading, stmt);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

int vt_history_read(struct vt_history *history, const char *path, struct vt_diag *diag)
{
	struct reading reading = { .history = history };
	struct vt_db_defence defence;
	sqlite3 *db = NULL;
	int rc;

	memset(history, 0, sizeof(*history));
	if (open_file(&db, &defence, path, SQLITE_OPEN_READONLY, diag))
		return -1;
	rc = each(&reading, db, "SELECT id, time_s, revision FROM run ORDER BY id", take_run) ||
	     each(&reading, db, "SELECT name, unit, value, run FROM figure ORDER BY name, run",
		  take_figure);
	vt_vector_release(&reading.ids);
	if (rc)
		return fail(db, path, diag);
	sqlite3_close(db);
	for (uint32_t i = 0; i < history->nr_series; i++)
		vt_level_shifts_find(&history->series[i].steps, history->series[i].figures,
			      history->series[i].nr);
	return 0;
}

void vt_history_release(struct vt_history *history)
{
	for (uint32_t i = 0; i < history->nr_runs; i++)
		free(history->revisions[i]);
	for (uint32_t i = 0; i < history->nr_series; i++) {
		free(history->series[i].name);
		free(history->series[i].figures);
		free(history->series[i].runs);
		vt_vector_release(&history->series[i].steps);
	}
	free(history->revisions);
	free(history->times_s);
	free(history->series);
	memset(history, 0, sizeof(*history));
}

const char *vt_history_value(enum vt_budget_unit unit, double value, char *text)
{
	if (unit == VT_BUDGET_BYTES && value < 0)
		return vt_units_bytes_signed(text, VT_UNITS_MAX, (int64_t)value);
	if (unit == VT_BUDGET_BYTES)
		return vt_units_bytes(text, VT_UNITS_MAX, (uint64_t)value);
	snprintf(text, VT_UNITS_MAX, unit == VT_BUDGET_SHARE ? "%.2f %%" : "%.0f",
		 unit == VT_BUDGET_SHARE ? value / 100 : value);
	return text;
}

char *vt_history_sentence(const struct vt_history *history, const struct vt_history_series *series,
			  const struct vt_level_shift *step)
{
	uint32_t run = series->runs[step->at];
	double change = step->after - step->before;
	char before[VT_UNITS_MAX], after[VT_UNITS_MAX], by[VT_UNITS_MAX], share[VT_UNITS_MAX] = "";

	if (step->before > 0)
		snprintf(share, sizeof(share), " (%+.1f %%)", 100 * change / step->before);
	return vt_xasprintf("%s: %s%s%s at %s, run %u of %u: %s, was %s", series->name,
			    change < 0 ? "-" : "+",
			    vt_history_value(series->unit, change < 0 ? -change : change, by),
			    share, history->revisions[run], run + 1, history->nr_runs,
			    vt_history_value(series->unit, step->after, after),
			    vt_history_value(series->unit, step->before, before));
}
