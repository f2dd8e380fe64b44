/* SPDX-License-Identifier: MIT */
#include "analyzer/model/allocation_bases.h"

#include "analyzer/base/search.h"
#include "analyzer/database/db_scan.h"

enum column {
	ID,
	TIME_NS,
	ADDRESS,
	SEQUENCE,
};

static const char *const columns[] = {
	[ID] = "id",
	[TIME_NS] = "time_ns",
	[ADDRESS] = "address",
	[SEQUENCE] = "sequence",
};

static void take(void *context, const struct vt_db_row *row)
{
	struct vt_allocation_bases *bases = context;
	struct vt_allocation_base base = {
		.id = row->values[ID],
		.time_ns = row->values[TIME_NS],
		.address = (uint64_t)row->values[ADDRESS],
		.sequence = (uint64_t)row->values[SEQUENCE],
	};

	vt_vector_push(bases, base);
}

static void forget(void *context)
{
	struct vt_allocation_bases *bases = context;

	bases->len = 0;
}

int vt_allocation_bases_load(struct vt_allocation_bases *bases, struct vt_db *db,
			     struct vt_diag *diag)
{
	const struct vt_scan scan = {
		.table = "allocation_base",
		.columns = columns,
		.nr_columns = VT_ARRAY_SIZE(columns),
		.take = take,
		.restart = forget,
		.context = bases,
	};

	return vt_db_scan_all(db, scan, diag);
}

const struct vt_allocation_base *vt_allocation_bases_find(const struct vt_allocation_bases *bases,
							  int64_t id)
{
	static const struct vt_allocation_base none;
	size_t at = vt_search_id(bases->items, bases->len, id);

	return at < bases->len ? &bases->items[at] : &none;
}
