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

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/parallel.h"
#include "analyzer/base/util.h"
#include "analyzer/model/caller_table.h"
#include "common/kinds.h"

/* A second connection costs a millisecond, a row about one thousandth of that. */
#define IDS_PER_PART 100000
#define MAX_PARTS     4

#define ALLOCATION_SQL(choice)                                                                     \
	"SELECT id, made, address, size_bytes, requested_bytes, time_ns, node_sequence,"           \
	" forward_sequence, freed, id + lived_events, time_ns + lived_ns, freed_node_sequence"     \
	" FROM allocation_row WHERE id > ? AND id <= ?" choice " ORDER BY id"

_Static_assert(VT_KIND_BLOCK == 1, "the number below");
static const char *const allocation_sql[] = {
	[VT_ALLOCATIONS_ALL] = ALLOCATION_SQL(""),
	[VT_ALLOCATIONS_DRIVER] =
		ALLOCATION_SQL(" AND made IN (SELECT id FROM allocation_made WHERE kind <> 1)"),
};

/* Rows with ids in (after, upto]. */
struct part {
	struct vt_db *db;
	enum vt_allocation_choice choice;
	int64_t after;
	int64_t upto;
	int64_t start_time_ns;
	VT_VECTOR(struct vt_allocation) rows;
	struct vt_allocation_times times;
	const struct vt_caller_table *made, *freed; /* of all parts */
	struct vt_interned commons;                 /* the part's own: no lock */
	int rc;
};

/* NULL reads as 0, which few rows have. */
static uint32_t sequence_at(struct vt_stmt *stmt, int column)
{
	int64_t sequence = vt_stmt_int(stmt, column);

	return !sequence && vt_stmt_is_null(stmt, column) ? (uint32_t)VT_NO_SEQUENCE :
							    vt_allocation_sequence(sequence);
}

static const struct vt_allocation_common *common_at(struct part *part, struct vt_stmt *stmt,
						    int is_freed)
{
	const struct vt_caller_row *made = vt_caller_table_find(part->made, vt_stmt_int(stmt, 1));
	const struct vt_allocation_common common = {
		.size_bytes = (uint64_t)vt_stmt_int(stmt, 3),
		.requested_bytes = (uint64_t)vt_stmt_int(stmt, 4),
		.made = made->caller,
		.freed = is_freed ?
			 vt_caller_table_find(part->freed, vt_stmt_int(stmt, 8))->caller :
			 &vt_caller_nobody,
		.device = made->device,
		.kind = made->kind,
	};
	int is_new;

	return vt_interned_add(&part->commons, &common, sizeof(common), sizeof(common), &is_new);
}

static void take(struct part *part, struct vt_stmt *stmt)
{
	int64_t time_ns = vt_stmt_int(stmt, 5) - part->start_time_ns;
	int is_freed = !vt_stmt_is_null(stmt, 9);
	struct vt_allocation *a;

	vt_vector_reserve(&part->rows, part->rows.len + 1);
	a = &part->rows.items[part->rows.len++];
	memset(a, 0, sizeof(*a));
	a->event = vt_allocation_event(vt_stmt_int(stmt, 0));
	a->address = (uint64_t)vt_stmt_int(stmt, 2);
	a->node_sequence = sequence_at(stmt, 6);
	a->forward_sequence = sequence_at(stmt, 7);
	a->common = common_at(part, stmt, is_freed);
	a->container = VT_NO_CONTAINER;
	a->freed_event = (uint32_t)VT_NEVER;
	a->freed_node_sequence = (uint32_t)VT_NO_SEQUENCE;
	if (is_freed) {
		a->freed_event = vt_allocation_event(vt_stmt_int(stmt, 9));
		a->freed_node_sequence = sequence_at(stmt, 11);
	}
	vt_allocation_times_add(&part->times, time_ns,
				is_freed ? vt_stmt_int(stmt, 10) - part->start_time_ns : time_ns);
}

