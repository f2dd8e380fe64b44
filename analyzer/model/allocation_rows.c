/* SPDX-License-Identifier: MIT */
/*
 * allocation_rows.c - a table that is long is read in parts, each by a separate connection and at
 * the same time.
 *
 *  A1  All parts are of one snapshot: how far the import was is the same in each connection's
 *      transaction, and the one writer there is changes that with every batch of rows.  Where it
 *      is not the same, or a part cannot be opened, one connection reads everything.
 */
#include "analyzer/model/allocation_rows.h"

#include <string.h>
#include <unistd.h>

#include "analyzer/base/parallel.h"
#include "analyzer/base/util.h"

/* A second connection costs a millisecond, a row about one thousandth of that. */
#define ROWS_PER_PART 50000
#define MAX_PARTS     4

/* Columns in the order of the members below; the index is the column's number. */
static const char allocation_sql[] =
	"SELECT id, kind, device, address, size_bytes, thread, time_ns, native_stack, python_stack,"
	" scope, node_class, node_sequence, forward_sequence, freed_event, freed_time_ns,"
	" freed_thread, freed_native_stack, freed_python_stack, freed_scope, freed_node_class,"
	" freed_node_sequence, forward_python_stack, freed_forward_python_stack, requested_bytes,"
	" stream, grad, freed_grad"
	" FROM allocation WHERE id > ? AND id <= ? ORDER BY id";

/* Rows with ids in (after, upto]. */
struct part {
	struct vt_db *db;
	int64_t after;
	int64_t upto;
	int64_t start_time_ns;
	struct vt_allocation *rows;
	struct vt_callers callers; /* the part's own: no lock */
	int64_t max;
	int64_t nr;
	int rc;
};

