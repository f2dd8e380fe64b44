/* SPDX-License-Identifier: MIT */
/*
 * What would make a plan fit a card.
 */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/planner/card_fit.h"
#include "tests/lib/planned.h"

static double upper_end(const struct vt_plan *plan)
{
	double high = 0;

	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		high = plan->high[stage] > high ? plan->high[stage] : high;
	return high;
}

static const struct vt_change *find(const struct vt_changes *changes, enum vt_setting id,
				    const char *value)
{
	for (size_t i = 0; i < changes->len; i++)
		if (changes->items[i].steps[0].id == id &&
		    !strcmp(changes->items[i].steps[0].value, value))
			return &changes->items[i];
	return NULL;
}

/* The peak is in another stage: only what might be taken at most is less of it. */
static void a_lower_upper_end_is_enough(void **state)
{
	struct planned *before = planned_make("gpt2", "mode=train optimizer=sgd seq=128");
	struct planned *after =
		planned_make("gpt2", "mode=train optimizer=sgd seq=128 loss=checkpointed");
	struct vt_gpu gpu = {
		.usable_bytes = (uint64_t)(upper_end(&before->plan) + upper_end(&after->plan)) / 2,
	};
	struct vt_ladder ladder = { 0 };
	const struct vt_change *change;

	(void)state;
	assert_true(vt_plan_peak(&after->plan) == vt_plan_peak(&before->plan));
	assert_int_equal(vt_card_fit_judge(&before->plan, &gpu), VT_FIT_TIGHT);
	assert_int_equal(vt_card_fit_judge(&after->plan, &gpu), VT_FIT_YES);
	vt_card_fit_ladder(&before->plan, &gpu, &ladder);
	change = find(&ladder.singles, VT_SET_LOSS, "checkpointed");
	assert_non_null(change);
	assert_true(change->is_enough && change->saves == 0);
	assert_true(ladder.has_enough);
	vt_card_fit_ladder_release(&ladder);
	planned_release(before);
	planned_release(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lower_upper_end_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
