/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/analysis/device_use.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/import/collect.h"
#include "analyzer/base/diag.h"
#include "analyzer/database/db_check.h"
#include "analyzer/import/detach.h"
#include "analyzer/input/input.h"
#include "analyzer/import/journal_file.h"
#include "analyzer/base/options.h"

enum {
	OPTION_FOREGROUND = 256,
	OPTION_DEAD,
};

/* For how long another command may import what is there, before it is taken for a collector. */
#define LONGEST_LOOK_NS 10000000000ull

static const struct vt_option options[] = {
	{ OPTION_FOREGROUND, "foreground", NULL, "stay in the foreground and report errors" },
	{ OPTION_DEAD, "dead", NULL,
	  "assume that the program ended, on another machine, in another container or before a "
	  "reboot" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "collect",
	.synopsis = "[--foreground] [--dead] FILE.journal",
	.summary =
		"Converts a journal to a database while the program runs. The recorder starts it;\n"
		"other commands import a journal that was left behind.",
	.options = options,
};

/*
 * While there is somebody to tell.  1: somebody else has made the database already; -1: `diag` says
 * why the journal cannot be read.
 */
static int check(const char *path, const char *journal, const char *database, struct vt_diag *diag)
{
	struct vt_journal_header header;
	struct vt_diag why = { 0 };

	if (!vt_journal_file_peek(journal, &header, &why))
		return 0;
	if (!access(journal, F_OK) || errno != ENOENT)
		*diag = why;
	else if (!vt_db_check_file(database, NULL))
		return 1;
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path,
			    access(path, F_OK)
				    ? strerror(errno)
				    : "not a vtrace journal, and there is none next to it");
	return -1;
}

static void find_highest_use(struct vt_db *db, uint64_t *bytes, int32_t *device)
{
	struct vt_device_use highest = vt_device_use_highest(db);

	*bytes = highest.peak_bytes;
	*device = highest.device;
}

static int collect(const char *journal, const char *database, int is_foreground, int is_writer_dead,
		   struct vt_diag *diag)
{
	struct vt_collect_options collect_options = {
		.is_following = 1,
		.is_writer_dead = is_writer_dead,
		/* A command that looks at a program that has just begun does not keep us away. */
		.patience_ns = is_foreground ? 0 : LONGEST_LOOK_NS,
		.highest_use = find_highest_use,
		.taken_up = is_foreground ? NULL : vt_detach_let_go,
	};
	int rc = vt_collect_run(journal, database, &collect_options, diag);

	if (rc == VT_COLLECT_BUSY)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: another collector is importing it",
			    journal);
	return rc;
}

/* Returns the exit code. */
static int check_and_collect(const char *path, int is_foreground, int is_writer_dead)
{
	struct vt_diag diag = { 0 };
	char *database, *journal;
	sigset_t none;
	int rc;

	vt_input_paths(path, &database, &journal);
	rc = check(path, journal, database, &diag);
	if (rc)
		goto out;
	if (!is_foreground && vt_detach()) {
		vt_diag_set(&diag, VT_EXIT_UNREADABLE, "cannot run in the background: %s",
			    strerror(errno));
		rc = -1;
		goto out;
	}
	/* Started inside a program we have its mask; interrupts of its terminal are not for us. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	rc = collect(journal, database, is_foreground, is_writer_dead, &diag);
out:
	free(database);
	free(journal);
	return rc < 0 ? vt_diag_print(&diag) : VT_EXIT_OK;
}

int vt_cmd_collect(int argc, char **argv)
{
	int is_foreground = 0, is_writer_dead = 0, id;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		is_foreground |= id == OPTION_FOREGROUND;
		is_writer_dead |= id == OPTION_DEAD;
	}
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, "needs one journal");
	return check_and_collect(argv[optind], is_foreground, is_writer_dead);
}
