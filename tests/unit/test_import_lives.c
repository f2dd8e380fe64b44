/* SPDX-License-Identifier: MIT */
/* How long memory lives that is not simply freed: it goes with something, or is counted. */
#include "tests/lib/unit.h"

#include "analyzer/import/import.h"

#define MIB (1ull << 20)

static void vmm_memory_ends_with_its_last_holder(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_VMM, 77, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_VMM, 78, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x100000, 2 * MIB, 77);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x300000, 2 * MIB, 78);
	builder_call(&b, 1, VT_OP_RELEASE, VT_KIND_VMM, 77, 0, 0);
	/* 78 is still referenced, 77 is not. */
	builder_call(&b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x100000, 4 * MIB, 0);
	builder_call(&b, 1, VT_OP_RELEASE, VT_KIND_VMM, 78, 0, 0);
	db = unit_import(&b, "vmm.db");

	assert_int_equal(unit_freed_event(db, 1), 6);
	assert_int_equal(unit_freed_event(db, 2), 7);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event"), 5);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak"), 4 * MIB);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM every_event"), 7);
	vt_db_close(db);
	builder_release(&b);
}

static void refused_unmaps_and_releases_are_taken_back(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_VMM, 77, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x100000, 2 * MIB, 77);
	builder_call(&b, 1, VT_OP_RELEASE, VT_KIND_VMM, 77, 0, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_VMM, 77, 0, 0);
	builder_call(&b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x100000, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_RELEASE, VT_KIND_VMM, 77, 0, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_VMM, 77, 0, 0);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x500000, 2 * MIB, 77);
	builder_call(&b, 1, VT_OP_RELEASE, VT_KIND_VMM, 77, 0, 0);
	builder_call(&b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x500000, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_VMM, 0x500000, 0, 0);
	builder_call(&b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x500000, 2 * MIB, 0);
	db = unit_import(&b, "vmm-failed.db");

	assert_int_equal(unit_int(db, "SELECT freed_event FROM allocation"), 12);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event"), 11);
	vt_db_close(db);
	builder_release(&b);
}

/*
 * Used: what the driver gave.  Among instants of equal use the one with most block bytes, then the
 * first.
 */
/* cuMemCreate gives host memory too (NCCL asks for it): it is on no device, so it has no peak. */
/* Memory of two contexts on one device, some of it on no device; a pool has no context. */
static void build_contexts(struct builder *b)
{
	builder_call(b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x1000, 4 * MIB, 0xc1);
	builder_call(b, 1, VT_OP_ALLOC, VT_KIND_ARRAY, 0x2000, 2 * MIB, 0xc1);
	builder_call(b, 1, VT_OP_ALLOC, VT_KIND_PINNED, 0x3000, 5, 0xc1);
	builder_call(b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x4000, 8 * MIB, 0xc2);
	builder_call(b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x5000, 7, 0);
	builder_call(b, 2, VT_OP_DESTROY, VT_KIND_CONTEXT, 0xc1, 0, 0);
}

static void a_context_takes_its_memory_with_it(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	build_contexts(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x1000, 1, 0xc2);
	db = unit_import(&b, "contexts.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE freed_event = 6"), 3);
	assert_int_equal(unit_int(db, "SELECT sum(id) FROM allocation WHERE freed_event = 6"), 6);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE freed_event IS NULL"),
			 3);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event WHERE op = 15 AND kind = 11"), 1);
	assert_int_equal(unit_int(db, "SELECT parent FROM allocation_parent WHERE allocation = 4"),
			 0xc2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation_parent"), 5);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak"), 14 * MIB + 7);
	vt_db_close(db);
	builder_release(&b);
}

/* The request of a block stands where others have their handle; no handle at all is no handle. */
static void a_request_is_no_handle(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x1000, MIB, 0xc1);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x2000, MIB, 0);
	builder_call(&b, 1, VT_OP_DESTROY, VT_KIND_CONTEXT, 0xc1, 0, 0);
	builder_call(&b, 1, VT_OP_DESTROY, VT_KIND_CONTEXT, 0, 0, 0);
	db = unit_import(&b, "request.db");
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE freed_event IS NULL"),
			 2);
	vt_db_close(db);
	builder_release(&b);
}

