/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_INPUT_H
#define VT_ANALYZER_INPUT_H

/*
 * From what the user typed to an open database.  NAME, NAME.db and NAME.journal all mean the same
 * recording.  An unfinished journal beside it is imported first; where a collector is still at work
 * on a living program, what is there so far is read (run.ended = "running"); on a dead one, its end
 * is waited for.  A program on another machine or in another container is one line on standard
 * error, and what is there so far.  A memory snapshot of PyTorch is read into a database in memory.
 */

#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"

/*
 * Opens for reading.  Returns 0, or -1 with `diag` filled (exit code 3): missing, foreign,
 * truncated, empty, newer, no permission, no room to import into.  An import that fails leaves the
 * journal where it is.
 */
int vt_input_open(const char *path, struct vt_db **db, struct vt_diag *diag);

/* The two files that belong to `path`; both are the caller's to free(). */
void vt_input_paths(const char *path, char **database_path, char **journal_path);

/*
 * How an importer at work is waited for: `pause` is called between two looks at it, and so many
 * looks that see it get no further are enough.
 */
struct vt_input_patience {
	unsigned nr_looks;
	void (*pause)(void *context);
	void *context;
};

/*
 * While somebody else imports.  Returns 1 when there is something to do again (it has ended), 0 if
 * its database is to be read as it is (the program lives), or -1 with `diag` filled: it is stuck.
 */
int vt_input_wait(const char *journal_path, const char *database_path,
		  const struct vt_input_patience *patience, struct vt_diag *diag);

/* Whether the program that writes the journal lives; 0 where there is none. */
int vt_input_is_writer_alive(const char *journal_path);

#endif
