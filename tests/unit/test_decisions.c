/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/decisions.h"

/* What is asked depends on the answers: the colour of what is large, the age of what is not. */
enum question { SIZE, COLOUR, AGE };

static const struct thing {
	uint32_t answers[3];
	uint32_t result;
} things[] = {
	{ { 9, 1, 0 }, 91 }, { { 9, 2, 0 }, 92 }, { { 9, 1, 5 }, 91 }, /* nobody asks for its age */
	{ { 2, 1, 5 }, 25 }, { { 2, 9, 6 }, 26 }, { { 3, 0, 5 }, 35 },
};

static struct vt_decision_list asked_of(const struct thing *thing)
{
	uint32_t second = thing->answers[SIZE] > 5 ? COLOUR : AGE;
	struct vt_decision_list list = { 0 };

	vt_vector_push(&list, ((struct vt_decision){ SIZE, thing->answers[SIZE] }));
	vt_vector_push(&list, ((struct vt_decision){ second, thing->answers[second] }));
	return list;
}

/* VT_DECISIONS_NONE: it is not known. */
static uint32_t find(const struct vt_decisions *decisions, uint32_t node, const struct thing *thing)
{
	while (node != VT_DECISIONS_NONE) {
		uint32_t asked = vt_decisions_asked(decisions, node);

		if (asked == VT_DECISIONS_RESULT)
			return vt_decisions_result(decisions, node);
		if (asked == VT_DECISIONS_NEW)
			return VT_DECISIONS_NONE;
		node = vt_decisions_next(decisions, node, thing->answers[asked]);
	}
	return node;
}

static void equal_answers_lead_to_the_result(void **state)
{
	struct vt_decisions decisions = { 0 };
	uint32_t other = vt_decisions_root(&decisions), root = vt_decisions_root(&decisions);

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(things); i++) {
		struct vt_decision_list list = asked_of(&things[i]);

		assert_int_equal(find(&decisions, root, &things[i]),
				 i == 2 ? 91 : VT_DECISIONS_NONE);
		vt_decisions_add(&decisions, root, list.items, list.len, things[i].result);
		for (size_t k = 0; k <= i; k++)
			assert_int_equal(find(&decisions, root, &things[k]), things[k].result);
		assert_int_equal(find(&decisions, other, &things[i]), VT_DECISIONS_NONE);
		vt_vector_release(&list);
	}
	/* Without a question there is one result. */
	vt_decisions_add(&decisions, other, NULL, 0, 7);
	assert_int_equal(find(&decisions, other, &things[0]), 7);
	vt_decisions_release(&decisions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_answers_lead_to_the_result),
	};

	return cmocka_run_group_tests_name("decisions", tests, NULL, NULL);
}
