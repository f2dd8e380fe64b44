/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/util.h"
#include "analyzer/diff/line_shifts.h"

#define NONE VT_LINE_SHIFTS_NONE
#define MOST 8

/* Lines of both versions end with 0. */
struct version_pair {
	int64_t base[MOST];
	int64_t new[MOST];
	uint32_t counterparts[MOST];
};

static uint32_t count(const int64_t *lines)
{
	uint32_t nr = 0;

	while (nr < MOST && lines[nr])
		nr++;
	return nr;
}

static void lines_find_their_counterparts(void **state)
{
	static const struct version_pair pairs[] = {
		/* Nothing changed; everything moved. */
		{ { 3, 5, 9 }, { 3, 5, 9 }, { 0, 1, 2 } },
		{ { 3, 5, 9 }, { 43, 45, 49 }, { 0, 1, 2 } },
		/* Lines inserted in the middle, and removed. */
		{ { 3, 5, 9, 12 }, { 3, 25, 29, 32 }, { 0, 1, 2, 3 } },
		{ { 3, 25, 29, 32 }, { 3, 5, 9, 12 }, { 0, 1, 2, 3 } },
		/* A new line that allocates is new, the others keep their counterparts. */
		{ { 3, 5, 9 }, { 3, 5, 7, 9 }, { 0, 1, 3 } },
		{ { 10, 20, 30, 35 }, { 20, 30, 35, 60 }, { NONE, 0, 1, 2 } },
		{ { 10, 20, 30 }, { 15, 25, 35, 45 }, { 0, 1, 2 } },
		/* One that went. */
		{ { 3, 5, 7, 9 }, { 3, 5, 9 }, { 0, 1, NONE, 2 } },
		/* A line that was written anew is the same place. */
		{ { 3, 5, 9 }, { 3, 6, 9 }, { 0, 1, 2 } },
		{ { 4 }, { 90 }, { 0 } },
		{ { 4, 5 }, { 0 }, { NONE, NONE } },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(pairs); i++) {
		uint32_t found[MOST], nr = count(pairs[i].base);

		vt_line_shifts_find(pairs[i].base, nr, pairs[i].new, count(pairs[i].new), found);
		for (uint32_t k = 0; k < nr; k++)
			if (found[k] != pairs[i].counterparts[k])
				fail_msg("pair %zu, line %u: %u, expected %u", i, k, found[k],
					 pairs[i].counterparts[k]);
	}
}

/* Generated code: too many lines to weigh each against each. */
static void long_functions_match_equal_lines(void **state)
{
	enum { LINES = 1000 };
	static int64_t base[LINES], new[LINES];
	static uint32_t found[LINES];

	(void)state;
	for (int i = 0; i < LINES; i++) {
		base[i] = 2 * i + 1;
		new[i] = 2 * i + 1 + (i >= LINES / 2);
	}
	vt_line_shifts_find(base, LINES, new, LINES, found);
	for (int i = 0; i < LINES; i++)
		assert_int_equal(found[i], i < LINES / 2 ? (uint32_t)i : NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_find_their_counterparts),
		cmocka_unit_test(long_functions_match_equal_lines),
	};

	return cmocka_run_group_tests_name("line_shifts", tests, NULL, NULL);
}
