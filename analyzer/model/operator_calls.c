/* SPDX-License-Identifier: MIT */
#include "analyzer/model/operator_calls.h"

#include <string.h>

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

static const char operator_sql[] =
	"SELECT id, event, end_event, sequence, node_sequence, thread, parent, name, node_class,"
	" python_stack, forward_python_stack FROM operator ORDER BY id";

/* Of one operator they are in order: its inputs were written first. */
static const char tensor_sql[] =
	"SELECT operator, is_output, position, element, allocation FROM operator_tensor";

/* Of operator_tensor. */
struct row {
	uint32_t operator; /* index */
	struct vt_call_tensor tensor;
};

struct loading {
	struct vt_operator_calls *calls;
	struct vt_db *db;
	const struct vt_string_table *strings;
	const struct vt_allocation *allocations;
	uint32_t nr_allocations;
	int64_t *ids; /* by operator */
	struct row *rows;
	uint32_t nr_rows;
	struct vt_diag *diag;
};

static uint64_t sequence_at(struct vt_stmt *stmt, int column)
{
	return vt_stmt_is_null(stmt, column) ? VT_NO_SEQUENCE :
					       vt_allocation_sequence(vt_stmt_int(stmt, column));
}

/* Index of the operator with that id, or VT_NO_INDEX. */
static uint32_t find_operator(const struct loading *l, int64_t id)
{
	size_t at = vt_search_first(i, l->calls->nr, l->ids[i] < id);

	return at < l->calls->nr && l->ids[at] == id ? (uint32_t)at : VT_NO_INDEX;
}

/* Index of the allocation that event made, or VT_NO_INDEX. */
static uint32_t find_allocation(const struct loading *l, int64_t event)
{
	size_t at = vt_search_first(i, l->nr_allocations, l->allocations[i].event < event);

	return at < l->nr_allocations && l->allocations[at].event == event ? (uint32_t)at :
									     VT_NO_INDEX;
}

static void take_operator(struct loading *l, struct vt_stmt *stmt)
{
	uint32_t index = l->calls->nr++;
	struct vt_operator_call *o = &l->calls->items[index];

	l->ids[index] = vt_stmt_int(stmt, 0);
	o->event = vt_stmt_int(stmt, 1);
	o->end_event = vt_stmt_is_null(stmt, 2) ? VT_NEVER : vt_stmt_int(stmt, 2);
	/* Until its end it is the number that a node would be given. */
	o->sequence = o->end_event == VT_NEVER ? VT_NO_SEQUENCE : sequence_at(stmt, 3);
	o->node_sequence = sequence_at(stmt, 4);
	o->thread = (uint32_t)vt_stmt_int(stmt, 5);
	/* What called it has begun before it. */
	o->parent = find_operator(l, vt_stmt_int(stmt, 6));
	if (o->parent == index)
		o->parent = VT_NO_INDEX;
	o->name = vt_string_table_first(l->strings, vt_stmt_id(stmt, 7));
	o->node_class = vt_string_table_first(l->strings, vt_stmt_id(stmt, 8));
	o->python_stack = vt_stmt_id(stmt, 9);
	o->forward_python_stack = vt_stmt_id(stmt, 10);
}

static void take_tensor(struct loading *l, struct vt_stmt *stmt)
{
	struct row *row = &l->rows[l->nr_rows];

	row->operator = find_operator(l, vt_stmt_int(stmt, 0));
	/* A damaged file. */
	if (row->operator == VT_NO_INDEX)
		return;
	row->tensor.is_output = vt_stmt_int(stmt, 1) != 0;
	row->tensor.position = (uint16_t)vt_stmt_int(stmt, 2);
	row->tensor.element = (uint16_t)vt_stmt_int(stmt, 3);
	row->tensor.allocation = find_allocation(l, vt_stmt_int(stmt, 4));
	l->calls->items[row->operator].nr_tensors++;
	l->nr_rows++;
}

static int each_row(struct loading *l, const char *sql, void (*take)(struct loading *,
								       struct vt_stmt *))
{
	struct vt_stmt *stmt = vt_db_prepare(l->db, sql);
	int rc;

	while ((rc = vt_stmt_step(stmt)) == 1)
		take(l, stmt);
	vt_stmt_free(stmt);
	if (rc < 0)
		vt_db_diag(l->db, l->diag);
	return rc;
}

/* Rows of operators that overlap in time are mixed: each operator's are brought together. */
static void place_tensors(const struct loading *l)
{
	struct vt_operator_calls *calls = l->calls;

	calls->tensors = vt_xcalloc((size_t)l->nr_rows + 1, sizeof(*calls->tensors));
	for (uint32_t i = 0; i < calls->nr; i++) {
		calls->items[i].first_tensor = calls->nr_tensors;
		calls->nr_tensors += calls->items[i].nr_tensors;
		calls->items[i].nr_tensors = 0;
	}
	for (uint32_t i = 0; i < l->nr_rows; i++) {
		struct vt_operator_call *owner = &calls->items[l->rows[i].operator];

		calls->tensors[owner->first_tensor + owner->nr_tensors++] = l->rows[i].tensor;
	}
}

static int check_length(struct vt_db *db, const char *name, int64_t rows, struct vt_diag *diag)
{
	if (rows >= 0 && rows < VT_MOST_ROWS)
		return 0;
	if (rows < 0)
		vt_db_diag(db, diag);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: too many rows in table %s",
			    vt_db_path(db), name);
	return -1;
}

int vt_operator_calls_load(struct vt_operator_calls *calls, struct vt_db *db,
		      const struct vt_string_table *strings,
		      const struct vt_allocation *allocations, uint32_t nr_allocations,
		      struct vt_diag *diag)
{
	struct loading l = { .calls = calls, .db = db, .strings = strings,
			     .allocations = allocations, .nr_allocations = nr_allocations,
			     .diag = diag };
	int64_t rows = vt_db_count(db, "operator");
	int64_t tensors = vt_db_count(db, "operator_tensor");
	int rc;

	memset(calls, 0, sizeof(*calls));
	if (check_length(db, "operator", rows, diag) ||
	    check_length(db, "operator_tensor", tensors, diag))
		return -1;
	calls->items = vt_xcalloc((size_t)rows + 1, sizeof(*calls->items));
	l.ids = vt_xcalloc((size_t)rows + 1, sizeof(*l.ids));
	rc = each_row(&l, operator_sql, take_operator);
	l.rows = vt_xcalloc((size_t)tensors + 1, sizeof(*l.rows));
	if (!rc)
		rc = each_row(&l, tensor_sql, take_tensor);
	if (!rc)
		place_tensors(&l);
	free(l.rows);
	free(l.ids);
	return rc;
}

void vt_operator_calls_release(struct vt_operator_calls *calls)
{
	free(calls->items);
	free(calls->tensors);
	memset(calls, 0, sizeof(*calls));
}
