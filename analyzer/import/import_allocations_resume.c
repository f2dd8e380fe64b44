/* SPDX-License-Identifier: MIT */
/* The pairing's state, rebuilt from the rows of an earlier import. */
#include "analyzer/import/import_allocations.h"

/* Kinds whose lifetime is in events on handles, not in the row: vt_vmm_is_kind, and graphs. */
#define HANDLES "(3, 9, 13, 14)"
_Static_assert(VT_KIND_VMM == 3 && VT_KIND_GRAPH == 9 && VT_KIND_IMPORTED == 13 &&
		       VT_KIND_MULTICAST == 14,
	       "HANDLES");
/* The other kinds and operations in the statements below. */
_Static_assert(VT_KIND_BLOCK == 1 && VT_KIND_POOL == 4 && VT_KIND_IPC == 8 && VT_OP_FREE == 2 &&
		       VT_OP_FREE_FAILED == 3 && VT_OP_UNRESERVE == 5 && VT_OP_RELEASE == 8 &&
		       VT_OP_RETAIN == 9 && VT_OP_MEMORY_INFO == 11 && VT_OP_DESTROY == 15 &&
		       VT_OP_CREATE == 16 && VT_OP_LOSS == 25,
	       "the numbers below");

/* Runs the history of what has handles through the same code again, without writing. */
static int replay_handles(struct vt_import_allocations *a)
{
	struct vt_stmt *stmt =
		vt_db_prepare(a->rows->db,
			      "SELECT id, 1, thread, device, address, size_bytes,"
			      " ifnull(parent, 0), kind FROM allocation"
			      " LEFT JOIN allocation_parent ON allocation = id"
			      " WHERE kind IN " HANDLES " UNION ALL SELECT id, op,"
			      " thread, device, address, size_bytes, extra, kind FROM event"
			      " WHERE kind IN " HANDLES " ORDER BY 1");
	struct vt_event_record record = { 0 };
	uint64_t nr_reused = a->nr_reused, nr_unknown_frees = a->nr_unknown_frees;
	int rc;

	a->is_replaying = 1;
	while ((rc = vt_stmt_step(stmt)) == 1) {
		record.op = (uint16_t)vt_stmt_int(stmt, 1);
		record.thread = (uint32_t)vt_stmt_int(stmt, 2);
		record.device = (int32_t)vt_stmt_int(stmt, 3);
		record.address = (uint64_t)vt_stmt_int(stmt, 4);
		record.size_bytes = (uint64_t)vt_stmt_int(stmt, 5);
		record.extra = (uint64_t)vt_stmt_int(stmt, 6);
		record.kind = (uint16_t)vt_stmt_int(stmt, 7);
		vt_import_allocations_replay(a, (uint64_t)vt_stmt_int(stmt, 0), &record);
	}
	a->is_replaying = 0;
	vt_stmt_free(stmt);
	a->nr_reused = nr_reused;
	a->nr_unknown_frees = nr_unknown_frees;
	return rc;
}

/* What pools held at last; of graph memory, the history of handles has it. */
static int load_pools(struct vt_import_allocations *a)
{
	struct vt_stmt *stmt =
		vt_db_prepare(a->rows->db, "SELECT id, op, device, address, size_bytes FROM event"
					   " WHERE kind = 4 AND op IN (3, 11, 15, 16) ORDER BY id");
	struct vt_event_record record = { .kind = VT_KIND_POOL };
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		record.op = (uint16_t)vt_stmt_int(stmt, 1);
		record.device = (int32_t)vt_stmt_int(stmt, 2);
		record.address = (uint64_t)vt_stmt_int(stmt, 3);
		record.size_bytes = (uint64_t)vt_stmt_int(stmt, 4);
		vt_import_allocations_note_pool(a, &record);
	}
	vt_stmt_free(stmt);
	return rc;
}

