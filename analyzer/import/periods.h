/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PERIODS_H
#define VT_ANALYZER_PERIODS_H

/*
 * What stays of each hour when its single allocations go (schema.sql, tables period and
 * period_peak): counts, and the instants of most use.  Counted event by event during an import.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "analyzer/import/peak.h"

struct vt_period {
	uint64_t id; /* which hour of the run, from 1; 0: none yet */
	uint64_t start_time_ns, end_time_ns;
	uint64_t first_event, last_event;
	uint64_t allocations, frees, failed_requests, marks, lost_events;
};

struct vt_periods {
	struct vt_db *db;
	struct vt_peak_totals *peak; /* borrowed */
	uint64_t start_time_ns;      /* of the run */
	struct vt_period now;
	struct vt_stmt *set, *set_peak;
};

void vt_periods_init(struct vt_periods *periods, struct vt_db *db, struct vt_peak_totals *peak,
		     uint64_t start_time_ns);
void vt_periods_release(struct vt_periods *periods);

/*
 * The next event, before it changes the totals; `nr_lost`: of a record of lost events.  Returns 0,
 * or -1 with vt_db_error(), as the others.
 */
int vt_periods_note(struct vt_periods *periods, uint64_t event, uint64_t time_ns, unsigned int op,
		    uint64_t nr_lost);
int vt_periods_note_mark(struct vt_periods *periods, uint64_t event, uint64_t time_ns);
/* Writes the current period; reads back the last one. */
int vt_periods_save(struct vt_periods *periods);
int vt_periods_load(struct vt_periods *periods);
/* Of all periods that are over, makes one of each two that follow each other. */
int vt_periods_merge(struct vt_periods *periods);

#endif