static void a_refused_end_of_a_context_is_taken_back(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	build_contexts(&b);
	builder_call(&b, 2, VT_OP_FREE_FAILED, VT_KIND_CONTEXT, 0xc1, 0, 201);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_ARRAY, 0x2000, 0, 0);
	db = unit_import(&b, "refused_context.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE freed_event IS NULL"),
			 4);
	assert_int_equal(unit_int(db, "SELECT id FROM allocation WHERE freed_event = 8"), 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event"), 2);
	vt_db_close(db);
	builder_release(&b);
}

/* The sample has all of it; every place of resuming gives the same (unit/import_resume). */
static void memory_of_others_ends_when_it_is_closed_as_often_as_opened(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	for (int i = 0; i < 3; i++)
		builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_IPC, 0x1000, MIB, 0xc1);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_IPC, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_IPC, 0x1000, 0, 1);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_IPC, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_IPC, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_IPC, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_IPC, 0x1000, 0, 0);
	db = unit_import(&b, "ipc.db");

	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation"), 1);
	assert_int_equal(unit_int(db, "SELECT freed_event FROM allocation"), 8);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event WHERE op = 9"), 2);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event WHERE op = 8"), 3);
	assert_int_equal(vt_db_run_get_int(db, "unknown_frees", -1), 1);
	assert_int_equal(vt_db_run_get_int(db, "reused_addresses", -1), 0);
	/* Whoever allocated it counts it. */
	assert_int_equal(unit_int(db, "SELECT count(*) FROM peak WHERE used_bytes > 0"), 0);
	vt_db_close(db);
	builder_release(&b);
}

/* Two executables outlive their graph; what frees the memory between two runs does not end it. */
static void memory_of_a_graph_ends_with_the_last_of_it(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_GRAPH, 0x1000, 4 * MIB, 0x91);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_GRAPH, 0x2000, 2 * MIB, 0x92);
	builder_call(&b, 1, VT_OP_INSTANTIATE, VT_KIND_GRAPH, 0x95, 0, 0x91);
	builder_call(&b, 1, VT_OP_INSTANTIATE, VT_KIND_GRAPH, 0x96, 0, 0x91);
	builder_call(&b, 1, VT_OP_DESTROY, VT_KIND_GRAPH, 0x91, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_POOL, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_DESTROY, VT_KIND_GRAPH, 0x96, 0, 0);
	builder_call(&b, 1, VT_OP_DESTROY, VT_KIND_GRAPH, 0x95, 0, 0);
	builder_call(&b, 1, VT_OP_DESTROY, VT_KIND_GRAPH, 0x92, 0, 0);
	db = unit_import(&b, "graphs.db");

	assert_int_equal(unit_freed_event(db, 1), 8);
	assert_int_equal(unit_freed_event(db, 2), 9);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM event WHERE op = 2 AND kind = 9"), 1);
	assert_int_equal(vt_db_run_get_int(db, "unknown_frees", -1), 0);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak"), 6 * MIB);
	vt_db_close(db);
	builder_release(&b);
}

/* Held 64, of which 40 and 10 are allocated in turn: the device has 64 in use all the time. */
static void what_a_pool_holds_counts_until_it_gives_it_back(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_MEMORY_INFO, VT_KIND_POOL, 0x51, 64 * MIB, 24 * MIB);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x1000, 10 * MIB, 0x51);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x2000, 40 * MIB, 0x51);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_POOL, 0x2000, 0, 0);
	builder_call(&b, 1, VT_OP_DESTROY, VT_KIND_POOL, 0x51, 0, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x3000, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_SEGMENT, 0x3000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_POOL, 0x1000, 0, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x3000, 65 * MIB, 0);
	db = unit_import(&b, "pool.db");

	/* A device's own sample tells a context, a pool's does not. */
	assert_int_equal(unit_int(db, "SELECT count(*) FROM device"), 0);
	assert_int_equal(unit_int(db, "SELECT event FROM peak"), 6);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak"), 66 * MIB);
	vt_db_close(db);
	builder_release(&b);
}

