/* SPDX-License-Identifier: MIT */
#include "analyzer/input/replace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/new_file.h"
#include "analyzer/base/util.h"
#include "analyzer/database/db_check.h"
#include "analyzer/import/journal_file.h"
#include "analyzer/input/input.h"

/* A link that leads nowhere is there: nothing is made through it. */
static int has_name(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Not a recording: --force would refuse it, too, so it is not offered without saying that. */
static int refuse_other(int is_forced, struct vt_diag *diag)
{
	struct vt_diag reason = *diag;

	if (!is_forced) {
		memset(diag, 0, sizeof(*diag));
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s; --force only overwrites recordings",
			    reason.text);
	}
	return -1;
}

/* What --force does not replace either has another cure. */
static int check_old(const char *database, const char *journal, int is_forced, struct vt_diag *diag)
{
	struct vt_journal_header header;

	if (has_name(database) && access(database, F_OK)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: is a dangling symbolic link", database);
		return -1;
	}
	if (has_name(database) && vt_db_check_file(database, diag))
		return refuse_other(is_forced, diag);
	if (access(journal, F_OK))
		return 0;
	if (vt_journal_file_peek(journal, &header, diag))
		return refuse_other(is_forced, diag);
	if (!vt_journal_file_is_held(journal) && !vt_input_is_writer_alive(journal))
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE,
		    "%s: a recording is in progress; --force does not overwrite it", journal);
	return -1;
}

int vt_replace_check(const char *database, const char *journal, int is_forced, struct vt_diag *diag)
{
	if (!has_name(database) && !has_name(journal))
		return 0;
	if (check_old(database, journal, is_forced, diag))
		return -1;
	if (is_forced)
		return 0;
	vt_new_file_exists(has_name(database) ? database : journal, diag);
	return -1;
}

static char *journal_of(const char *output)
{
	char *database, *journal;

	vt_input_paths(output, &database, &journal);
	free(database);
	return journal;
}

int vt_replace_check_database(const char *output, int is_forced, struct vt_diag *diag)
{
	char *journal = journal_of(output);
	int rc = -1;

	if (strcmp(output, journal) != 0)
		rc = vt_replace_check(output, journal, is_forced, diag);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: names ending in .journal are reserved",
			    output);
	free(journal);
	return rc;
}

static void clear(const char *output)
{
	char *files[] = { vt_xasprintf("%s-wal", output), vt_xasprintf("%s-shm", output),
			  journal_of(output) };

	for (size_t i = 0; i < VT_ARRAY_SIZE(files); i++) {
		unlink(files[i]);
		free(files[i]);
	}
}

int vt_replace_publish(const char *part, const char *output, int is_forced, struct vt_diag *diag)
{
	/* A program may have begun to record under that name meanwhile. */
	if (vt_replace_check_database(output, is_forced, diag)) {
		vt_new_file_discard(part);
		return -1;
	}
	if (is_forced)
		clear(output);
	return vt_new_file_publish(part, output, is_forced, diag);
}
