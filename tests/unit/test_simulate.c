/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/commands/simulate.h"
#include "analyzer/base/util.h"

static const char ini[] =
	"# cards\n[small]\ndevice = S\ntotal_bytes = 1GiB\n\n[large-80g]\ndevice = L\n";

static void known_profiles_with_options_are_taken(void **state)
{
	static const char *const cases[] = { "small", "large-80g", "small,memory=24GiB",
					     "small,memory=24 GB,count=2,driver=12.4", "small,",
					     "small,other=3GiB", "small,module=8MiB" };

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++)
		assert_int_equal(vt_simulate_check(cases[i], ini, NULL), 0);
}

static void an_unknown_name_lists_the_known_ones(void **state)
{
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(vt_simulate_check("large", ini, &diag), -1);
	assert_int_equal(diag.exit_code, 3);
	assert_non_null(strstr(diag.text, "large:"));
	assert_non_null(strstr(diag.text, "small, large-80g"));
}

static void wrong_options_are_refused(void **state)
{
	static const char *const cases[] = {
		"small,memory=",   "small,memory=lots", "small,memory=0",
		"small,count=0",   "small,count=9",     "small,count=2x",
		"small,driver=12", "small,colour=red",  "small,memory=1GiB,x",
		"small,other=",
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		struct vt_diag diag = { 0 };

		if (!vt_simulate_check(cases[i], ini, &diag))
			fail_msg("%s was taken", cases[i]);
		assert_int_equal(diag.exit_code, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_profiles_with_options_are_taken),
		cmocka_unit_test(an_unknown_name_lists_the_known_ones),
		cmocka_unit_test(wrong_options_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
