/* SPDX-License-Identifier: MIT */
/* Histories with noise: steps at the right commit, and none where there is none. */
#include "tests/lib/unit.h"

#include <math.h>
#include <stdlib.h>

#include "analyzer/check/level_shifts.h"

#define MIB (1024.0 * 1024)

/* Of the one seed that a test has; splitmix64. */
static uint64_t state_of;

static double uniform(void)
{
	uint64_t x = state_of += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return ((double)((x ^ (x >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* Mostly normal; one run in fifty has an outlier of many deviations. */
static double noise(double deviation)
{
	double normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());

	return deviation * (uniform() < 0.02 ? 8 * normal : normal);
}

static void make(double *figures, size_t nr, size_t at, double level, double step, double deviation)
{
	for (size_t i = 0; i < nr; i++)
		figures[i] = level + (i >= at ? step : 0) + noise(deviation);
}

/* Of 6 deviations and more, up and down, 3 runs and more behind them. */
static void forty_steps_are_found_where_they_are(void **state)
{
	enum { RUNS = 60 };
	double figures[RUNS];
	unsigned found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct vt_level_shifts steps = { 0 };
		size_t at;
		double deviation;

		state_of = seed;
		at = 10 + (size_t)(uniform() * (RUNS - 10 - VT_LEVEL_SHIFTS_LEAST));
		deviation = seed % 4 ? 40 * MIB * uniform() : 0;
		make(figures, RUNS, at, 20000 * MIB,
		     (seed % 2 ? 1 : -1) * fmax(7 * deviation, 100 * MIB), deviation);
		vt_level_shifts_find(&steps, figures, RUNS);
		found += steps.len == 1 && steps.items[0].at == at;
		if (steps.len != 1 || steps.items[0].at != at)
			print_message("seed %d: step at %zu, found %zu, the first at %zu\n",
				      (int)seed, at, steps.len, steps.len ? steps.items[0].at : 0);
		vt_vector_release(&steps);
	}
	assert_int_equal(found, 40);
}

enum { HISTORY = 1000, LOOKED_AT = 100 };

/* Looks behind every commit: different places at which a step was seen though there is none. */
static unsigned count_alarms(const double *figures)
{
	unsigned char is_alarm[HISTORY] = { 0 };
	unsigned nr = 0;

	for (size_t end = 1; end <= HISTORY; end++) {
		struct vt_level_shifts steps = { 0 };
		size_t first = end > LOOKED_AT ? end - LOOKED_AT : 0;

		vt_level_shifts_find(&steps, figures + first, end - first);
		for (size_t i = 0; i < steps.len; i++)
			is_alarm[first + steps.items[i].at] = 1;
		vt_vector_release(&steps);
	}
	for (size_t i = 0; i < HISTORY; i++)
		nr += is_alarm[i];
	return nr;
}

/* VT_HISTORIES says how many: each has a seed, from VT_HISTORIES_SEED on. */
static void a_thousand_commits_without_a_step(void **state)
{
	static double figures[HISTORY];
	const char *asked = getenv("VT_HISTORIES"), *from = getenv("VT_HISTORIES_SEED");
	unsigned nr = asked ? (unsigned)atoi(asked) : 10, nr_alarms = 0, most = 0, nr_above = 0;

	(void)state;
	for (unsigned i = 0; i < nr; i++) {
		unsigned mine;

		state_of = (from ? strtoull(from, NULL, 10) : 7) + i;
		make(figures, HISTORY, HISTORY, 20000 * MIB, 0, 30 * MIB);
		mine = count_alarms(figures);
		nr_alarms += mine;
		nr_above += mine > 1;
		most = mine > most ? mine : most;
	}
	print_message("%u false alarms in %u histories of 1,000 commits, more than one in %u of "
		      "them, %u at most\n",
		      nr_alarms, nr, nr_above, most);
	assert_true(nr && nr_alarms <= nr);
}

static void two_steps_and_an_outlier(void **state)
{
	double figures[] = { 5, 5, 5, 5, 9, 5, 5, 5, 8, 8, 8, 8, 8, 8, 3, 3, 3, 3, 3 };
	struct vt_level_shifts steps = { 0 };

	(void)state;
	vt_level_shifts_find(&steps, figures, VT_ARRAY_SIZE(figures));
	assert_int_equal(steps.len, 2);
	assert_int_equal(steps.items[0].at, 8);
	assert_int_equal(steps.items[1].at, 14);
	vt_vector_release(&steps);
	vt_level_shifts_find(&steps, figures, 2);
	assert_int_equal(steps.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forty_steps_are_found_where_they_are),
		cmocka_unit_test(a_thousand_commits_without_a_step),
		cmocka_unit_test(two_steps_and_an_outlier),
	};

	return cmocka_run_group_tests_name("level_shifts", tests, NULL, NULL);
}
