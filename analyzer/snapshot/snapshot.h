/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SNAPSHOT_H
#define VT_ANALYZER_SNAPSHOT_H

/*
 * A memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot and what writes the same) becomes
 * a database as a recording has it.
 *
 *  S1  Only what the snapshot says becomes a row.  run.snapshot says that it is one; what it cannot
 *      know is what the reports name (model/losses.h).
 *  S2  Entries become the records that the recorder would have written, and go through the same
 *      pairing, peaks and rows as a journal's (import/).
 *  S3  Memory is bounded by the size of the file, whatever it holds.
 */

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"

struct vt_progress;

/* Whether a file looks like a snapshot: by its first bytes, or by its name. */
int vt_snapshot_is_one(const char *path);

/* `db` is new.  0, or -1 with `diag` filled (exit code 3). */
int vt_snapshot_import(const char *path, struct vt_db *db, struct vt_progress *progress,
		       struct vt_diag *diag);

#endif
