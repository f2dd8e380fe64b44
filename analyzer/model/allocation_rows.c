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

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/parallel.h"
#include "analyzer/base/util.h"
#include "analyzer/database/db_scan.h"
#include "analyzer/model/allocation_bases.h"
#include "analyzer/model/caller_pairs.h"
#include "common/kinds.h"

/* A second connection costs a millisecond, a row about one thousandth of that. */
#define IDS_PER_PART 100000
#define MAX_PARTS     4

enum column {
	ID,
	CALLERS,
	ADDRESS_PACKED,
	SIZE_PACKED,
	ROUNDING_BYTES,
	TIME_OFFSET_NS,
	NODE_SEQUENCE_OFFSET,
	FORWARD_SEQUENCE_OFFSET,
	LIVED_EVENTS,
	LIVED_NS,
	FREED_NODE_SEQUENCE_OFFSET,
};

static const char *const columns[] = {
	[ID] = "id",
	[CALLERS] = "callers",
	[ADDRESS_PACKED] = "address_packed",
	[SIZE_PACKED] = "size_packed",
	[ROUNDING_BYTES] = "rounding_bytes",
	[TIME_OFFSET_NS] = "time_offset_ns",
	[NODE_SEQUENCE_OFFSET] = "node_sequence_offset",
	[FORWARD_SEQUENCE_OFFSET] = "forward_sequence_offset",
	[LIVED_EVENTS] = "lived_events",
	[LIVED_NS] = "lived_ns",
	[FREED_NODE_SEQUENCE_OFFSET] = "freed_node_sequence_offset",
};

/* A row repeats one of those before it, nearly always: what they have in common, by a hash. */
#define NR_RECENT 8192

struct recent {
	const struct vt_allocation_common *common; /* NULL: none yet */
	int64_t callers;
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
	const struct vt_caller_pairs *pairs; /* of all parts, as the next */
	const struct vt_allocation_bases *bases;
	const struct vt_allocation_base *base; /* the latest row's; NULL: none yet */
	int64_t base_id;                       /* what was asked for */
	struct vt_interned commons;            /* the part's own: no lock */
	struct recent *recent;                 /* NR_RECENT */
	uint32_t next_common, nr_parts;        /* the parts take numbers in turn */
	int rc;
};

static int is_null(const struct vt_db_row *row, enum column column)
{
	return (row->nulls >> column & 1) != 0;
}

/* Numbers in a damaged file can be anything. */
static int64_t add(int64_t number, int64_t more)
{
	return (int64_t)((uint64_t)number + (uint64_t)more);
}

static uint32_t sequence_at(const struct part *part, const struct vt_db_row *row,
			    enum column column)
{
	return is_null(row, column) ? (uint32_t)VT_NO_SEQUENCE
				    : vt_allocation_sequence(add((int64_t)part->base->sequence,
								 row->values[column]));
}

static const struct vt_allocation_common *make_common(struct part *part, int64_t callers,
						      uint64_t size_bytes, uint64_t requested_bytes)
{
	const struct vt_caller_pair *pair = vt_caller_pairs_find(part->pairs, callers);
	struct vt_allocation_common common = {
		.size_bytes = size_bytes,
		.requested_bytes = requested_bytes,
		.made = pair->made,
		.freed = pair->freed,
		.device = pair->device,
		.kind = pair->kind,
		.number = part->next_common,
	};
	const struct vt_allocation_common *kept;
	int is_new;

	kept = vt_interned_add(&part->commons, &common, sizeof(common),
			       offsetof(struct vt_allocation_common, number), &is_new);
	part->next_common += is_new ? part->nr_parts : 0;
	return kept;
}

static const struct vt_allocation_common *common_at(struct part *part, const struct vt_db_row *row)
{
	int64_t callers = row->values[CALLERS];
	uint64_t size_bytes = vt_allocation_base_unpack(row->values[SIZE_PACKED]);
	uint64_t requested_bytes = is_null(row, ROUNDING_BYTES)
					   ? 0
					   : size_bytes - (uint64_t)row->values[ROUNDING_BYTES];
	struct recent *recent =
		&part->recent[vt_hash_mix((uint64_t)callers, size_bytes) % NR_RECENT];

	if (!recent->common || recent->callers != callers ||
	    recent->common->size_bytes != size_bytes ||
	    recent->common->requested_bytes != requested_bytes)
		*recent = (struct recent){ make_common(part, callers, size_bytes, requested_bytes),
					   callers };
	return recent->common;
}

static int is_of_driver(const struct part *part, const struct vt_db_row *row)
{
	uint32_t kind = vt_caller_pairs_find(part->pairs, row->values[CALLERS])->kind;

	return kind && kind != VT_KIND_BLOCK;
}

static void find_base(struct part *part, int64_t id)
{
	if (part->base && part->base_id == vt_allocation_base_id(id))
		return;
	part->base_id = vt_allocation_base_id(id);
	part->base = vt_allocation_bases_find(part->bases, part->base_id);
}

