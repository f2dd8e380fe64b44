/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/options.h"
#include "analyzer/base/progress.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/base/new_file.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/recording_file.h"
#include "analyzer/database/db.h"
#include "analyzer/database/db_check.h"
#include "analyzer/input/replace.h"
#include "analyzer/snapshot/snapshot.h"

enum { OPTION_FORCE = 256 };

static const struct vt_option options[] = {
	{ 'o', "output", "FILE", "recording to write (default: the snapshot's name with .db)" },
	{ OPTION_FORCE, "force", NULL, "replace an existing recording" },
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "import",
	.synopsis = "[OPTION...] SNAPSHOT",
	.summary = "Turns a memory snapshot of PyTorch into a recording.",
	.options = options,
};

/* The name without what says how it is packed, and with .db; free(). */
static char *default_output(const char *path)
{
	static const char *const suffixes[] = { ".gz", ".zip", ".pickle", ".pkl" };
	char *stem = vt_xstrdup(path), *output;

	for (size_t i = 0; i < VT_ARRAY_SIZE(suffixes); i++)
		if (vt_util_has_suffix(stem, suffixes[i]))
			stem[strlen(stem) - strlen(suffixes[i])] = '\0';
	output = vt_xasprintf("%s.db", stem);
	free(stem);
	return output;
}

/* Fills a file that has another name until it is complete. */
static int fill(const char *snapshot, const char *part, struct vt_diag *diag)
{
	struct vt_progress progress;
	struct vt_db *db;
	int rc;

	if (vt_db_open(&db, part, VT_DB_CREATE, diag))
		return -1;
	vt_progress_init(&progress, "importing the snapshot");
	rc = vt_snapshot_import(snapshot, db, &progress, diag);
	vt_progress_end(&progress);
	if (!rc && vt_db_make_single_file(db)) {
		vt_db_diag(db, diag);
		rc = -1;
	}
	vt_db_close(db);
	return rc;
}

static int import(const char *snapshot, const char *output, int is_forced, struct vt_diag *diag)
{
	char *part = vt_new_file_part(output);
	int rc = fill(snapshot, part, diag);

	if (rc)
		vt_new_file_discard(part);
	else
		rc = vt_replace_publish(part, output, is_forced, diag);
	free(part);
	return rc;
}

/* 0, or -1 with `diag` filled. */
static int check(const char *snapshot, const char *output, int is_forced, struct vt_diag *diag)
{
	const char *what = NULL;

	/* What is no recording of ours, or a damaged one, no command reads. */
	if (vt_recording_file_is_sqlite(snapshot) && vt_db_check_file(snapshot, diag))
		return -1;
	if (vt_recording_file_is(snapshot))
		what = "is already a recording; nothing to import";
	else if (is_forced && vt_recording_file_is_same(snapshot, output))
		what = "is the snapshot; --force does not overwrite it";
	if (!what)
		return vt_replace_check_database(output, is_forced, diag);
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", snapshot, what);
	return -1;
}

int vt_cmd_import(int argc, char **argv)
{
	struct vt_diag diag = { 0 };
	char *output = NULL;
	int id, is_forced = 0, rc;

	while ((id = vt_options_next(&spec, argc, argv)) > 0) {
		if (id == 'o') {
			free(output);
			output = vt_xstrdup(optarg);
		} else {
			is_forced = 1;
		}
	}
	if (id == VT_OPTIONS_END && argc - optind != 1) {
		vt_options_wrong(&spec, argc == optind ? "needs a snapshot" :
							 "one snapshot at a time");
		id = VT_OPTIONS_WRONG;
	} else if (id == VT_OPTIONS_END && output && !strcmp(output, "-")) {
		vt_options_wrong(&spec, "a database cannot be written to standard output");
		id = VT_OPTIONS_WRONG;
	}
	if (id != VT_OPTIONS_END) {
		free(output);
		return vt_options_exit_code(id);
	}
	if (!output)
		output = default_output(argv[optind]);
	rc = check(argv[optind], output, is_forced, &diag) ||
			     import(argv[optind], output, is_forced, &diag) ?
		     vt_diag_print(&diag) :
		     VT_EXIT_OK;
	if (rc == VT_EXIT_OK)
		vt_printable_path(output);
	free(output);
	return rc;
}
