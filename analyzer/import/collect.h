/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_COLLECT_H
#define VT_ANALYZER_COLLECT_H

/*
 * One journal to its database, from beginning to end: follows a living program, or takes up what a
 * dead one left.
 *
 * The journal is deleted only after everything in it is in a finished database, and no earlier:
 * stopped at any instruction, the next call continues.  While it follows a running program, a
 * database that somebody else has locked is tried again and again.
 */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"

enum vt_collect_result {
	VT_COLLECT_DONE = 0,    /* the database is finished, the journal gone or, if cut, kept */
	VT_COLLECT_FAILED = -1, /* `diag` says why; the journal is kept */
	VT_COLLECT_BUSY = -2,   /* somebody else does it at this moment */
	VT_COLLECT_ALIVE = -3,  /* `is_following` was 0 and the program lives: imported so far */
	/*
	 * Recorded on another machine, before a reboot, or in another container: whether the
	 * program lives cannot be known here.  Imported so far, the journal is kept; `diag` says
	 * so.
	 */
	VT_COLLECT_ELSEWHERE = -4,
};

struct vt_collect_options {
	int is_following;   /* stay until the program has ended */
	int is_writer_dead; /* the user says so: believed where it cannot be known */
	uint64_t patience_ns; /* for how long somebody else may hold the journal: BUSY then */
	/* Called once the journal is held, and its header says by whom; may be NULL. */
	void (*taken_up)(void);
	/*
	 * Called once, when everything of a program that ends was imported: the highest use of a
	 * device, for the line that the program then prints; may be NULL.
	 */
	void (*highest_use)(struct vt_db *db, uint64_t *bytes, int32_t *device);
	/* Called now and then with the share that is done; may be NULL. */
	void (*progress)(void *context, uint64_t slots_done, uint64_t slots_all);
	void *context;
};

enum vt_collect_result vt_collect_run(const char *journal_path, const char *database_path,
				      const struct vt_collect_options *options,
				      struct vt_diag *diag);

#endif
