/* SPDX-License-Identifier: MIT */
/* What moments show is the same however many different answers there are. */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/attribution/timeline/shown_moments.h"
#include "analyzer/base/util.h"

/* More threads than answers are kept, each of them seen twice. */
#define NR_THREADS (VT_SHOWN_ANSWERS + 45u)
#define NR         (2 * NR_THREADS)

static struct {
	struct vt_caller made[NR_THREADS], freed[NR_THREADS];
	struct vt_allocation_common commons[NR_THREADS];
	struct vt_allocation allocations[NR];
	uint8_t by_stack[1];
	struct vt_model model;
	struct vt_timeline timeline;
} g;

/* Allocations of each thread, freed by the next one. */
static int set_up(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		g.made[i].thread = i + 1;
		g.made[i].node_class = i % 2;
		g.freed[i].thread = i + 2;
		g.commons[i] = (struct vt_allocation_common){ .made = &g.made[i],
							      .freed = &g.freed[i],
							      .number = i };
	}
	for (uint32_t i = 0; i < NR; i++)
		g.allocations[i] = (struct vt_allocation){ .event = i + 1,
							   .freed_event = NR + i + 1,
							   .common = &g.commons[i % NR_THREADS],
							   .forward_sequence = VT_NO_SEQUENCE };
	g.by_stack[0] = VT_NO_STAGE;
	g.model = (struct vt_model){ .allocations = g.allocations,
				     .nr_allocations = NR,
				     .nr_commons = NR_THREADS,
				     .last_event = 2 * NR };
	vt_timeline_init(&g.timeline, &g.model);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	vt_timeline_release(&g.timeline);
	return 0;
}

static void check(int has_forward)
{
	struct vt_stage_evidence evidence = { .model = &g.model,
					      .by_stack = g.by_stack,
					      .by_scope = g.by_stack,
					      .has_forward = has_forward };
	struct vt_shown_moments shown;

	vt_shown_moments_init(&shown, &evidence, &g.timeline);
	assert_int_equal(g.timeline.nr, 2 * NR);
	assert_int_equal(shown.nr_answers, VT_SHOWN_ANSWERS);
	for (uint32_t i = 0; i < g.timeline.nr; i++) {
		struct vt_shown is = vt_shown_moments_at(&shown, i);
		uint32_t thread = i % NR % NR_THREADS, is_freed = i >= NR;

		assert_int_equal(is.thread, thread + 1 + is_freed);
		assert_int_equal(is.stage,
				 !is_freed && thread % 2 ? VT_STAGE_BACKWARD : VT_NO_STAGE);
	}
	vt_shown_moments_release(&shown);
}

static void answers_that_are_not_kept_are_judged_again(void **state)
{
	(void)state;
	check(1); /* answers of what allocations have in common */
	check(0); /* of each allocation */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_that_are_not_kept_are_judged_again, set_up,
						tear_down),
	};

	return cmocka_run_group_tests_name("shown_moments", tests, NULL, NULL);
}
