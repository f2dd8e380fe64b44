/* SPDX-License-Identifier: MIT */
#include "analyzer/model/caller_pairs.h"

#include <stdlib.h>

#include "analyzer/base/search.h"
#include "analyzer/database/db_scan.h"
#include "analyzer/model/caller_table.h"

enum column {
	ID,
	MADE,
	FREED,
};

static const char *const columns[] = {
	[ID] = "id",
	[MADE] = "made",
	[FREED] = "freed",
};

struct load {
	struct vt_caller_pairs *pairs;
	struct vt_caller_table made, freed;
};

static void take(void *context, const struct vt_db_row *row)
{
	struct load *load = context;
	const struct vt_caller_row *made = vt_caller_table_find(&load->made, row->values[MADE]);
	struct vt_caller_pair pair = {
		.id = row->values[ID],
		.made = made->caller,
		.freed = row->nulls >> FREED & 1
				 ? &vt_caller_nobody
				 : vt_caller_table_find(&load->freed, row->values[FREED])->caller,
		.device = made->device,
		.kind = made->kind,
	};

	vt_vector_push(load->pairs, pair);
}

static void forget(void *context)
{
	struct load *load = context;

	load->pairs->len = 0;
}

static int scan_table(struct load *load, struct vt_db *db, struct vt_diag *diag)
{
	const struct vt_scan scan = {
		.table = "allocation_callers",
		.columns = columns,
		.nr_columns = VT_ARRAY_SIZE(columns),
		.take = take,
		.restart = forget,
		.context = load,
	};

	return vt_db_scan_all(db, scan, diag);
}

int vt_caller_pairs_load(struct vt_caller_pairs *pairs, struct vt_db *db,
			 struct vt_callers *callers, struct vt_diag *diag)
{
	struct load load = { .pairs = pairs };
	int rc = vt_caller_table_load_made(&load.made, db, callers, diag) ||
		 vt_caller_table_load_freed(&load.freed, db, callers, diag) ||
		 scan_table(&load, db, diag);

	free(load.made.items);
	free(load.freed.items);
	return rc ? -1 : 0;
}

const struct vt_caller_pair *vt_caller_pairs_find(const struct vt_caller_pairs *pairs, int64_t id)
{
	static const struct vt_caller_pair nobody_s = { .made = &vt_caller_nobody,
							.freed = &vt_caller_nobody };
	size_t at = vt_search_id(pairs->items, pairs->len, id);

	return at < pairs->len ? &pairs->items[at] : &nobody_s;
}
