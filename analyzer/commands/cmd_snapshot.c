/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/base/clock.h"
#include "analyzer/base/diag.h"
#include "analyzer/base/new_file.h"
#include "analyzer/base/options.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/recording_file.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/database/db.h"
#include "analyzer/import/journal_file.h"
#include "analyzer/input/input.h"
#include "analyzer/input/replace.h"
#include "analyzer/live/find.h"
#include "analyzer/ranks/folder.h"

/* The collector reads every few milliseconds: longer is a collector that starves. */
#define LONGEST_WAIT_NS 10000000000ull

enum { OPTION_FORCE = 256 };

static const struct vt_option options[] = {
	{ 'o', "output", "FILE", "recording to write (default: NAME-snapshot.db)" },
	{ OPTION_FORCE, "force", NULL, "replace an existing FILE" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "snapshot",
	.synopsis = "[OPTION...] PID|FILE",
	.summary = "Saves what a running program has recorded so far as a separate recording.",
	.options = options,
};

/* Until all is in the database that the program had recorded when this was called. */
static void wait_for_collector(const char *path)
{
	uint64_t end = vt_clock_ns() + LONGEST_WAIT_NS, wanted = 0;
	struct timespec pause = { 0, 5000000 };
	struct vt_journal_header header = { 0 };
	char *database, *journal;

	vt_input_paths(path, &database, &journal);
	if (!vt_journal_file_peek(journal, &header, NULL)) {
		wanted = header.head_slots;
		while (header.imported_slots < wanted && vt_clock_ns() < end &&
		       vt_journal_file_is_held(journal)) {
			nanosleep(&pause, NULL);
			if (vt_journal_file_peek(journal, &header, NULL))
				break;
		}
	}
	if (header.imported_slots < wanted && vt_journal_file_is_held(journal))
		fputs("vtrace: the collector did not catch up: the last events are missing\n",
		      stderr);
	free(database);
	free(journal);
}

static char *name_beside(const char *path)
{
	char *database, *journal, *name;

	vt_input_paths(path, &database, &journal);
	name = vt_xasprintf("%.*s-snapshot.db", (int)(strlen(journal) - strlen(".journal")),
			    journal);
	free(database);
	free(journal);
	return name;
}

/* SQLite writes into an empty file; one that it made itself would be readable by everyone. */
static int make_private(const char *part, const char *output, struct vt_diag *diag)
{
	int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);

	if (fd < 0) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", output, strerror(errno));
		return -1;
	}
	close(fd);
	return 0;
}

/* One statement of SQLite's reads one state of the database, whoever writes meanwhile. */
static int copy(struct vt_db *db, const char *part, const char *output, struct vt_diag *diag)
{
	struct vt_stmt *stmt = vt_db_prepare(db, "VACUUM INTO ?");
	int rc;

	vt_stmt_bind_text(stmt, 1, part);
	rc = vt_stmt_step(stmt);
	if (rc)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", output, vt_db_error(db));
	vt_stmt_free(stmt);
	return rc;
}

/* Of a program that runs the copy is of this moment, and nobody is to wait for it. */
static int set_end(struct vt_db *db)
{
	char *ended = vt_db_run_get(db, "ended");
	int rc = 0;

	if (vt_ended_is_running(ended))
		rc = vt_db_run_set_int(db, "duration_ns", vt_ended_ran_ns(db)) ||
		     vt_db_run_set(db, "ended", "frozen");
	free(ended);
	return rc;
}

static int mark(const char *part, struct vt_diag *diag)
{
	struct vt_db *db = NULL;
	int rc = vt_db_open(&db, part, VT_DB_WRITE, diag);

	if (!rc &&
	    (vt_db_run_set_int(db, "snapshot_realtime_ns", (int64_t)vt_clock_realtime_ns()) ||
	     set_end(db) || vt_db_make_single_file(db))) {
		vt_db_diag(db, diag);
		rc = -1;
	}
	vt_db_close(db);
	return rc;
}

/* --force is not for the recording that is being written. */
static int is_itself(const char *path, const char *output, struct vt_diag *diag)
{
	char *database, *journal;
	int is_same;

	vt_input_paths(path, &database, &journal);
	is_same = vt_recording_file_is_same(database, output) ||
		  vt_recording_file_is_same(journal, output);
	free(database);
	free(journal);
	if (is_same)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: is the recording itself", output);
	return is_same;
}

static int freeze(const char *path, const char *output, int is_forced, struct vt_diag *diag)
{
	struct vt_db *db = NULL;
	char *part = NULL;
	int rc = -1;

	if (is_itself(path, output, diag) || vt_replace_check_database(output, is_forced, diag))
		return -1;
	wait_for_collector(path);
	if (vt_input_open(path, &db, diag))
		return -1;
	part = vt_new_file_part(output);
	rc = make_private(part, output, diag);
	if (!rc)
		rc = copy(db, part, output, diag);
	vt_db_close(db);
	if (!rc)
		rc = mark(part, diag);
	if (rc)
		vt_new_file_discard(part);
	else
		rc = vt_replace_publish(part, output, is_forced, diag);
	free(part);
	return rc;
}

int vt_cmd_snapshot(int argc, char **argv)
{
	char *path, *standard = NULL;
	struct vt_diag diag = { 0 };
	const char *output = NULL;
	int id, is_forced = 0, rc;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		if (id == 'o')
			output = optarg;
		else
			is_forced = 1;
	}
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1 || vt_folder_is_one(argv[optind]))
		return vt_options_wrong(&spec, "needs a process or a recording");
	path = vt_live_find(argv[optind], &diag);
	if (!path)
		return vt_diag_print(&diag);
	if (!output)
		output = standard = name_beside(path);
	rc = freeze(path, output, is_forced, &diag);
	if (!rc)
		vt_printable_path(output);
	free(standard);
	free(path);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}