static void read_allocation(struct vt_stmt *stmt, struct vt_open_allocation *what)
{
	what->row = VT_ROW_WRITTEN;
	what->id = (uint64_t)vt_stmt_int(stmt, 0);
	what->kind = (uint32_t)vt_stmt_int(stmt, 1);
	what->device = (int32_t)vt_stmt_int(stmt, 2);
	what->address = (uint64_t)vt_stmt_int(stmt, 3);
	what->size_bytes = (uint64_t)vt_stmt_int(stmt, 4);
	what->parent = (uint64_t)vt_stmt_int(stmt, 5);
}

/* Opened and closed since: a close that was refused counts neither way. */
static int load_references(struct vt_import_allocations *a, const struct vt_open_allocation *what)
{
	struct vt_stmt *stmt = vt_db_prepare(
		a->rows->db, "SELECT total(CASE op WHEN 2 THEN -1 WHEN 8 THEN -1 ELSE 1 END) FROM"
			     " event WHERE kind = 8 AND op IN (2, 3, 8, 9) AND address = ?"
			     " AND id > ?");
	int64_t nr = 0;
	int rc;

	vt_stmt_bind_int(stmt, 1, (int64_t)what->address);
	vt_stmt_bind_int(stmt, 2, (int64_t)what->id);
	rc = vt_stmt_step(stmt);
	if (rc > 0)
		nr = vt_stmt_int(stmt, 0);
	vt_stmt_free(stmt);
	vt_vmm_create(&a->ipc, what->address);
	while (nr-- > 0)
		vt_vmm_add_reference(&a->ipc, what->address);
	return rc;
}

static int load_open(struct vt_import_allocations *a)
{
	struct vt_stmt *stmt =
		vt_db_prepare(a->rows->db,
			      "SELECT id, kind, device, address, size_bytes, ifnull(parent, 0)"
			      " FROM allocation LEFT JOIN allocation_parent ON allocation = id"
			      " WHERE freed_event IS NULL AND kind NOT IN " HANDLES " ORDER BY id");
	struct vt_open_allocation what;
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		read_allocation(stmt, &what);
		vt_import_allocations_open(a, &what);
		if (what.kind == VT_KIND_IPC)
			rc = load_references(a, &what);
		if (rc < 0)
			break;
	}
	vt_stmt_free(stmt);
	return rc;
}

/* Whether the thread's last free known so far came before `event`. */
static int is_later(struct vt_import_allocations *a, uint32_t thread, uint64_t event)
{
	const uint64_t *found = vt_map_find(&a->last_free_places, (struct vt_key){ thread, 0, 0 });

	return !found || a->last_frees.items[*found].event < event;
}

/*
 * Each thread's last driver free, where it ended allocations (an end by reuse, A2, was none); the
 * end of a context has a separate row.
 */
static const char last_frees[] =
	"SELECT a.id, a.kind, a.device, a.address, a.size_bytes, ifnull(parent, 0), freed_thread,"
	" freed_time_ns, freed_function, freed_native_stack, freed_python_stack, freed_event,"
	" ifnull(e.op, 2), ifnull(e.address, a.address), ifnull(e.kind, a.kind)"
	" FROM allocation a LEFT JOIN allocation_parent ON allocation = a.id"
	" LEFT JOIN event e ON e.id = freed_event"
	" WHERE freed_event IN (SELECT max(freed_event) FROM allocation f WHERE kind != 1 AND"
	" kind NOT IN " HANDLES
	" AND NOT EXISTS (SELECT 1 FROM allocation b WHERE b.id = f.freed_event)"
	" AND NOT EXISTS (SELECT 1 FROM event l WHERE l.id = f.freed_event AND l.op = 25)"
	" GROUP BY freed_thread)";