static void the_peak_of_a_pool_is_where_most_of_it_is_allocated(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_MEMORY_INFO, VT_KIND_POOL, 0x51, 64 * MIB, 24 * MIB);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x1000, 10 * MIB, 0x51);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x2000, 40 * MIB, 0x51);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_POOL, 0x2000, 0, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_POOL, 0x2000, 30 * MIB, 0x51);
	builder_call(&b, 1, VT_OP_MEMORY_INFO, VT_KIND_POOL, 0x51, 40 * MIB, 0);
	db = unit_import(&b, "pool-peak.db");

	assert_int_equal(unit_int(db, "SELECT event FROM peak"), 3);
	assert_int_equal(unit_int(db, "SELECT used_bytes FROM peak"), 64 * MIB);
	vt_db_close(db);
	builder_release(&b);
}

/* Freed by lost events: what others lie over later, and what a segment took with it. */
static void what_was_freed_in_a_gap_ends_there(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x100000, 4 * MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x100000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x200000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x900000, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x900000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x300000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_ARRAY, 0x180000, 2 * MIB, 0);
	builder_call(&b, 2, VT_OP_LOSS, VT_KIND_BLOCK, 0, 9, 0);
	/* In the middle of the first block, up to where the next one begins; beside the third. */
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x180000, MIB / 2, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_BLOCK, 0x200000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_SEGMENT, 0x900000, 0, 0);
	/* What was made since is known to be alive: a reuse of it ends it there (A2). */
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x180000, MIB / 2, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x100000, 4 * MIB, 0);
	db = unit_import(&b, "gap.db");

	assert_int_equal(unit_freed_event(db, 1), 8);
	assert_int_equal(unit_freed_event(db, 2), 8);
	assert_int_equal(unit_freed_event(db, 3), 10);
	assert_int_equal(unit_freed_event(db, 4), 11);
	assert_int_equal(unit_freed_event(db, 5), 8);
	assert_int_equal(unit_freed_event(db, 9), 12);
	/* Nothing lies over it, but its segment is gone. */
	assert_int_equal(unit_freed_event(db, 6), 8);
	/* An array is no range of addresses. */
	assert_int_equal(unit_int(db, "SELECT group_concat(id, '') FROM allocation WHERE"
				      " freed_event IS NULL AND id < 8"), 7);
	assert_int_equal(unit_int(db, "SELECT size_bytes FROM event WHERE op = 25"), 9);
	vt_db_close(db);
	builder_release(&b);
}

/* The new one lies where the old one was only in part, or where nothing of it was recorded. */
static void blocks_of_a_segment_that_was_freed_in_a_gap_end_there(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x100000, 4 * MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x400000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x900000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0xc00000, MIB, 0);
	builder_call(&b, 2, VT_OP_LOSS, VT_KIND_BLOCK, 0, 9, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x100000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x900000, 2 * MIB, 0);
	db = unit_import(&b, "gap-segment.db");

	assert_int_equal(unit_freed_event(db, 2), 5);
	assert_int_equal(unit_freed_event(db, 3), 5);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE id = 4 AND"
				      " freed_event IS NULL"), 1);
	vt_db_close(db);
	builder_release(&b);
}