static void read_part(void *context, size_t number)
{
	struct part *part = (struct part *)context + number;
	struct vt_stmt *stmt = vt_db_prepare(part->db, allocation_sql[part->choice]);

	vt_stmt_bind_int(stmt, 1, part->after);
	vt_stmt_bind_int(stmt, 2, part->upto);
	while ((part->rc = vt_stmt_step(stmt)) == 1 && part->rows.len < VT_MOST_ROWS)
		take(part, stmt);
	vt_stmt_free(stmt);
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

/*
 * Parts with as many ids each, which are as many rows where they are the numbers of events.  Rows
 * are not counted: that would read the whole table once more.
 */
static unsigned divide(struct vt_db *db, int64_t start_time_ns, struct part *parts)
{
	int64_t first = vt_db_query_int(db, "SELECT min(id) FROM allocation_row", 0);
	int64_t last = vt_db_query_int(db, "SELECT max(id) FROM allocation_row", 0);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t nr = 1;
	unsigned i = 0;

	/* A damaged table's ids may be any. */
	if (first >= 0 && last > first && last < VT_NEVER)
		nr = (last - first) / IDS_PER_PART;
	nr = nr > processors ? processors : nr;
	nr = nr > MAX_PARTS ? MAX_PARTS : nr;
	nr = nr < 1 ? 1 : nr;
	for (; i < nr; i++) {
		struct part *part = &parts[i];

		part->db = i ? open_beside(db) : db;
		if (!part->db)
			break;
		part->start_time_ns = start_time_ns;
		part->after = i ? parts[i - 1].upto : INT64_MIN;
		part->upto = nr > 1 ? first + (last - first) * (i + 1) / nr : INT64_MAX;
	}
	/* The last one has what is left. */
	parts[i - 1].upto = INT64_MAX;
	return i;
}

/* What the parts read, as one. */
static int join(struct vt_allocation_rows *rows, struct part *parts, unsigned nr,
		struct vt_diag *diag)
{
	size_t nr_rows = 0;
	int rc = 0;

	for (unsigned i = 0; i < nr; i++) {
		if (parts[i].rc < 0 && !rc)
			vt_db_diag(parts[i].db, diag);
		rc |= parts[i].rc < 0;
		nr_rows += parts[i].rows.len;
	}
	/* With one more, as nothing of no rows is no error; what is behind them is given back. */
	rows->items = vt_xrealloc(parts[0].rows.items, (nr_rows + 1) * sizeof(*rows->items));
	for (unsigned i = 0; i < nr; i++) {
		vt_interned_adopt(&rows->commons, &parts[i].commons);
		vt_allocation_times_append(&rows->times, &parts[i].times);
		rows->nr += (uint32_t)parts[i].rows.len;
		if (!i)
			continue;
		memcpy(rows->items + rows->nr - parts[i].rows.len, parts[i].rows.items,
		       parts[i].rows.len * sizeof(*rows->items));
		vt_vector_release(&parts[i].rows);
		vt_db_close(parts[i].db);
	}
	if (!rc && nr_rows >= VT_MOST_ROWS) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: too many rows in table allocation",
			    vt_db_path(parts[0].db));
		return -1;
	}
	return rc ? -1 : 0;
}

int vt_allocation_rows_load(struct vt_db *db, enum vt_allocation_choice choice,
			    int64_t start_time_ns, struct vt_allocation_rows *rows,
			    struct vt_diag *diag)
{
	struct part parts[MAX_PARTS] = { 0 };
	struct vt_caller_table made = { 0 }, freed = { 0 };
	unsigned nr;
	int rc;

	memset(rows, 0, sizeof(*rows));
	rc = vt_caller_table_load_made(&made, db, &rows->callers, diag) ||
	     vt_caller_table_load_freed(&freed, db, &rows->callers, diag);
	if (!rc) {
		nr = divide(db, start_time_ns, parts);
		for (unsigned i = 0; i < nr; i++) {
			parts[i].choice = choice;
			parts[i].made = &made;
			parts[i].freed = &freed;
		}
		vt_parallel_run(nr, read_part, parts);
		rc = join(rows, parts, nr, diag);
	}
	free(made.items);
	free(freed.items);
	return rc ? -1 : 0;
}
