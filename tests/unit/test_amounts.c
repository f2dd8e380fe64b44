/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/amounts.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

static void amounts_allow_what_they_say(void **state)
{
	static const struct {
		const char *text;
		uint64_t base, most;
		int is_relative;
	} cases[] = {
		{ "2 GiB", 7, 2 * VT_GIB, 0 },
		{ "4096", 7, 4096, 0 },
		{ "0", 7, 0, 0 },
		{ "+0", 7, 7, 1 },
		{ "+64 MiB", VT_GIB, VT_GIB + 64 * VT_MIB, 1 },
		{ "+1MB", 0, 1000000, 1 },
		{ "+5%", 200, 210, 1 },
		{ "+2.5 %", 1000, 1025, 1 },
		{ "+16TiB", UINT64_MAX - 1, UINT64_MAX, 1 },
		{ "+1000000%", INT64_MAX, UINT64_MAX, 1 },
	};
	struct vt_amount amount;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		assert_int_equal(vt_amounts_parse(cases[i].text, &amount), 0);
		assert_int_equal(amount.is_relative, cases[i].is_relative);
		assert_int_equal(vt_amounts_most(&amount, cases[i].base), cases[i].most);
	}
	assert_int_equal(vt_amounts_parse("20%", &amount), 0);
	assert_true(amount.is_percent && !amount.is_relative && amount.percent == 20);
}

static void anything_else_is_refused(void **state)
{
	static const char *const wrong[] = { "", "+", "-5%", "+-5%", "5 parsecs", "2 GiB more",
					     "inf", "nan", "+inf%", "0x10%", "1e3%", "+ 5%",
					     "5%%", "%", "1.2.3%", "-1 GiB", "99999999%" };
	struct vt_amount amount;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(wrong); i++)
		assert_int_not_equal(vt_amounts_parse(wrong[i], &amount), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_allow_what_they_say),
		cmocka_unit_test(anything_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
