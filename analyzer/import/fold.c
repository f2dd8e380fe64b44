/* SPDX-License-Identifier: MIT */
#include "analyzer/import/fold.h"

#include <string.h>

#include "analyzer/database/allocation_base.h"
#include "analyzer/import/run_keys.h"
#include "analyzer/base/util.h"
#include "common/kinds.h"

/* Events that go at once: what a transaction writes to the log grows with them. */
#define SLICE_EVENTS 16384

/*
 * After the horizon there are always so many: a free that failed takes back the free before it,
 * which the same thread has just said.
 */
#define LEAST_EVENTS 65536

/* One transaction's rows. */
#define SPARE_BYTES (4ull << 20)

/* Two weeks of hours; then they become pairs. */
#define MOST_PERIODS 336

/*
 * Kinds whose lives the importer reads back from their events (import_allocations_resume.c); they
 * are folded with their events or not at all.
 */
#define HANDLES "(3, 8, 9, 13, 14)"
_Static_assert(VT_KIND_VMM == 3 && VT_KIND_IPC == 8 && VT_KIND_GRAPH == 9 &&
		       VT_KIND_IMPORTED == 13 && VT_KIND_MULTICAST == 14,
	       "HANDLES");
_Static_assert(VT_KIND_SEGMENT == 2 && VT_KIND_POOL == 4 && VT_OP_FREE == 2 &&
		       VT_OP_FREE_FAILED == 3 && VT_OP_MEMORY_INFO == 11 && VT_OP_TRIM == 20,
	       "the numbers below");

static const char instants[] =
	"DELETE FROM temp.instant;"
	"INSERT INTO temp.instant SELECT event FROM ("
	"SELECT event FROM peak UNION SELECT max_allocated_event FROM peak"
	" UNION SELECT event FROM period_peak"
	" UNION SELECT max_allocated_event FROM period_peak"
	" UNION SELECT min(event) FROM out_of_memory"
	" UNION SELECT (SELECT max(event) FROM out_of_memory"
	" WHERE event BETWEEN first_event AND last_event) FROM period WHERE failed_requests)"
	" WHERE event IS NOT NULL";

/* :1 the horizon. */
static const char *const deletions[] = {
	"DELETE FROM allocation_row WHERE id <= ?1 AND id + lived_events <= ?1 AND"
	" (SELECT kind FROM allocation_callers c JOIN allocation_made m ON m.id = c.made"
	" WHERE c.id = callers) NOT IN " HANDLES
	" AND NOT EXISTS (SELECT 1 FROM temp.instant i WHERE i.event >= allocation_row.id AND"
	" i.event < allocation_row.id + lived_events)",
	"DELETE FROM allocation_parent WHERE allocation <= ?1 AND"
	" NOT EXISTS (SELECT 1 FROM allocation_row WHERE id = allocation)",
	"DELETE FROM allocation_base AS b WHERE id < " VT_ALLOCATION_BASE_ID("?1")
	" AND NOT EXISTS (SELECT 1 FROM allocation_row r WHERE r.id BETWEEN"
	" " VT_ALLOCATION_BASE_FIRST("b.id") " AND " VT_ALLOCATION_BASE_LAST("b.id") ")",
	/* The last is what the importer compares the next with. */
	"DELETE FROM allocator_reserved WHERE (device, event) IN (SELECT device, event FROM"
	" (SELECT device, event, lead(event) OVER (PARTITION BY device ORDER BY event) AS next"
	" FROM allocator_reserved) WHERE event <= ?1 AND next IS NOT NULL AND NOT EXISTS"
	" (SELECT 1 FROM allocation_row r WHERE r.id >= event AND r.id < next))",
	/* What a pool held is known by the last time that it was said before an instant. */
	"DELETE FROM event WHERE id <= ?1 AND ("
	" (op IN (2, 3) AND kind NOT IN (4, 8) AND kind NOT IN " HANDLES
	")"
	" OR (op = 11 AND kind = 2 AND id NOT IN (SELECT min(id) FROM event WHERE op = 11 AND"
	" kind = 2 GROUP BY device UNION SELECT max(id) FROM event WHERE op = 11 AND kind = 2 AND"
	" id <= ?1 GROUP BY device))"
	" OR op = 20 OR id IN (SELECT id FROM (SELECT id, lead(id) OVER"
	" (PARTITION BY kind, device, address ORDER BY id) AS next FROM event"
	" WHERE op = 11 AND kind != 2 AND id <= ?1)"
	" WHERE next IS NOT NULL AND NOT EXISTS (SELECT 1 FROM temp.instant i WHERE i.event >= id"
	" AND i.event < next)))",
	/* Ranges that are open at the horizon keep their beginning. */
	"DELETE FROM mark WHERE event <= ?1 AND event NOT IN"
	" (SELECT event FROM (SELECT event, kind, depth, min(depth) OVER (PARTITION BY thread "
	"ORDER BY event ROWS BETWEEN CURRENT ROW AND"
	" UNBOUNDED FOLLOWING) AS least FROM (SELECT event, kind, thread, sum(CASE kind WHEN 2"
	" THEN 1 WHEN 3 THEN -1 ELSE 0 END) OVER (PARTITION BY thread ORDER BY event) AS depth"
	" FROM mark WHERE event <= ?1)) WHERE kind = 2 AND least >= depth)",
	"DELETE FROM out_of_memory WHERE event <= ?1 AND event NOT IN"
	" (SELECT event FROM temp.instant)",
	/* What was seen of memory of which there is no row any more. */
	"DELETE FROM temp.kept",
	"INSERT INTO temp.kept SELECT address, id, ifnull(freed_event, 1 << 62) FROM allocation"
	" WHERE id <= ?1 AND EXISTS (SELECT 1 FROM tensor)",
	"DELETE FROM tensor WHERE event <= ?1 AND NOT EXISTS (SELECT 1 FROM temp.kept k WHERE"
	" k.address = tensor.address AND k.id <= tensor.event AND k.freed_event > tensor.event)",
};
_Static_assert(VT_MARK_BEGIN == 2 && VT_MARK_END == 3, "the marks above");

