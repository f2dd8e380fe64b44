/* SPDX-License-Identifier: MIT */
#include "analyzer/input/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/progress.h"
#include "analyzer/import/collect.h"
#include "analyzer/import/journal_file.h"
#include "analyzer/base/process.h"
#include "analyzer/import/resolve.h"
#include "analyzer/base/util.h"
#include "analyzer/snapshot/snapshot.h"

#define DATABASE_SUFFIX ".db"
#define JOURNAL_SUFFIX  ".journal"

/*
 * The collector of a dead program is waited for this long while nothing more of the journal is in
 * its database.  A transaction, and the end of an import, which looks up symbols, take less.
 */
#define LONGEST_WAIT_MS 60000
#define PAUSE_MS        20

void vt_input_paths(const char *path, char **database_path, char **journal_path)
{
	int is_database = vt_util_has_suffix(path, DATABASE_SUFFIX);
	int is_journal = vt_util_has_suffix(path, JOURNAL_SUFFIX);
	size_t stem = strlen(path);

	if (is_database)
		stem -= strlen(DATABASE_SUFFIX);
	else if (is_journal)
		stem -= strlen(JOURNAL_SUFFIX);
	*database_path = vt_xasprintf("%.*s%s", (int)stem, path, DATABASE_SUFFIX);
	*journal_path = vt_xasprintf("%.*s%s", (int)stem, path, JOURNAL_SUFFIX);
	/* A database under a name of the user's own choice. */
	if (!is_database && !is_journal && access(*database_path, F_OK) &&
	    access(*journal_path, F_OK)) {
		free(*database_path);
		*database_path = vt_xstrdup(path);
	}
}

static void show_progress(void *context, uint64_t done, uint64_t all)
{
	vt_progress_share(context, done, all);
}

int vt_input_is_writer_alive(const char *journal)
{
	struct vt_journal_header header;
	struct vt_process process;
	int is_alive;

	/* Gone in this moment: finished. */
	if (vt_journal_file_peek(journal, &header, NULL))
		return 0;
	/* Its collector is at work, and knows. */
	if (vt_journal_file_is_elsewhere(&header))
		return 1;
	vt_process_open(&process, header.pid, header.process_start_ticks);
	is_alive = vt_process_is_alive(&process);
	vt_process_close(&process);
	return is_alive;
}

/* How far an import is; 0 where it cannot be seen. */
static uint64_t imported_slots(const char *journal)
{
	struct vt_journal_header header;

	return vt_journal_file_peek(journal, &header, NULL) ? 0 : header.imported_slots;
}

int vt_input_wait(const char *journal, const char *database,
		  const struct vt_input_patience *patience, struct vt_diag *diag)
{
	uint64_t before = imported_slots(journal), now;
	unsigned looks = 0;

	while (looks < patience->nr_looks) {
		if (access(journal, F_OK) || !vt_journal_file_is_held(journal))
			return 1;
		if (vt_input_is_writer_alive(journal) && !access(database, F_OK))
			return 0;
		patience->pause(patience->context);
		now = imported_slots(journal);
		looks = now == before ? looks + 1 : 0;
		before = now;
	}
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: its collector makes no progress",
		    journal);
	return -1;
}

static void sleep_between_looks(void *context)
{
	struct timespec pause = { 0, PAUSE_MS * 1000000L };

	(void)context;
	nanosleep(&pause, NULL);
}

/* Brings the database up to the journal.  0, or -1 with `diag` filled. */
static int take_up(const char *journal, const char *database, int *is_live, struct vt_diag *diag)
{
	static const struct vt_input_patience patience = { LONGEST_WAIT_MS / PAUSE_MS,
							   sleep_between_looks, NULL };
	struct vt_progress progress;
	struct vt_collect_options options = { .progress = show_progress, .context = &progress };
	enum vt_collect_result result;
	struct vt_diag said = { 0 };
	int rc;

	vt_progress_init(&progress, "importing the journal");
	do {
		result = vt_collect_run(journal, database, &options, &said);
		rc = result == VT_COLLECT_BUSY ?
			     vt_input_wait(journal, database, &patience, &said) :
			     0;
	} while (rc > 0 && !access(journal, F_OK));
	vt_progress_end(&progress);
	if (result == VT_COLLECT_ELSEWHERE)
		vt_diag_print(&said);
	else if (said.exit_code)
		vt_diag_set(diag, said.exit_code, "%s", said.text);
	*is_live = result == VT_COLLECT_ALIVE || result == VT_COLLECT_ELSEWHERE ||
		   (result == VT_COLLECT_BUSY && !rc);
	return rc < 0 || result == VT_COLLECT_FAILED ? -1 : 0;
}

/* A living program's collector leaves the symbols to whoever wants to read them. */
static void resolve_live(const char *database)
{
	struct vt_db *db;

	if (vt_db_open(&db, database, VT_DB_WRITE, NULL))
		return;
	vt_resolve_frames(db, NULL);
	vt_db_close(db);
}

/*
 * Somebody read the database when its writer ended: the rest of it stayed in the log beside it, and
 * a copy of the file alone would have a half.
 */
static void merge_log(const char *database)
{
	char *log = vt_xasprintf("%s-wal", database);
	struct stat st;
	struct vt_db *db;

	if (!stat(log, &st) && st.st_size && !vt_db_open(&db, database, VT_DB_WRITE, NULL)) {
		struct vt_diag diag = { 0 };

		if (!vt_db_make_single_file(db)) {
			vt_diag_set(&diag, VT_EXIT_OK, "%s: merged the data left in %s", database,
				    log);
			vt_diag_print(&diag);
		}
		vt_db_close(db);
	}
	free(log);
}

/* Nothing is written: whoever reads it again and again imports it to a file. */
static int open_snapshot(const char *path, struct vt_db **db, struct vt_diag *diag)
{
	struct vt_progress progress;
	int rc;

	if (vt_db_open_memory(db, path, diag))
		return -1;
	vt_progress_init(&progress, "reading the snapshot");
	rc = vt_snapshot_import(path, *db, &progress, diag);
	vt_progress_end(&progress);
	if (rc) {
		vt_db_close(*db);
		*db = NULL;
	}
	return rc;
}

int vt_input_open(const char *path, struct vt_db **db, struct vt_diag *diag)
{
	char *database, *journal;
	int is_live = 0, rc = -1, error;

	if (vt_snapshot_is_one(path))
		return open_snapshot(path, db, diag);
	vt_input_paths(path, &database, &journal);
	error = access(database, F_OK) ? errno : 0;
	if (error && access(journal, F_OK)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(error));
		goto out;
	}
	if (!access(journal, F_OK) && take_up(journal, database, &is_live, diag))
		goto out;
	if (is_live)
		resolve_live(database);
	else if (access(journal, F_OK))
		merge_log(database);
	rc = vt_db_open(db, database, VT_DB_READ, diag);
out:
	free(database);
	free(journal);
	return rc;
}
