/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FOLD_H
#define VT_ANALYZER_FOLD_H

/*
 * A recording that is kept within bounds: what was freed before its horizon (run.folded_event) is
 * deleted, but for what was live at the instants that are kept (schema.sql, table period).  The
 * README of analyzer/import says why so.
 *
 *  F1  A slice of events is folded in the transaction of the batch that made it necessary: SIGKILL
 *      at any instruction leaves the one or the other, whole.
 *  F2  A row that the importer may still change or go back to is not deleted.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/import/periods.h"
#include "common/keep.h"

/* What a batch adds to the log is beyond the bound where somebody keeps the log from ending. */
#define VT_FOLD_BATCH_RECORDS 20000

struct vt_fold {
	struct vt_db *db;
	struct vt_keep keep;
	struct vt_periods *periods; /* borrowed */
	uint64_t event;             /* the horizon: up to this one all is folded */
	uint64_t next_bytes;        /* nothing was left to fold: not before so many are used */
};

/* 0, or -1 with vt_db_error(), as the other. */
int vt_fold_init(struct vt_fold *fold, struct vt_db *db, const struct vt_keep *keep,
		 struct vt_periods *periods);
/* Within a transaction, before the rows of a batch up to `event` are added. */
int vt_fold_run(struct vt_fold *fold, uint64_t event, uint64_t time_ns);

#endif
