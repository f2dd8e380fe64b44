/* SPDX-License-Identifier: MIT */
/* What the highest use would have been without some bytes. */
#include "tests/lib/unit.h"

#include "analyzer/diagnosis/savings.h"

/* A of 100 from 1 to 6, B of 50 from 3 to 5, C of 120 from 7 on, D of 500 on another device. */
static const struct vt_allocation_common a = { .size_bytes = 100, .kind = VT_KIND_BLOCK },
					 b = { .size_bytes = 50, .kind = VT_KIND_BLOCK },
					 c = { .size_bytes = 120, .kind = VT_KIND_BLOCK },
					 d = { .size_bytes = 500,
					       .kind = VT_KIND_BLOCK,
					       .device = 1 };
static struct vt_allocation allocations[] = {
	{ .event = 1, .freed_event = 6, .common = &a },
	{ .event = 3, .freed_event = 5, .common = &b },
	{ .event = 4, .freed_event = VT_NEVER, .common = &d },
	{ .event = 7, .freed_event = VT_NEVER, .common = &c },
};

struct fixture {
	struct vt_timeline timeline;
	struct vt_savings savings;
};

static struct fixture make(void)
{
	static struct vt_model model;
	struct fixture fixture = { 0 };

	model.allocations = allocations;
	model.nr_allocations = VT_ARRAY_SIZE(allocations);
	vt_timeline_init(&fixture.timeline, &model);
	return fixture;
}

static void release(struct fixture *fixture)
{
	vt_vector_release(&fixture->savings);
	vt_timeline_release(&fixture->timeline);
}

static uint64_t peak(struct fixture *fixture)
{
	return vt_savings_peak(&fixture->savings, &fixture->timeline, 0);
}

static void without_savings_it_is_the_recorded_peak(void **state)
{
	struct fixture fixture = make();

	(void)state;
	assert_int_equal(vt_savings_peak(NULL, &fixture.timeline, 0), 150);
	assert_int_equal(vt_savings_peak(NULL, &fixture.timeline, 1), 500);
	release(&fixture);
}

static void a_saving_ends_where_another_moment_is_as_high(void **state)
{
	struct fixture fixture = make();

	(void)state;
	vt_savings_add(&fixture.savings, &allocations[1], 50);
	assert_int_equal(peak(&fixture), 120);
	release(&fixture);
}

static void part_of_a_block_and_part_of_its_life(void **state)
{
	struct fixture fixture = make();

	(void)state;
	vt_savings_add(&fixture.savings, &allocations[0], 20);
	assert_int_equal(peak(&fixture), 130);
	vt_savings_add_between(&fixture.savings, &allocations[0], 80, 0, 3);
	assert_int_equal(peak(&fixture), 130);
	vt_savings_add_between(&fixture.savings, &allocations[0], 20, 0, 100);
	assert_int_equal(peak(&fixture), 120);
	release(&fixture);
}

static void what_ends_when_something_begins_is_not_there_with_it(void **state)
{
	struct fixture fixture = make();

	(void)state;
	vt_savings_add(&fixture.savings, &allocations[0], 100);
	vt_savings_add(&fixture.savings, &allocations[3], 120);
	assert_int_equal(peak(&fixture), 50);
	release(&fixture);
}

static void a_cost_raises_the_peak_while_its_block_lives(void **state)
{
	struct fixture fixture = make();

	(void)state;
	vt_savings_add(&fixture.savings, &allocations[0], 60);
	vt_savings_add_cost(&fixture.savings, &allocations[1], 80, 4, VT_NEVER);
	assert_int_equal(peak(&fixture), 170);
	vt_savings_add_cost(&fixture.savings, &allocations[1], 1000, 6, VT_NEVER);
	assert_int_equal(peak(&fixture), 170);
	release(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_savings_it_is_the_recorded_peak),
		cmocka_unit_test(a_saving_ends_where_another_moment_is_as_high),
		cmocka_unit_test(part_of_a_block_and_part_of_its_life),
		cmocka_unit_test(what_ends_when_something_begins_is_not_there_with_it),
		cmocka_unit_test(a_cost_raises_the_peak_while_its_block_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
