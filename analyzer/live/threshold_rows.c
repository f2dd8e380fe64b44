/* SPDX-License-Identifier: MIT */
#include "analyzer/live/threshold_rows.h"

#include <stdlib.h>
#include <unistd.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/base/clock.h"
#include "analyzer/database/db.h"
#include "analyzer/input/input.h"

static const char insert[] =
	"INSERT INTO warning (time_ns, event, device, threshold, is_reached, bytes,"
	" threshold_bytes, what) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";

static int add_row(struct vt_db *db, const struct vt_threshold_event *event)
{
	struct vt_stmt *stmt = vt_db_prepare(db, insert);
	const struct vt_rank *rank = event->rank;
	int64_t peak_ns = rank->start_time_ns + rank->peak_time_ns;
	int rc;

	vt_stmt_bind_int(stmt, 1, event->is_of_peak ? peak_ns : (int64_t)vt_clock_ns());
	/* Of the look: more may have been imported since. */
	vt_stmt_bind_int(stmt, 2, event->is_of_peak ? rank->event : rank->events);
	vt_stmt_bind_int(stmt, 3, rank->device);
	vt_stmt_bind_text(stmt, 4, event->rule->text);
	vt_stmt_bind_int(stmt, 5, event->is_over);
	vt_stmt_bind_int(stmt, 6, event->bytes);
	vt_stmt_bind_int(stmt, 7, (int64_t)event->threshold_bytes);
	vt_stmt_bind_text(stmt, 8, event->what);
	rc = vt_stmt_step(stmt);
	vt_stmt_free(stmt);
	return rc < 0 ? -1 : 0;
}

/* It ended after the look: the file is one again, as its collector left it. */
static void leave(struct vt_db *db)
{
	char *ended = vt_db_run_get(db, "ended");

	if (!vt_ended_is_running(ended))
		vt_db_make_single_file(db);
	free(ended);
}

int vt_threshold_rows_add(const struct vt_threshold_event *event, struct vt_diag *diag)
{
	char *database, *journal;
	struct vt_db *db = NULL;
	int rc = 0;

	if (!event->is_of_peak && !vt_ended_is_running(event->rank->ended))
		return 0;
	vt_input_paths(event->rank->file, &database, &journal);
	if (!access(database, F_OK)) {
		rc = vt_db_open(&db, database, VT_DB_WRITE, diag);
		if (!rc && add_row(db, event)) {
			vt_db_diag(db, diag);
			rc = -1;
		}
	}
	if (db)
		leave(db);
	vt_db_close(db);
	free(database);
	free(journal);
	return rc;
}
