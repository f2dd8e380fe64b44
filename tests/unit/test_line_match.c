/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/line_match.h"

#define NONE VT_LINE_MATCH_NONE
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

/* Lines of which nothing is known but where they are. */
static void find(const int64_t *base, uint32_t nr_base, const int64_t *new, uint32_t nr_new,
		 uint32_t *counterparts)
{
	static const struct vt_clue_set none;
	struct vt_match_line *lines = vt_xcalloc(nr_base + nr_new + 1, sizeof(*lines));

	for (uint32_t i = 0; i < nr_base; i++)
		lines[i] = (struct vt_match_line){ base[i], &none };
	for (uint32_t k = 0; k < nr_new; k++)
		lines[nr_base + k] = (struct vt_match_line){ new[k], &none };
	vt_line_match_find(lines, nr_base, lines + nr_base, nr_new, counterparts);
	free(lines);
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

		find(pairs[i].base, nr, pairs[i].new, count(pairs[i].new), found);
		for (uint32_t k = 0; k < nr; k++)
			if (found[k] != pairs[i].counterparts[k])
				fail_msg("pair %zu, line %u: %u, expected %u", i, k, found[k],
					 pairs[i].counterparts[k]);
	}
}

/* A line and the one number that stands for what it made; 0: of no block. */
struct made {
	int64_t line;
	uint64_t what;
};

static void make(struct vt_match_line *line, struct vt_clue_set *set, const struct made *made)
{
	memset(set, 0, sizeof(*set));
	*line = (struct vt_match_line){ made->line, set };
	if (!made->what)
		return;
	for (int level = 0; level < VT_NR_CLUE_LEVELS; level++) {
		set->of[level] = vt_xmalloc(sizeof(uint64_t));
		/* "21": of kind 2, with 1 byte */
		*set->of[level] = level == VT_CLUE_EXACT ? made->what : made->what / 10;
		set->nr[level] = 1;
	}
	set->all = made->what;
}

struct made_pair {
	struct made base[MOST], new[MOST];
	uint32_t counterparts[MOST];
};

static void evidence_decides(void **state)
{
	static const struct made_pair pairs[] = {
		/* Two lines were swapped. */
		{ { { 3, 11 }, { 4, 21 } }, { { 3, 21 }, { 4, 11 } }, { 1, 0 } },
		/* One was put in front of one of its kind; one was taken out. */
		{ { { 3, 11 }, { 4, 12 } }, { { 3, 11 }, { 4, 13 }, { 5, 12 } }, { 0, 2 } },
		{ { { 3, 11 }, { 4, 13 }, { 5, 12 } }, { { 3, 11 }, { 4, 12 } }, { 0, NONE, 1 } },
		/* One makes more than before, between others. */
		{ { { 3, 11 }, { 4, 21 }, { 5, 31 } },
		  { { 3, 11 }, { 4, 22 }, { 5, 31 } },
		  { 0, 1, 2 } },
		/* Written anew where it stood; or taken out, and another put in elsewhere. */
		{ { { 3, 11 }, { 4, 21 }, { 5, 31 } },
		  { { 3, 11 }, { 4, 41 }, { 5, 31 } },
		  { 0, 1, 2 } },
		{ { { 3, 11 }, { 4, 21 }, { 6, 31 } },
		  { { 3, 11 }, { 7, 41 }, { 8, 31 } },
		  { 0, NONE, 2 } },
		/* Nothing is known of one of them. */
		{ { { 3, 11 }, { 4, 0 }, { 5, 31 } },
		  { { 3, 11 }, { 5, 0 }, { 6, 31 } },
		  { 0, 1, 2 } },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(pairs); i++) {
		struct vt_match_line lines[2][MOST];
		struct vt_clue_set sets[2][MOST];
		uint32_t found[MOST], nr[2] = { 0 };

		for (; nr[0] < MOST && pairs[i].base[nr[0]].line; nr[0]++)
			make(&lines[0][nr[0]], &sets[0][nr[0]], &pairs[i].base[nr[0]]);
		for (; nr[1] < MOST && pairs[i].new[nr[1]].line; nr[1]++)
			make(&lines[1][nr[1]], &sets[1][nr[1]], &pairs[i].new[nr[1]]);
		vt_line_match_find(lines[0], nr[0], lines[1], nr[1], found);
		for (uint32_t k = 0; k < nr[0]; k++)
			if (found[k] != pairs[i].counterparts[k])
				fail_msg("pair %zu, line %u: %u, expected %u", i, k, found[k],
					 pairs[i].counterparts[k]);
		for (int side = 0; side < 2; side++)
			for (uint32_t k = 0; k < nr[side]; k++)
				vt_clue_set_release(&sets[side][k]);
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
	find(base, LINES, new, LINES, found);
	for (int i = 0; i < LINES; i++)
		assert_int_equal(found[i], i < LINES / 2 ? (uint32_t)i : NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_find_their_counterparts),
		cmocka_unit_test(evidence_decides),
		cmocka_unit_test(long_functions_match_equal_lines),
	};

	return cmocka_run_group_tests_name("line_match", tests, NULL, NULL);
}