/* Ids of other tables: NULL, and what does not fit, become "none". */
static uint32_t id_at(struct vt_stmt *stmt, int column)
{
	int64_t id = vt_stmt_int(stmt, column);

	return id > 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

/* NULL reads as 0, which few rows have. */
static uint32_t sequence_at(struct vt_stmt *stmt, int column)
{
	int64_t sequence = vt_stmt_int(stmt, column);

	return !sequence && vt_stmt_is_null(stmt, column) ? (uint32_t)VT_NO_SEQUENCE :
							    vt_allocation_sequence(sequence);
}

static const struct vt_caller *maker_at(struct vt_callers *callers, struct vt_stmt *stmt)
{
	const struct vt_caller caller = { .stream = (uint64_t)vt_stmt_int(stmt, 24),
					  .thread = (uint32_t)vt_stmt_int(stmt, 5),
					  .native_stack = id_at(stmt, 7),
					  .python_stack = id_at(stmt, 8),
					  .forward_python_stack = id_at(stmt, 21),
					  .scope = id_at(stmt, 9),
					  .node_class = id_at(stmt, 10),
					  .grad = id_at(stmt, 25) };

	return vt_callers_intern(callers, &caller);
}

static const struct vt_caller *freer_at(struct vt_callers *callers, struct vt_stmt *stmt)
{
	const struct vt_caller caller = { .thread = (uint32_t)vt_stmt_int(stmt, 15),
					  .native_stack = id_at(stmt, 16),
					  .python_stack = id_at(stmt, 17),
					  .forward_python_stack = id_at(stmt, 22),
					  .scope = id_at(stmt, 18),
					  .node_class = id_at(stmt, 19),
					  .grad = id_at(stmt, 26) };

	return vt_callers_intern(callers, &caller);
}

static void take(struct part *part, struct vt_stmt *stmt)
{
	struct vt_allocation *a = &part->rows[part->nr++];

	a->event = vt_allocation_event(vt_stmt_int(stmt, 0));
	a->kind = (uint8_t)vt_stmt_int(stmt, 1);
	a->device = (int16_t)vt_stmt_int(stmt, 2);
	a->address = (uint64_t)vt_stmt_int(stmt, 3);
	a->size_bytes = (uint64_t)vt_stmt_int(stmt, 4);
	a->time_ns = vt_stmt_int(stmt, 6) - part->start_time_ns;
	a->node_sequence = sequence_at(stmt, 11);
	a->forward_sequence = sequence_at(stmt, 12);
	a->requested_bytes = (uint64_t)vt_stmt_int(stmt, 23);
	a->made = maker_at(&part->callers, stmt);
	a->freed = &vt_caller_nobody;
	a->container = VT_NO_INDEX;
	a->freed_event = (uint32_t)VT_NEVER;
	a->freed_node_sequence = (uint32_t)VT_NO_SEQUENCE;
	if (vt_stmt_is_null(stmt, 13))
		return;
	a->freed_event = vt_allocation_event(vt_stmt_int(stmt, 13));
	a->freed_time_ns = vt_stmt_int(stmt, 14) - part->start_time_ns;
	a->freed_node_sequence = sequence_at(stmt, 20);
	a->freed = freer_at(&part->callers, stmt);
}

static void read_part(void *context, size_t number)
{
	struct part *part = (struct part *)context + number;
	struct vt_stmt *stmt = vt_db_prepare(part->db, allocation_sql);

	vt_stmt_bind_int(stmt, 1, part->after);
	vt_stmt_bind_int(stmt, 2, part->upto);
	while ((part->rc = vt_stmt_step(stmt)) == 1 && part->nr < part->max)
		take(part, stmt);
	vt_stmt_free(stmt);
}

static int64_t count_rows(struct vt_db *db, int64_t after, int64_t upto)
{
	struct vt_stmt *stmt =
		vt_db_prepare(db, "SELECT count(*) FROM allocation WHERE id > ? AND id <= ?");
	int64_t nr;

	vt_stmt_bind_int(stmt, 1, after);
	vt_stmt_bind_int(stmt, 2, upto);
	nr = vt_stmt_step(stmt) == 1 ? vt_stmt_int(stmt, 0) : 0;
	vt_stmt_free(stmt);
	return nr;
}

/* Another connection that sees what this one does (A1); NULL: there is none. */
static struct vt_db *open_beside(struct vt_db *db)
{
	int64_t slots = vt_db_run_get_int(db, "imported_slots", -1);
	struct vt_diag diag = { 0 };
	struct vt_db *beside;

	if (slots < 0 || vt_db_open_again(&beside, db, &diag))
		return NULL;
	if (!vt_db_exec(beside, "BEGIN") &&
	    vt_db_run_get_int(beside, "imported_slots", -1) == slots)
		return beside;
	vt_db_close(beside);
	return NULL;
}

/* The parts of a table of so many rows, equally long where its ids are dense; all in `rows`. */
static unsigned divide(struct vt_db *db, int64_t nr_rows, struct vt_allocation *rows,
		       struct part *parts)
{
	int64_t first = vt_db_query_int(db, "SELECT min(id) FROM allocation", 0);
	int64_t last = vt_db_query_int(db, "SELECT max(id) FROM allocation", 0);
	int64_t nr = nr_rows / ROWS_PER_PART, done = 0;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned i = 0;

	nr = nr > processors ? processors : nr;
	nr = nr > MAX_PARTS ? MAX_PARTS : nr;
	/* A damaged table's ids may be any: no part of them is worth a thread. */
	if (nr < 2 || first < 0 || last / 16 > nr_rows)
		nr = 1;
	for (; i < nr; i++) {
		struct part *part = &parts[i];

		part->db = i ? open_beside(db) : db;
		if (!part->db)
			break;
		part->after = i ? parts[i - 1].upto : INT64_MIN;
		part->upto = nr > 1 ? first + (last - first) * (i + 1) / nr : INT64_MAX;
		part->rows = rows + done;
		part->max = i + 1 < nr ? count_rows(db, part->after, part->upto) : nr_rows - done;
		done += part->max;
	}
	/* The last one has what is left. */
	parts[i - 1].upto = INT64_MAX;
	parts[i - 1].max += nr_rows - done;
	return i;
}

/* What the parts read, as one. */
static int join(struct vt_allocation_rows *rows, struct part *parts, unsigned nr,
		struct vt_diag *diag)
{
	int rc = 0;

	for (unsigned i = 0; i < nr; i++) {
		if (parts[i].rc < 0 && !rc)
			vt_db_diag(parts[i].db, diag);
		rc |= parts[i].rc < 0;
		/* Fewer than were counted come of a damaged file alone: no hole stays. */
		if (parts[i].rows != rows->items + rows->nr)
			memmove(rows->items + rows->nr, parts[i].rows,
				(size_t)parts[i].nr * sizeof(*rows->items));
		rows->nr += (uint32_t)parts[i].nr;
		vt_callers_adopt(&rows->callers, &parts[i].callers);
		if (i)
			vt_db_close(parts[i].db);
	}
	return rc ? -1 : 0;
}

int vt_allocation_rows_load(struct vt_db *db, int64_t start_time_ns,
			    struct vt_allocation_rows *rows, struct vt_diag *diag)
{
	int64_t counted = vt_db_count(db, "allocation");
	struct part parts[MAX_PARTS] = { 0 };
	unsigned nr;

	memset(rows, 0, sizeof(*rows));
	if (counted < 0) {
		vt_db_diag(db, diag);
		return -1;
	}
	if (counted >= VT_MOST_ROWS) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: too many rows in table allocation",
			    vt_db_path(db));
		return -1;
	}
	rows->items = vt_xcalloc((size_t)counted + 1, sizeof(*rows->items));
	nr = divide(db, counted, rows->items, parts);
	for (unsigned i = 0; i < nr; i++)
		parts[i].start_time_ns = start_time_ns;
	vt_parallel_run(nr, read_part, parts);
	return join(rows, parts, nr, diag);
}
