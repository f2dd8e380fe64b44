/* SPDX-License-Identifier: MIT */
#include "analyzer/import/import_operators.h"

#include <string.h>

void vt_import_operators_init(struct vt_import_operators *operators, struct vt_db *db,
			      const struct vt_import_allocations *allocations)
{
	memset(operators, 0, sizeof(*operators));
	operators->allocations = allocations;
	/* "replace": two operators of one number, in a damaged journal, are no reason to stop. */
	operators->begin = vt_db_prepare(
		db, "INSERT OR REPLACE INTO operator VALUES (?,?,NULL,?,?,?,?,?,?,?,?)");
	/* What the next node would be given became a node's number if a later one is next now. */
	operators->end = vt_db_prepare(
		db, "UPDATE operator SET end_event = ?2,"
		    " sequence = CASE WHEN sequence < ?3 THEN sequence END WHERE id = ?1");
	operators->tensor = vt_db_prepare(db, "INSERT INTO operator_tensor VALUES (?,?,?,?,?)");
}

void vt_import_operators_release(struct vt_import_operators *operators)
{
	vt_stmt_free(operators->begin);
	vt_stmt_free(operators->end);
	vt_stmt_free(operators->tensor);
}

/* 0: not known.  Without the framework's own blocks a tensor is what the driver gave out. */
static uint64_t allocation_at(const struct vt_import_operators *operators, uint64_t address)
{
	const struct vt_open_allocation *found =
		vt_import_allocations_find(operators->allocations, VT_KIND_BLOCK, address);

	if (!found)
		found = vt_import_allocations_find(operators->allocations, VT_KIND_SEGMENT,
						   address);
	return found ? found->id : 0;
}

static void bind_allocation(struct vt_stmt *stmt, int parameter, uint64_t id)
{
	if (id)
		vt_stmt_bind_int(stmt, parameter, (int64_t)id);
	else
		vt_stmt_bind_null(stmt, parameter);
}

static int write_tensors(struct vt_import_operators *operators, uint32_t id, int is_output,
			 const struct vt_operator_address *tensors, uint32_t nr)
{
	struct vt_stmt *stmt = operators->tensor;

	for (uint32_t i = 0; i < nr; i++) {
		vt_stmt_bind_int(stmt, 1, id);
		vt_stmt_bind_int(stmt, 2, is_output);
		vt_stmt_bind_int(stmt, 3, tensors[i].position);
		vt_stmt_bind_int(stmt, 4, tensors[i].element);
		bind_allocation(stmt, 5, allocation_at(operators, tensors[i].address));
		if (vt_stmt_step(stmt))
			return -1;
	}
	return 0;
}

int vt_import_operators_begin(struct vt_import_operators *operators, uint64_t event,
			      const struct vt_operator_record *r)
{
	struct vt_stmt *stmt = operators->begin;

	vt_stmt_bind_int(stmt, 1, r->id);
	vt_stmt_bind_int(stmt, 2, (int64_t)event);
	vt_stmt_bind_int(stmt, 3, r->thread);
	vt_stmt_bind_id(stmt, 4, r->parent);
	vt_stmt_bind_int(stmt, 5, r->name);
	vt_stmt_bind_int(stmt, 6, (int64_t)r->next_sequence);
	vt_stmt_bind_id(stmt, 7, r->node_class);
	if (r->node_class && r->node_sequence != UINT64_MAX)
		vt_stmt_bind_int(stmt, 8, (int64_t)r->node_sequence);
	else
		vt_stmt_bind_null(stmt, 8);
	vt_stmt_bind_id(stmt, 9, r->python_stack);
	vt_stmt_bind_id(stmt, 10, r->forward_python_stack);
	if (vt_stmt_step(stmt))
		return -1;
	return write_tensors(operators, r->id, 0, r->tensors, r->nr_tensors);
}

int vt_import_operators_end(struct vt_import_operators *operators, uint64_t event,
			    const struct vt_operator_end_record *r)
{
	struct vt_stmt *stmt = operators->end;

	vt_stmt_bind_int(stmt, 1, r->id);
	vt_stmt_bind_int(stmt, 2, (int64_t)event);
	vt_stmt_bind_int(stmt, 3, (int64_t)r->next_sequence);
	if (vt_stmt_step(stmt))
		return -1;
	return write_tensors(operators, r->id, 1, r->tensors, r->nr_tensors);
}
