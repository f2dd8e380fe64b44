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

static uint64_t peak_on(struct fixture *fixture, int device)
{
	struct vt_allocated allocated;
	uint64_t bytes;

	vt_allocated_init(&allocated, &fixture->timeline, device);
	bytes = vt_savings_peak(device ? NULL : &fixture->savings, &allocated);
	vt_allocated_release(&allocated);
	return bytes;
}

static uint64_t peak(struct fixture *fixture)
{
	return peak_on(fixture, 0);
}

static void without_savings_it_is_the_recorded_peak(void **state)
{
	struct fixture fixture = make();

	(void)state;
	assert_int_equal(peak(&fixture), 150);
	assert_int_equal(peak_on(&fixture, 1), 500);
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

#define NR    3000
#define LIVES 40 /* allocations that come while one is alive, at most */

static uint32_t below(uint64_t *seed, uint32_t nr)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((*seed >> 33) % nr);
}

/* Adds up event by event: every allocation begins at one, and ends at another or never. */
static uint64_t peak_by_events(const struct vt_allocation *all, const struct vt_savings *savings,
			       uint32_t nr_events)
{
	int64_t *bytes = vt_xcalloc(nr_events + 1, sizeof(*bytes)), now = 0, most = 0;

	for (uint32_t i = 0; i < NR; i++) {
		bytes[all[i].event] += (int64_t)all[i].common->size_bytes;
		if (all[i].freed_event != VT_NEVER)
			bytes[all[i].freed_event] -= (int64_t)all[i].common->size_bytes;
	}
	for (size_t i = 0; i < savings->len; i++) {
		bytes[savings->items[i].from_event] -= savings->items[i].bytes;
		if (savings->items[i].to_event != VT_NEVER)
			bytes[savings->items[i].to_event] += savings->items[i].bytes;
	}
	for (uint32_t event = 0; event <= nr_events; event++) {
		now += bytes[event];
		most = now > most ? now : most;
	}
	free(bytes);
	return (uint64_t)most;
}

/* In many stretches of a timeline, with savings and costs at any place. */
static void the_peak_of_a_long_timeline_is_that_of_each_moment(void **state)
{
	static struct vt_allocation_common commons[NR];
	static struct vt_allocation all[NR];
	static struct vt_model model;
	struct fixture fixture = { 0 };
	uint64_t seed = 5;

	(void)state;
	for (uint32_t i = 0; i < NR; i++) {
		commons[i] = (struct vt_allocation_common){ .size_bytes = 1 + below(&seed, 1000),
							    .kind = VT_KIND_BLOCK };
		all[i] = (struct vt_allocation){ .event = 1 + 2 * i, .common = &commons[i] };
		all[i].freed_event = 2 * (i + 1 + below(&seed, LIVES));
		if (all[i].freed_event > 2 * NR)
			all[i].freed_event = (uint32_t)VT_NEVER;
	}
	model.allocations = all;
	model.nr_allocations = NR;
	vt_timeline_init(&fixture.timeline, &model);
	for (uint32_t round = 0; round < 200; round++) {
		uint32_t at = below(&seed, NR), bytes = 1 + below(&seed, commons[at].size_bytes);
		int64_t from = all[at].event + below(&seed, 20);

		assert_int_equal(peak(&fixture), peak_by_events(all, &fixture.savings, 2 * NR));
		/* Where the peak is, most of them. */
		for (uint32_t i = 0; i < NR && round % 4; i++)
			if (below(&seed, 4) == 0)
				vt_savings_add(&fixture.savings, &all[i],
					       1 + below(&seed, commons[i].size_bytes) / 50);
		if (round % 2)
			vt_savings_add_between(&fixture.savings, &all[at], bytes, from, VT_NEVER);
		else
			vt_savings_add_cost(&fixture.savings, &all[at], bytes, from, VT_NEVER);
		if (round % 8 == 7)
			fixture.savings.len = 0;
	}
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
		cmocka_unit_test(the_peak_of_a_long_timeline_is_that_of_each_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