static void take(void *context, const struct vt_db_row *row)
{
	struct part *part = context;
	int64_t time_ns, freed_time_ns;
	struct vt_allocation *a;

	if (part->rows.len >= VT_MOST_ROWS ||
	    (part->choice == VT_ALLOCATIONS_DRIVER && !is_of_driver(part, row)))
		return;
	find_base(part, row->values[ID]);
	vt_vector_reserve(&part->rows, part->rows.len + 1);
	a = &part->rows.items[part->rows.len++];
	*a = (struct vt_allocation){
		.event = vt_allocation_event(row->values[ID]),
		.freed_event = (uint32_t)VT_NEVER,
		.address = part->base->address +
			   vt_allocation_base_unpack(row->values[ADDRESS_PACKED]),
		.common = common_at(part, row),
		.node_sequence = sequence_at(part, row, NODE_SEQUENCE_OFFSET),
		.forward_sequence = sequence_at(part, row, FORWARD_SEQUENCE_OFFSET),
		.freed_node_sequence = (uint32_t)VT_NO_SEQUENCE,
		.container = VT_NO_CONTAINER,
	};
	time_ns = freed_time_ns = add(part->base->time_ns, row->values[TIME_OFFSET_NS]);
	if (!is_null(row, LIVED_EVENTS)) {
		a->freed_event =
			vt_allocation_event(add(row->values[ID], row->values[LIVED_EVENTS]));
		a->freed_node_sequence = sequence_at(part, row, FREED_NODE_SEQUENCE_OFFSET);
		freed_time_ns = add(time_ns, row->values[LIVED_NS]);
	}
	vt_allocation_times_add(&part->times, add(time_ns, -part->start_time_ns),
				add(freed_time_ns, -part->start_time_ns));
}

/* What rows had in common stays: some of it may be there again. */
static void forget(void *context)
{
	struct part *part = context;

	part->rows.len = 0;
	vt_allocation_times_release(&part->times);
}

/* Of those whose kind is another than a block's, VT_KIND_BLOCK. */
static const char of_driver[] =
	"callers IN (SELECT c.id FROM allocation_callers c JOIN allocation_made m ON m.id = c.made"
	" WHERE m.kind <> 1)";
_Static_assert(VT_KIND_BLOCK == 1, "of_driver");

static void read_part(void *context, size_t number)
{
	struct part *part = (struct part *)context + number;
	const struct vt_scan scan = {
		.table = "allocation_row",
		.columns = columns,
		.nr_columns = VT_ARRAY_SIZE(columns),
		.after = part->after,
		.upto = part->upto,
		.unless_passed_over = part->choice == VT_ALLOCATIONS_DRIVER ? of_driver : NULL,
		.take = take,
		.restart = forget,
		.context = part,
	};

	part->recent = vt_xcalloc(NR_RECENT, sizeof(*part->recent));
	part->rc = vt_db_scan(part->db, &scan);
	free(part->recent);
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

/* Rows and times of the parts, each to be moved to those of the first. */
struct joining {
	struct vt_allocation_rows *rows;
	struct part *parts;
	unsigned nr_parts;
};

static void join_rows(const struct joining *joining)
{
	struct vt_allocation *to = joining->rows->items + joining->parts[0].rows.len;

	for (unsigned i = 1; i < joining->nr_parts; i++) {
		struct part *part = &joining->parts[i];

		if (part->rows.len)
			memcpy(to, part->rows.items, part->rows.len * sizeof(*to));
		to += part->rows.len;
		vt_vector_release(&part->rows);
	}
}

static void join_times(const struct joining *joining)
{
	for (unsigned i = 0; i < joining->nr_parts; i++)
		vt_allocation_times_append(&joining->rows->times, &joining->parts[i].times);
}

static void join_rows_or_times(void *joining, size_t number)
{
	(number ? join_times : join_rows)(joining);
}

/* What the parts read, as one. */
static int join(struct vt_allocation_rows *rows, struct part *parts, unsigned nr,
		struct vt_diag *diag)
{
	struct joining joining = { rows, parts, nr };
	size_t nr_rows = 0;
	int rc = 0;

	for (unsigned i = 0; i < nr; i++) {
		if (parts[i].rc < 0 && !rc)
			vt_db_diag(parts[i].db, diag);
		rc |= parts[i].rc < 0;
		nr_rows += parts[i].rows.len;
		vt_interned_adopt(&rows->commons, &parts[i].commons);
		if (rows->nr_commons < parts[i].next_common)
			rows->nr_commons = parts[i].next_common;
		if (i)
			vt_db_close(parts[i].db);
	}
	/* With one more, as nothing of no rows is no error; what is behind them is given back. */
	rows->items = vt_xrealloc(parts[0].rows.items, (nr_rows + 1) * sizeof(*rows->items));
	rows->nr = (uint32_t)nr_rows;
	/* A thread for rows that lie where they should would take longer than their times. */
	if (nr > 1)
		vt_parallel_run(2, join_rows_or_times, &joining);
	else
		join_times(&joining);
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
	struct vt_caller_pairs pairs = { 0 };
	struct vt_allocation_bases bases = { 0 };
	unsigned nr;
	int rc;

	memset(rows, 0, sizeof(*rows));
	rc = vt_caller_pairs_load(&pairs, db, &rows->callers, diag) ||
	     vt_allocation_bases_load(&bases, db, diag);
	if (!rc) {
		nr = divide(db, start_time_ns, parts);
		for (unsigned i = 0; i < nr; i++) {
			parts[i].choice = choice;
			parts[i].pairs = &pairs;
			parts[i].bases = &bases;
			parts[i].next_common = i;
			parts[i].nr_parts = nr;
		}
		vt_parallel_run(nr, read_part, parts);
		rc = join(rows, parts, nr, diag);
	}
	vt_vector_release(&pairs);
	vt_vector_release(&bases);
	return rc ? -1 : 0;
}