int vt_fold_init(struct vt_fold *fold, struct vt_db *db, const struct vt_keep *keep,
		 struct vt_periods *periods)
{
	*fold = (struct vt_fold){ .db = db, .keep = *keep, .periods = periods };
	fold->event = (uint64_t)vt_db_run_get_int(db, vt_run_key(VT_RUN_FOLDED_EVENT), 0);
	if (keep->bytes && vt_db_limit_log(db, vt_keep_log_bytes(keep) / 4))
		return -1;
	return vt_db_exec(db,
			  "CREATE TEMP TABLE instant (event INTEGER PRIMARY KEY);"
			  "CREATE TEMP TABLE kept (address, id, freed_event);"
			  "CREATE INDEX temp.kept_address ON kept (address)");
}

/* When what follows the event began; 0: not known. */
static uint64_t time_after(struct vt_fold *fold, uint64_t event)
{
	struct vt_stmt *stmt = vt_db_prepare(
		fold->db, "SELECT time_ns FROM allocation WHERE id > ? ORDER BY id LIMIT 1");
	uint64_t time_ns;

	vt_stmt_bind_int(stmt, 1, (int64_t)event);
	time_ns = vt_stmt_step(stmt) == 1 ? (uint64_t)vt_stmt_int(stmt, 0) : 0;
	vt_stmt_free(stmt);
	return time_ns;
}

static int delete_up_to(struct vt_fold *fold, uint64_t event)
{
	int rc = vt_db_exec(fold->db, instants);

	for (size_t i = 0; i < VT_ARRAY_SIZE(deletions) && !rc; i++) {
		struct vt_stmt *stmt = vt_db_prepare(fold->db, deletions[i]);

		vt_stmt_bind_int(stmt, 1, (int64_t)event);
		rc = vt_stmt_step(stmt);
		vt_stmt_free(stmt);
	}
	return rc;
}

static int fold_up_to(struct vt_fold *fold, uint64_t event)
{
	uint64_t time_ns = time_after(fold, event);

	if (delete_up_to(fold, event) ||
	    vt_db_run_set_int(fold->db, vt_run_key(VT_RUN_FOLDED_EVENT), (int64_t)event) ||
	    vt_db_run_set_int(fold->db, vt_run_key(VT_RUN_FOLDED_TIME), (int64_t)time_ns))
		return -1;
	fold->event = event;
	return 0;
}

static int64_t nr_periods(struct vt_fold *fold)
{
	return vt_db_query_int(fold->db, "SELECT count(*) FROM period", 0);
}

static int is_too_large(struct vt_fold *fold)
{
	uint64_t used;

	if (!fold->keep.bytes)
		return 0;
	used = vt_db_used_bytes(fold->db);
	return used + SPARE_BYTES > vt_keep_database_bytes(&fold->keep) && used >= fold->next_bytes;
}

static int is_too_old(struct vt_fold *fold, uint64_t event, uint64_t time_ns)
{
	uint64_t after;

	if (!fold->keep.time_ns)
		return 0;
	after = time_after(fold, event);
	return after && after + fold->keep.time_ns < time_ns;
}

/* Half of the instants stay, and what was live at them. */
static int fold_periods(struct vt_fold *fold)
{
	return vt_periods_merge(fold->periods) || fold_up_to(fold, fold->event) ? -1 : 0;
}

int vt_fold_run(struct vt_fold *fold, uint64_t event, uint64_t time_ns)
{
	for (;;) {
		uint64_t next = fold->event + SLICE_EVENTS;
		int is_large = is_too_large(fold);

		if (next + LEAST_EVENTS > event) {
			if (!is_large)
				return 0;
			if (nr_periods(fold) > 2 && !fold_periods(fold))
				continue;
			/* What is live is more than that. */
			fold->next_bytes = vt_db_used_bytes(fold->db) + SPARE_BYTES;
			return 0;
		}
		if (!is_large && !is_too_old(fold, next, time_ns))
			return 0;
		if (fold_up_to(fold, next))
			return -1;
		if (nr_periods(fold) > MOST_PERIODS && fold_periods(fold))
			return -1;
	}
}