static void read_free(struct vt_stmt *stmt, struct vt_event_record *record)
{
	record->device = (int32_t)vt_stmt_int(stmt, 2);
	record->thread = (uint32_t)vt_stmt_int(stmt, 6);
	record->time_ns = (uint64_t)vt_stmt_int(stmt, 7);
	record->function = (uint32_t)vt_stmt_int(stmt, 8);
	record->native_stack = (uint32_t)vt_stmt_int(stmt, 9);
	record->python_stack = (uint32_t)vt_stmt_int(stmt, 10);
	record->op = (uint16_t)vt_stmt_int(stmt, 12);
	record->address = (uint64_t)vt_stmt_int(stmt, 13);
	record->kind = (uint16_t)vt_stmt_int(stmt, 14);
}

static int load_last_frees(struct vt_import_allocations *a)
{
	struct vt_stmt *stmt = vt_db_prepare(a->rows->db, last_frees);
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		struct vt_event_record record = { 0 };
		uint64_t event = (uint64_t)vt_stmt_int(stmt, 11);
		struct vt_open_allocation what;
		const uint64_t *found;

		read_allocation(stmt, &what);
		read_free(stmt, &record);
		if (is_later(a, record.thread, event))
			vt_import_allocations_begin_free(a, event, &record);
		found = vt_map_find(&a->last_free_places, (struct vt_key){ record.thread, 0, 0 });
		if (a->last_frees.items[*found].event == event)
			vt_vector_push(&a->last_frees.items[*found].ended, what);
	}
	vt_stmt_free(stmt);
	return rc;
}

/*
 * Frees of unknown addresses, failed ones and those of address ranges leave nothing to take back.
 */
static int load_void_frees(struct vt_import_allocations *a)
{
	struct vt_stmt *stmt = vt_db_prepare(a->rows->db,
					     "SELECT thread, max(id) FROM event"
					     " WHERE op IN (2, 3, 5) GROUP BY thread");
	struct vt_event_record record = { 0 };
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		record.thread = (uint32_t)vt_stmt_int(stmt, 0);
		if (is_later(a, record.thread, (uint64_t)vt_stmt_int(stmt, 1)))
			vt_import_allocations_begin_free(a, 0, &record);
	}
	vt_stmt_free(stmt);
	return rc;
}

/* Closes that were not the last leave a reference to take back. */
static int load_closes(struct vt_import_allocations *a)
{
	struct vt_stmt *stmt = vt_db_prepare(a->rows->db,
					     "SELECT thread, max(id), address FROM event"
					     " WHERE op = 8 AND kind = 8 GROUP BY thread");
	struct vt_event_record record = { .op = VT_OP_RELEASE, .kind = VT_KIND_IPC };
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1) {
		uint64_t event = (uint64_t)vt_stmt_int(stmt, 1);

		record.thread = (uint32_t)vt_stmt_int(stmt, 0);
		record.address = (uint64_t)vt_stmt_int(stmt, 2);
		if (is_later(a, record.thread, event))
			vt_import_allocations_begin_free(a, event, &record);
	}
	vt_stmt_free(stmt);
	return rc;
}

/* After what is open: the last loss, which says of which of it that is not certain. */
static int load_loss(struct vt_import_allocations *a)
{
	struct vt_stmt *stmt = vt_db_prepare(a->rows->db,
					     "SELECT id, time_ns, thread FROM event WHERE op = 25"
					     " ORDER BY id DESC LIMIT 1");
	struct vt_event_record record = { 0 };
	int rc = vt_stmt_step(stmt);

	if (rc > 0) {
		record.time_ns = (uint64_t)vt_stmt_int(stmt, 1);
		record.thread = (uint32_t)vt_stmt_int(stmt, 2);
		vt_import_losses_note(a, (uint64_t)vt_stmt_int(stmt, 0), &record);
	}
	vt_stmt_free(stmt);
	return rc < 0 ? -1 : 0;
}

int vt_import_allocations_resume(struct vt_import_allocations *a)
{
	if (replay_handles(a) || load_pools(a) || load_open(a) || load_last_frees(a) ||
	    load_closes(a) || load_void_frees(a) || load_loss(a) ||
	    vt_import_losses_load_ended(a))
		return -1;
	return 0;
}
