/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

/* Patterns against texts: as fnmatch() judges them, whatever they are made of. */
#include <fnmatch.h>
#include <string.h>

#include "analyzer/attribution/rules/globs.h"

static int fits(const char *pattern, const char *text)
{
	struct vt_globs globs;
	int is_fit;

	vt_globs_init(&globs, pattern, strlen(pattern));
	is_fit = vt_globs_match(&globs, text);
	vt_globs_release(&globs);
	return is_fit;
}

static void fits_as_the_library_says(void **state)
{
	static const char *const pieces[] = { "*", "?", "a", "b", "ab", "/", "[ab]", "[!a]",
					      "[a-b]", "[", "]", "\\*", "\\a" };
	static const char *const letters[] = { "a", "b", "/", "*", "[", "]" };
	uint64_t random = 7;
	unsigned nr_fits = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char pattern[64] = "", text[16] = "";
		int is_fit;

		for (int i = 0; i < 5; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			if (random >> 40 & 1 || !i)
				strcat(pattern, pieces[(random >> 48) % 13]);
			if (random >> 41 & 1)
				strcat(text, letters[(random >> 33) % 6]);
		}
		is_fit = fnmatch(pattern, text, 0) == 0;
		nr_fits += is_fit;
		if (fits(pattern, text) != is_fit)
			fail_msg("\"%s\" and \"%s\": not %d", pattern, text, is_fit);
	}
	assert_in_range(nr_fits, 5000, 195000);
}

static void any_pattern_of_a_list_may_fit(void **state)
{
	(void)state;
	assert_true(fits("*Norm *MLP", "LlamaMLP"));
	assert_true(fits("*Norm *MLP", "RMSNorm"));
	assert_false(fits("*Norm *MLP", "MLPs"));
}

static void nothing_fits_only_the_dash(void **state)
{
	(void)state;
	assert_true(fits("x -", NULL));
	assert_false(fits("*", NULL));
	assert_true(fits("*", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits_as_the_library_says),
		cmocka_unit_test(any_pattern_of_a_list_may_fit),
		cmocka_unit_test(nothing_fits_only_the_dash),
	};

	return cmocka_run_group_tests_name("globs", tests, NULL, NULL);
}
