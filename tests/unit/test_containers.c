/* SPDX-License-Identifier: MIT */
/* Which driver memory blocks lie in, where memory comes and goes with the event of a block. */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/model/containers.h"

#define START  0x7f0000000000ull
#define BYTES  0x200000ull
#define HANDLE 77ull
#define EVENT  6 /* with which all happens */

enum { SEGMENT, VMM, BLOCK, NR };

/* A segment that may end, and a handle that may be mapped, with the event of the block. */
static struct {
	struct vt_allocation_common commons[NR];
	struct vt_caller caller;
	struct vt_allocation allocations[NR];
	struct vt_other_event events[2];
	struct vt_model model;
} g;

static int set_up(void **state)
{
	static const uint8_t kinds[NR] = { VT_KIND_SEGMENT, VT_KIND_VMM, VT_KIND_BLOCK };

	(void)state;
	memset(&g, 0, sizeof(g));
	for (uint32_t i = 0; i < NR; i++) {
		g.commons[i] = (struct vt_allocation_common){ .size_bytes = BYTES,
							      .kind = kinds[i],
							      .made = &g.caller };
		g.allocations[i] = (struct vt_allocation){ .event = i == BLOCK ? EVENT : i + 1,
							   .freed_event = VT_NEVER,
							   .address = i == VMM ? HANDLE : START,
							   .common = &g.commons[i],
							   .container = VT_NO_CONTAINER };
	}
	g.model = (struct vt_model){ .allocations = g.allocations,
				     .nr_allocations = NR,
				     .events = g.events };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(g.model.segments);
	free(g.model.spills);
	return 0;
}

static void add_event(int64_t event, enum vt_op op)
{
	g.events[g.model.nr_events++] = (struct vt_other_event){ .event = event,
								 .address = START,
								 .size_bytes = BYTES,
								 .extra = HANDLE,
								 .op = (uint8_t)op,
								 .kind = VT_KIND_VMM };
}

static uint32_t container(void)
{
	vt_containers_find(&g.model);
	return g.allocations[BLOCK].container;
}

static void a_block_lies_in_what_is_mapped_with_its_event(void **state)
{
	(void)state;
	g.allocations[SEGMENT].freed_event = EVENT;
	add_event(EVENT, VT_OP_MAP);
	assert_int_equal(container(), VMM);
	assert_int_equal(g.model.nr_segments, 1);
	assert_int_equal(g.model.segments[0].allocation, VMM);
	assert_false(g.allocations[SEGMENT].holds_blocks);
}

static void a_block_does_not_lie_in_what_ends_with_its_event(void **state)
{
	(void)state;
	g.allocations[SEGMENT].freed_event = EVENT;
	assert_int_equal(container(), VT_NO_CONTAINER);
	assert_int_equal(g.model.nr_segments, 0);
}

static void a_block_lies_in_what_ends_with_the_next_event(void **state)
{
	(void)state;
	g.allocations[SEGMENT].freed_event = EVENT + 1;
	add_event(EVENT + 1, VT_OP_MAP);
	assert_int_equal(container(), SEGMENT);
}

/* Unmapped, and mapped again: events with one number keep their order. */
static void a_block_lies_in_what_is_mapped_last(void **state)
{
	(void)state;
	g.allocations[SEGMENT].freed_event = 2;
	add_event(EVENT, VT_OP_UNMAP);
	add_event(EVENT, VT_OP_MAP);
	assert_int_equal(container(), VMM);
}

static void a_block_does_not_lie_in_what_was_unmapped(void **state)
{
	(void)state;
	g.allocations[SEGMENT].freed_event = 2;
	add_event(EVENT - 1, VT_OP_MAP);
	add_event(EVENT, VT_OP_UNMAP);
	assert_int_equal(container(), VT_NO_CONTAINER);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_block_lies_in_what_is_mapped_with_its_event),
		TEST(a_block_does_not_lie_in_what_ends_with_its_event),
		TEST(a_block_lies_in_what_ends_with_the_next_event),
		TEST(a_block_lies_in_what_is_mapped_last),
		TEST(a_block_does_not_lie_in_what_was_unmapped),
	};

	return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
