/* SPDX-License-Identifier: MIT */
#include "analyzer/import/periods.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "common/kinds.h"

#define PERIOD_NS 3600000000000ull

void vt_periods_init(struct vt_periods *periods, struct vt_db *db, struct vt_peak_totals *peak,
		     uint64_t start_time_ns)
{
	memset(periods, 0, sizeof(*periods));
	periods->db = db;
	periods->peak = peak;
	periods->start_time_ns = start_time_ns;
	periods->set = vt_db_prepare(
		db, "INSERT OR REPLACE INTO period VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	periods->set_peak = vt_db_prepare(
		db, "INSERT OR REPLACE INTO period_peak VALUES (?, ?, ?, ?, ?, ?, ?)");
}

void vt_periods_release(struct vt_periods *periods)
{
	vt_stmt_free(periods->set);
	vt_stmt_free(periods->set_peak);
}

static int save_peak(struct vt_periods *periods, struct vt_peak_device *device)
{
	const struct vt_peak_instants *most = &device->period;
	const uint64_t values[] = {
		periods->now.id,          (uint64_t)device->id,  most->event,
		most->used_bytes,         most->allocated_bytes, most->max_allocated_event,
		most->max_allocated_bytes
	};

	if (!most->is_changed)
		return 0;
	device->period.is_changed = 0;
	for (int i = 0; i < (int)VT_ARRAY_SIZE(values); i++)
		vt_stmt_bind_int(periods->set_peak, i + 1, (int64_t)values[i]);
	return vt_stmt_step(periods->set_peak);
}

int vt_periods_save(struct vt_periods *periods)
{
	const struct vt_period *now = &periods->now;
	const uint64_t values[] = { now->id,          now->start_time_ns,   now->end_time_ns,
				    now->first_event, now->last_event,      now->allocations,
				    now->frees,       now->failed_requests, now->marks,
				    now->lost_events };
	int rc = 0;

	if (!now->id)
		return 0;
	for (int i = 0; i < (int)VT_ARRAY_SIZE(values); i++)
		vt_stmt_bind_int(periods->set, i + 1, (int64_t)values[i]);
	rc = vt_stmt_step(periods->set);
	for (size_t i = 0; i < periods->peak->devices.len && !rc; i++)
		rc = save_peak(periods, &periods->peak->devices.items[i]);
	return rc;
}

/* Brings the period up to the event, which may be the first of a new one. */
static int reach(struct vt_periods *periods, uint64_t event, uint64_t time_ns)
{
	uint64_t passed = time_ns > periods->start_time_ns ? time_ns - periods->start_time_ns : 0;
	uint64_t hour = passed / PERIOD_NS + 1;
	struct vt_period *now = &periods->now;

	if (hour > now->id) {
		if (vt_periods_save(periods))
			return -1;
		*now = (struct vt_period){
			.id = hour,
			.start_time_ns = periods->start_time_ns + (hour - 1) * PERIOD_NS,
			.first_event = event,
		};
		vt_peak_begin_period(periods->peak, event - 1);
	}
	now->last_event = event;
	if (time_ns > now->end_time_ns)
		now->end_time_ns = time_ns;
	return 0;
}

int vt_periods_note(struct vt_periods *periods, uint64_t event, uint64_t time_ns, unsigned int op,
		    uint64_t nr_lost)
{
	if (reach(periods, event, time_ns))
		return -1;
	periods->now.allocations += op == VT_OP_ALLOC;
	periods->now.frees += op == VT_OP_FREE;
	periods->now.failed_requests += op == VT_OP_OUT_OF_MEMORY;
	periods->now.lost_events += op == VT_OP_LOSS ? nr_lost : 0;
	return 0;
}

int vt_periods_note_mark(struct vt_periods *periods, uint64_t event, uint64_t time_ns)
{
	if (reach(periods, event, time_ns))
		return -1;
	periods->now.marks++;
	return 0;
}

static int load_peaks(struct vt_periods *periods)
{
	struct vt_stmt *stmt = vt_db_prepare(periods->db,
					     "SELECT device, event, used_bytes, allocated_bytes,"
					     " max_allocated_event, max_allocated_bytes"
					     " FROM period_peak WHERE period = ?");
	int rc;

	vt_stmt_bind_int(stmt, 1, (int64_t)periods->now.id);
	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct vt_peak_device *d =
			vt_peak_device_at(periods->peak, (int32_t)vt_stmt_int(stmt, 0));

		d->period = (struct vt_peak_instants){
			.event = (uint64_t)vt_stmt_int(stmt, 1),
			.used_bytes = (uint64_t)vt_stmt_int(stmt, 2),
			.allocated_bytes = (uint64_t)vt_stmt_int(stmt, 3),
			.max_allocated_event = (uint64_t)vt_stmt_int(stmt, 4),
			.max_allocated_bytes = (uint64_t)vt_stmt_int(stmt, 5),
		};
	}
	vt_stmt_free(stmt);
	return rc;
}

int vt_periods_load(struct vt_periods *periods)
{
	struct vt_stmt *stmt =
		vt_db_prepare(periods->db, "SELECT * FROM period ORDER BY id DESC LIMIT 1");
	int rc = vt_stmt_step(stmt);

	if (rc > 0) {
		uint64_t values[10];

		for (int i = 0; i < (int)VT_ARRAY_SIZE(values); i++)
			values[i] = (uint64_t)vt_stmt_int(stmt, i);
		periods->now =
			(struct vt_period){ values[0], values[1], values[2], values[3], values[4],
					    values[5], values[6], values[7], values[8], values[9] };
	}
	vt_stmt_free(stmt);
	return rc < 0 ? -1 : load_peaks(periods);
}

/*
 * Of the columns beside an aggregate of one maximum SQLite takes those of the row that has
 * it.
 */
static const char merge[] =
	"CREATE TEMP TABLE pair AS SELECT id, min(id) OVER (PARTITION BY half) AS first FROM"
	" (SELECT id, (row_number() OVER (ORDER BY id) - 1) / 2 AS half FROM period"
	" WHERE id < (SELECT max(id) FROM period));"
	"CREATE TEMP TABLE merged AS SELECT first AS id, min(start_time_ns), max(end_time_ns),"
	" min(first_event), max(last_event), sum(allocations), sum(frees), sum(failed_requests),"
	" sum(marks), sum(lost_events) FROM period JOIN pair USING (id) GROUP BY first;"
	"CREATE TEMP TABLE merged_used AS SELECT first, device, event,"
	" max(used_bytes) AS used_bytes, allocated_bytes FROM period_peak"
	" JOIN pair ON id = period GROUP BY first, device;"
	"CREATE TEMP TABLE merged_peak AS SELECT first, device, u.event, u.used_bytes,"
	" u.allocated_bytes, max_allocated_event, max(max_allocated_bytes)"
	" FROM period_peak p JOIN pair ON id = period JOIN merged_used u USING (first, device)"
	" GROUP BY first, device;"
	"DELETE FROM period WHERE id IN (SELECT id FROM pair);"
	"DELETE FROM period_peak WHERE period IN (SELECT id FROM pair);"
	"INSERT INTO period SELECT * FROM merged;"
	"INSERT INTO period_peak SELECT * FROM merged_peak;"
	"DROP TABLE pair; DROP TABLE merged; DROP TABLE merged_used; DROP TABLE merged_peak";

int vt_periods_merge(struct vt_periods *periods)
{
	return vt_db_exec(periods->db, merge);
}