/* Of an expandable segment only what is unmapped, and not where that was refused. */
static void blocks_that_are_unmapped_were_freed_in_the_gap(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_VMM, 77, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_VMM, 78, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x200000, 2 * MIB, 77);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x400000, 2 * MIB, 78);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x300000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x400000, MIB, 0);
	builder_call(&b, 2, VT_OP_LOSS, VT_KIND_BLOCK, 0, 9, 0);
	builder_call(&b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x400000, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_VMM, 0x400000, 0, 1);
	builder_call(&b, 1, VT_OP_UNMAP, VT_KIND_VMM, 0x200000, 2 * MIB, 0);
	db = unit_import(&b, "gap-unmap.db");

	assert_int_equal(unit_freed_event(db, 5), 7);
	assert_int_equal(unit_int(db, "SELECT count(*) FROM allocation WHERE id = 6 AND"
				      " freed_event IS NULL"), 1);
	vt_db_close(db);
	builder_release(&b);
}

/* Where something is mapped nothing was: the range was unmapped in the gap. */
static void blocks_under_a_new_mapping_were_freed_in_the_gap(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_VMM, 77, 4 * MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_VMM, 78, 2 * MIB, 0);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x200000, 4 * MIB, 77);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x300000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x400000, MIB, 0);
	/* Before any loss a mapping says nothing of blocks: theirs may be the allocator's own. */
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x200000, 2 * MIB, 78);
	builder_call(&b, 2, VT_OP_LOSS, VT_KIND_BLOCK, 0, 9, 0);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x200000, 2 * MIB, 78);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x200000, MIB, 0);
	builder_call(&b, 1, VT_OP_MAP, VT_KIND_VMM, 0x200000, 2 * MIB, 78);
	db = unit_import(&b, "gap-map.db");

	assert_int_equal(unit_freed_event(db, 4), 7);
	/* Beside it, and made since. */
	assert_int_equal(unit_int(db, "SELECT group_concat(id, '') FROM allocation WHERE kind = 1"
				      " AND freed_event IS NULL"), 59);
	vt_db_close(db);
	builder_release(&b);
}

/* It comes back with what lay in it. */
static void a_refused_free_brings_back_the_blocks_that_went_with_it(void **state)
{
	struct builder b;
	struct vt_db *db;

	(void)state;
	builder_init(&b);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_SEGMENT, 0x100000, 4 * MIB, 0xc1);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x200000, MIB, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x300000, MIB, 0);
	builder_call(&b, 2, VT_OP_LOSS, VT_KIND_BLOCK, 0, 9, 0);
	builder_call(&b, 1, VT_OP_ALLOC, VT_KIND_BLOCK, 0x300000, MIB / 2, 0);
	builder_call(&b, 1, VT_OP_FREE, VT_KIND_SEGMENT, 0x100000, 0, 0);
	builder_call(&b, 1, VT_OP_FREE_FAILED, VT_KIND_SEGMENT, 0x100000, 0, 1);
	db = unit_import(&b, "gap-refused.db");

	assert_int_equal(unit_int(db, "SELECT group_concat(id, '') FROM allocation WHERE"
				      " freed_event IS NULL"), 125);
	assert_int_equal(unit_freed_event(db, 3), 4);
	vt_db_close(db);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vmm_memory_ends_with_its_last_holder),
		cmocka_unit_test(refused_unmaps_and_releases_are_taken_back),
		cmocka_unit_test(a_context_takes_its_memory_with_it),
		cmocka_unit_test(a_request_is_no_handle),
		cmocka_unit_test(a_refused_end_of_a_context_is_taken_back),
		cmocka_unit_test(memory_of_others_ends_when_it_is_closed_as_often_as_opened),
		cmocka_unit_test(what_a_pool_holds_counts_until_it_gives_it_back),
		cmocka_unit_test(the_peak_of_a_pool_is_where_most_of_it_is_allocated),
		cmocka_unit_test(memory_of_a_graph_ends_with_the_last_of_it),
		cmocka_unit_test(what_was_freed_in_a_gap_ends_there),
		cmocka_unit_test(blocks_of_a_segment_that_was_freed_in_a_gap_end_there),
		cmocka_unit_test(blocks_that_are_unmapped_were_freed_in_the_gap),
		cmocka_unit_test(blocks_under_a_new_mapping_were_freed_in_the_gap),
		cmocka_unit_test(a_refused_free_brings_back_the_blocks_that_went_with_it),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
