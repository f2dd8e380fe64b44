/* SPDX-License-Identifier: MIT */
#include "analyzer/model/idle_pools.h"

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"
#include "analyzer/import/pool_lives.h"

VT_VECTOR_DECLARE(pool_changes, struct vt_pool_change);

/* Kinds and operations: those of the rows that change what a pool holds, or has allocated. */
_Static_assert(VT_KIND_POOL == 4 && VT_KIND_GRAPH == 9 && VT_OP_ALLOC == 1 && VT_OP_FREE == 2 &&
		       VT_OP_FREE_FAILED == 3 && VT_OP_MEMORY_INFO == 11 && VT_OP_DESTROY == 15 &&
		       VT_OP_CREATE == 16,
	       "the numbers below");
static const char any_sql[] =
	"SELECT count(*) FROM (SELECT 1 FROM event WHERE op = 11 AND kind IN (4, 9) LIMIT 1)";
static const char rows_sql[] =
	"SELECT id, time_ns, 1, kind, device, ifnull(parent, 0), size_bytes FROM allocation"
	" LEFT JOIN allocation_parent ON allocation = id WHERE kind IN (4, 9)"
	" UNION ALL SELECT freed_event, freed_time_ns, 2, kind, device, ifnull(parent, 0),"
	" size_bytes FROM allocation LEFT JOIN allocation_parent ON allocation = id"
	" WHERE kind IN (4, 9) AND freed_event IS NOT NULL"
	" UNION ALL SELECT id, time_ns, op, kind, device, address, size_bytes FROM event"
	" WHERE kind = 4 AND op IN (3, 11, 15, 16) OR kind = 9 AND op = 11"
	" ORDER BY 1, 3 DESC";

struct row {
	unsigned int op, kind;
	int32_t device;
	uint64_t pool;
	uint64_t size_bytes;
};

static void apply(struct vt_pool_lives *lives, const struct row *row)
{
	switch (row->op) {
	case VT_OP_ALLOC:
		vt_pool_lives_add(lives, row->kind, row->pool, row->device, row->size_bytes);
		break;
	case VT_OP_FREE:
		vt_pool_lives_remove(lives, row->kind, row->pool, row->device, row->size_bytes);
		break;
	case VT_OP_MEMORY_INFO:
		vt_pool_lives_hold(lives, row->kind, row->pool, row->device, row->size_bytes);
		break;
	case VT_OP_CREATE:
		vt_pool_lives_create(lives, row->pool);
		break;
	default:
		vt_pool_lives_destroy(lives, row->pool, row->op == VT_OP_DESTROY);
	}
}

/* `last` is what that device's last change came to, zeros before the first. */
static void note(struct pool_changes *changes, struct vt_pool_change *last,
		 const struct vt_pool_lives *lives, int64_t event, int64_t time_ns)
{
	struct vt_pool_change change = {
		.event = event,
		.time_ns = time_ns,
		.pool_bytes = vt_pool_lives_idle(lives, VT_KIND_POOL, last->device),
		.graph_bytes = vt_pool_lives_idle(lives, VT_KIND_GRAPH, last->device),
		.device = last->device,
	};

	if (change.pool_bytes == last->pool_bytes && change.graph_bytes == last->graph_bytes)
		return;
	change.more_bytes = (int64_t)(change.pool_bytes + change.graph_bytes - last->pool_bytes -
				      last->graph_bytes);
	vt_vector_push(changes, change);
	*last = change;
}

static struct row row_of(struct vt_stmt *stmt)
{
	return (struct row){
		.op = (unsigned int)vt_stmt_int(stmt, 2),
		.kind = (unsigned int)vt_stmt_int(stmt, 3),
		.device = (int32_t)vt_stmt_int(stmt, 4),
		.pool = (uint64_t)vt_stmt_int(stmt, 5),
		.size_bytes = (uint64_t)vt_stmt_int(stmt, 6),
	};
}

int vt_idle_pools_find(struct vt_model *model, struct vt_diag *diag)
{
	struct vt_pool_lives lives = { 0 };
	struct pool_changes changes = { 0 };
	struct vt_pool_change *last;
	struct vt_stmt *stmt;
	int rc;

	if (!vt_db_query_int(model->db, any_sql, 0))
		return 0;
	last = vt_xcalloc((size_t)model->nr_devices + 1, sizeof(*last));
	for (uint32_t i = 0; i < model->nr_devices; i++)
		last[i].device = (int16_t)model->devices[i].id;
	stmt = vt_db_prepare(model->db, rows_sql);
	while ((rc = vt_stmt_step(stmt)) == 1) {
		const struct row row = row_of(stmt);

		apply(&lives, &row);
		for (uint32_t i = 0; i < model->nr_devices; i++)
			note(&changes, &last[i], &lives, vt_stmt_int(stmt, 0),
			     vt_stmt_int(stmt, 1) - model->start_time_ns);
	}
	vt_stmt_free(stmt);
	if (rc < 0)
		vt_db_diag(model->db, diag);
	vt_pool_lives_release(&lives);
	free(last);
	model->pool_changes = changes.items;
	model->nr_pool_changes = (uint32_t)changes.len;
	return rc;
}

static uint32_t after(const struct vt_model *model, int64_t event)
{
	return vt_search_first(i, model->nr_pool_changes, model->pool_changes[i].event <= event);
}

struct vt_idle vt_idle_pools_at(const struct vt_model *model, int device, int64_t event)
{
	for (uint32_t i = after(model, event); i-- > 0;) {
		const struct vt_pool_change *last = &model->pool_changes[i];

		if (last->device == device)
			return (struct vt_idle){ last->pool_bytes, last->graph_bytes };
	}
	return (struct vt_idle){ 0, 0 };
}

int64_t vt_idle_pools_change(const struct vt_model *model, int device, int64_t event)
{
	int64_t bytes = 0;

	for (uint32_t i = after(model, event);
	     i-- > 0 && model->pool_changes[i].event == event;)
		if (model->pool_changes[i].device == device)
			bytes += model->pool_changes[i].more_bytes;
	return bytes;
}
