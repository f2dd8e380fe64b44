/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_H
#define VT_ANALYZER_IMPORT_H

/*
 * Journal records to database rows, in batches.
 *
 *  I1  A batch and the slot up to which it was read are one transaction: after SIGKILL at any
 *      instruction the next import continues exactly after the last committed batch.
 *  I2  The rows do not depend on how the records were cut into batches or imports.
 *  I3  After an error nothing of the batch is in the database, and the import must be given up:
 *      what it keeps in memory is then ahead of the rows.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"
#include "common/journal_format.h"

struct vt_import;

/* What the journal's header shows while the import runs. */
struct vt_import_progress {
	uint64_t imported_slots;
	uint64_t event_count;
};

/*
 * Starts an import into an empty database, or continues one that was interrupted.  `db` is
 * borrowed. Returns -1 with `diag` filled if the database belongs to another run or is ahead of the
 * journal.
 */
int vt_import_open(struct vt_import **im, struct vt_db *db, const struct vt_journal_header *header,
		   struct vt_diag *diag);
void vt_import_close(struct vt_import *im);

/*
 * Imports what is there, at most `max_records` records, and commits.  `slots` is slot 0 of the
 * journal.  Returns how many slots were read or passed, 0 if there is nothing (yet), -1 with `diag`
 * filled.
 */
int64_t vt_import_batch(struct vt_import *im, const struct vt_journal_header *header,
			const void *slots, uint64_t nr_slots, int is_writer_dead,
			uint64_t max_records, struct vt_diag *diag);

/*
 * The program is dead and everything is imported: writes how it ended.  What somebody who knew
 * better has written ("signal 9", by the parent) stays.  `missing_slots`: what the journal should
 * hold beyond its end, 0 if it is whole.
 */
int vt_import_finish(struct vt_import *im, const struct vt_journal_header *header,
		     uint64_t missing_slots, struct vt_diag *diag);

/* Whether only a part of the past is kept (VTRACE_KEEP). */
int vt_import_is_folding(const struct vt_import *im);
/*
 * 0: of a recording with VTRACE_KEEP the log of the database is as long as it may be, and cannot
 * begin anew while somebody reads what was there before.  A batch would be beyond the bound.
 */
int vt_import_has_room(struct vt_import *im);

void vt_import_get_progress(const struct vt_import *im, struct vt_import_progress *progress);

#endif
