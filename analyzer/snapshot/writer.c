/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/writer.h"

#include <string.h>

/* Few enough that an import holds little in memory, many enough that their cost does not matter. */
#define EVENTS_PER_TRANSACTION 65536

static int fail(struct vt_writer *w, struct vt_diag *diag)
{
	vt_db_diag(w->db, diag);
	return -1;
}

int vt_writer_init(struct vt_writer *w, struct vt_db *db, struct vt_diag *diag)
{
	int rc;

	memset(w, 0, sizeof(*w));
	w->db = db;
	rc = vt_import_rows_init(&w->rows, db);
	vt_import_allocations_init(&w->allocations, &w->rows, &w->peak);
	vt_import_names_init(&w->names, db);
	return rc || vt_db_begin(db) ? fail(w, diag) : 0;
}

static int write_counts(struct vt_writer *w)
{
	return vt_db_run_set_int(w->db, "events", (int64_t)w->nr_events) |
	       vt_db_run_set_int(w->db, "imported_slots", (int64_t)w->nr_events) |
	       vt_db_run_set_int(w->db, "reused_addresses",
				 (int64_t)w->allocations.nr_reused) |
	       vt_db_run_set_int(w->db, "unknown_frees",
				 (int64_t)w->allocations.nr_unknown_frees);
}

static int commit(struct vt_writer *w)
{
	w->nr_waiting = 0;
	return vt_import_rows_flush(&w->rows) || vt_peak_save(&w->peak, w->db) ||
	       write_counts(w) || vt_db_commit(w->db);
}

int vt_writer_finish(struct vt_writer *w, struct vt_diag *diag)
{
	return commit(w) ? fail(w, diag) : 0;
}

void vt_writer_release(struct vt_writer *w)
{
	vt_import_allocations_release(&w->allocations);
	vt_import_rows_release(&w->rows);
	vt_import_names_release(&w->names);
	vt_peak_release(&w->peak);
}

struct vt_event_record vt_writer_record(const struct vt_writer *w, enum vt_op op,
					enum vt_kind kind, int device,
					enum vt_writer_function function)
{
	return (struct vt_event_record){
		.time_ns = w->time_ns,
		.thread = VT_WRITER_THREAD,
		.op = (uint16_t)op,
		.kind = (uint16_t)kind,
		.device = device,
		.function = (uint32_t)function,
		.node_sequence = UINT64_MAX,
		.forward_sequence = UINT64_MAX,
	};
}

static int count(struct vt_writer *w, int rc, struct vt_diag *diag)
{
	if (!rc && ++w->nr_waiting >= EVENTS_PER_TRANSACTION)
		rc = commit(w) || vt_db_begin(w->db);
	return rc ? fail(w, diag) : 0;
}

int vt_writer_event(struct vt_writer *w, const struct vt_event_record *record,
		    struct vt_diag *diag)
{
	return count(w, vt_import_allocations_event(&w->allocations, ++w->nr_events, record), diag);
}

int vt_writer_tensor(struct vt_writer *w, const struct vt_tensor_record *record,
		     struct vt_diag *diag)
{
	return count(w, vt_import_names_tensor(&w->names, w->nr_events, record), diag);
}

int vt_writer_mark(struct vt_writer *w, enum vt_mark_kind kind, uint32_t name,
		   struct vt_diag *diag)
{
	struct vt_mark_record mark = {
		.time_ns = w->time_ns,
		.thread = VT_WRITER_THREAD,
		.kind = (uint16_t)kind,
		.source = VT_SOURCE_RECORD_FUNCTION,
		.name = name,
	};

	return count(w, vt_import_rows_mark(&w->rows, ++w->nr_events, &mark), diag);
}
