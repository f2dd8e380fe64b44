/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/util.h"
#include "analyzer/model/callers.h"

/* More than one chunk holds, and than the first table has room for. */
#define MANY 3000

static const struct vt_caller *intern(struct vt_callers *callers, uint32_t number)
{
	const struct vt_caller caller = { .thread = number % 3, .python_stack = number,
					  .node_class = number / 7 };

	return vt_callers_intern(callers, &caller);
}

static void equal_callers_are_one_that_stays_where_it_is(void **state)
{
	struct vt_callers callers = { 0 };
	const struct vt_caller *first[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		first[i] = intern(&callers, i);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_ptr_equal(intern(&callers, i), first[i]);
		assert_int_equal(first[i]->python_stack, i);
		assert_int_equal(first[i]->node_class, i / 7);
	}
	assert_int_equal(callers.last_number, MANY);
	vt_callers_release(&callers);
}

static void any_member_tells_two_callers_apart(void **state)
{
	struct vt_callers callers = { 0 };

	(void)state;
	/* So many that they meet in the table, whatever their hashes are. */
	for (uint32_t i = 1; i <= MANY; i++) {
		const struct vt_caller all[] = {
			{ .stream = i },       { .thread = i },
			{ .native_stack = i }, { .python_stack = i },
			{ .scope = i },        { .forward_python_stack = i },
			{ .node_class = i },   { .grad = i },
		};

		for (size_t k = 0; k < VT_ARRAY_SIZE(all); k++)
			vt_callers_intern(&callers, &all[k]);
	}
	assert_int_equal(callers.last_number, 8 * MANY);
	vt_callers_release(&callers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_callers_are_one_that_stays_where_it_is),
		cmocka_unit_test(any_member_tells_two_callers_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
