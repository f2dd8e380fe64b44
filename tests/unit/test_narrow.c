/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/narrow.h"

#define NR 1000

/* What was set is there, also what was set before one did not fit into two bytes. */
static void numbers_stay_what_they_are(void **state)
{
	static const uint32_t large[] = { UINT16_MAX, UINT16_MAX + 1, UINT32_MAX, 7 };
	struct vt_narrow numbers;

	(void)state;
	vt_narrow_init(&numbers, NR);
	for (uint32_t i = 0; i < NR; i++) {
		assert_int_equal(vt_narrow_get(&numbers, i), 0);
		vt_narrow_set(&numbers, i, i * 65);
	}
	assert_non_null(numbers.narrow);
	for (uint32_t i = 0; i < 4; i++) {
		vt_narrow_set(&numbers, i, large[i]);
		assert_int_equal(numbers.narrow == NULL, i > 0);
	}
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(vt_narrow_get(&numbers, i), i < 4 ? large[i] : i * 65);
	vt_narrow_release(&numbers);
	vt_narrow_init(&numbers, 0);
	vt_narrow_widen(&numbers);
	vt_narrow_release(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_stay_what_they_are),
	};

	return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
