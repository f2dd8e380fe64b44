/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <math.h>
#include <string.h>

#include "analyzer/planner/cheapest_cover.h"

#define MOST_ITEMS 9
#define MOST_NEEDS 6
#define ROUNDS	   3000

static uint32_t state = 20261124;

static uint32_t draw(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

struct problem {
	double saves[MOST_NEEDS][MOST_ITEMS], costs[MOST_ITEMS];
	struct vt_cover_need needs[MOST_NEEDS];
	struct vt_cover cover;
};

static void make(struct problem *p)
{
	size_t nr_items = 1 + draw(MOST_ITEMS), nr_needs = 1 + draw(MOST_NEEDS);
	int is_alike = draw(3) == 0;

	for (size_t i = 0; i < nr_items; i++)
		p->costs[i] = is_alike ? 5 : draw(20);
	for (size_t n = 0; n < nr_needs; n++) {
		for (size_t i = 0; i < nr_items; i++)
			p->saves[n][i] = draw(4) ? (is_alike ? 7 : draw(30)) : 0;
		p->needs[n] = (struct vt_cover_need){
			(double)draw(90) - 20,
			draw(4) ? VT_COVER_ALWAYS : draw((uint32_t)nr_items), p->saves[n] };
	}
	p->cover = (struct vt_cover){ p->needs, nr_needs, p->costs, nr_items };
}

static double cost_of(const struct vt_cover *cover, const uint8_t *chosen)
{
	double cost = 0;

	for (size_t i = 0; i < cover->nr_items; i++)
		cost += chosen[i] ? cover->costs[i] : 0;
	return cost;
}

/* Of all sets; INFINITY: none meets the needs. */
static double cheapest(const struct vt_cover *cover)
{
	double least = INFINITY;
	uint8_t chosen[MOST_ITEMS];

	for (unsigned set = 0; set < 1u << cover->nr_items; set++) {
		for (size_t i = 0; i < cover->nr_items; i++)
			chosen[i] = set >> i & 1;
		if (vt_cover_worst(cover, chosen) <= 0)
			least = fmin(least, cost_of(cover, chosen));
	}
	return least;
}

static void it_is_the_cheapest_of_all_sets(void **unused)
{
	unsigned found = 0;

	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		struct problem p;
		uint8_t chosen[MOST_ITEMS];
		enum vt_cover_result result;
		double least;

		make(&p);
		least = cheapest(&p.cover);
		result = vt_cover_find(&p.cover, chosen);
		assert_int_equal(result, isinf(least) ? VT_COVER_NONE : VT_COVER_FOUND);
		if (result != VT_COVER_FOUND)
			continue;
		found++;
		assert_true(vt_cover_worst(&p.cover, chosen) <= 0);
		assert_true(cost_of(&p.cover, chosen) == least);
	}
	assert_in_range(found, ROUNDS / 10, ROUNDS - ROUNDS / 10);
}

/* A hundred equal layers are no more than one question: how many. */
static void equal_layers_are_no_long_search(void **unused)
{
	double saves[100], costs[100];
	uint8_t chosen[100];
	struct vt_cover_need need = { 4250, VT_COVER_ALWAYS, saves };
	struct vt_cover cover = { &need, 1, costs, 100 };

	(void)unused;
	for (size_t i = 0; i < 100; i++) {
		saves[i] = 100;
		costs[i] = 3;
	}
	assert_int_equal(vt_cover_find(&cover, chosen), VT_COVER_FOUND);
	assert_true(cost_of(&cover, chosen) == 43 * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_cheapest_of_all_sets),
		cmocka_unit_test(equal_layers_are_no_long_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
