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

enum noise_kind { NORMAL, LEVELS_RARE, LEVELS_SOME, LEVELS_OFTEN, THREE_LEVELS, NR_NOISE_KINDS };

static const char *const noise_names[] = { "normal with outliers", "a level in 20 runs",
					   "a level in 5 runs", "two levels", "three levels" };

/*
 * Mostly normal, where one run in fifty has an outlier of many deviations; or, as of segments, of
 * few levels.
 */
static double noise(enum noise_kind kind, double size)
{
	double normal;

	switch (kind) {
	case LEVELS_RARE:
		return uniform() < 0.05 ? size : 0;
	case LEVELS_SOME:
		return uniform() < 0.2 ? size : 0;
	case LEVELS_OFTEN:
		return uniform() < 0.5 ? size : 0;
	case THREE_LEVELS:
		return size * floor(3 * uniform());
	default:
		normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
		return size * (uniform() < 0.02 ? 8 * normal : normal);
	}
}

struct history {
	double *figures;
	size_t nr;
	double level;
	enum noise_kind kind;
	double size; /* of the noise */
};

static void make(const struct history *history, size_t at, double step)
{
	for (size_t i = 0; i < history->nr; i++)
		history->figures[i] = history->level + (i >= at ? step : 0) +
				      noise(history->kind, history->size);
}

static uint64_t asked(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/*
 * Of 7 deviations and more, up and down, 10 runs in front of them and VT_LEVEL_SHIFTS_LEAST or more
 * behind.  VT_STEPS says how many: each has a seed, from VT_HISTORIES_SEED on.
 */
static void forty_steps_are_found_where_they_are(void **state)
{
	enum { RUNS = 60 };
	double figures[RUNS];
	uint64_t nr = asked("VT_STEPS", 40), first = asked("VT_HISTORIES_SEED", 1), found = 0;

	(void)state;
	for (uint64_t seed = first; seed < first + nr; seed++) {
		struct history history = { .figures = figures, .nr = RUNS, .level = 20000 * MIB };
		struct vt_level_shifts steps = { 0 };
		size_t at;
		double change;

		state_of = seed;
		at = 10 + (size_t)(uniform() * (RUNS - 10 - VT_LEVEL_SHIFTS_LEAST));
		history.size = seed % 4 ? 40 * MIB * uniform() : 0;
		history.kind = seed % 8 < 4 ? NORMAL : (enum noise_kind)(seed / 8 % NR_NOISE_KINDS);
		change = (seed % 2 ? 1 : -1) * fmax(7 * history.size, 100 * MIB);
		make(&history, at, change);
		vt_level_shifts_find(&steps, figures, RUNS);
		found += steps.len == 1 && steps.items[0].at == at;
		if (steps.len != 1 || steps.items[0].at != at)
			print_message("seed %d (%s): step at %zu, found %zu, the first at %zu\n",
				      (int)seed, noise_names[history.kind], at, steps.len,
				      steps.len ? steps.items[0].at : 0);
		vt_vector_release(&steps);
	}
	print_message("%d of %d steps at the right commit\n", (int)found, (int)nr);
	assert_true(nr && found >= nr - nr / 40);
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

/*
 * VT_HISTORIES says how many of each kind of noise: each has a seed, from VT_HISTORIES_SEED on.  A
 * level of 2 GiB makes what is at least taken for noise small beside a segment of 20 MiB.
 */
static void a_thousand_commits_without_a_step(void **state)
{
	static double figures[HISTORY];
	struct history history = { .figures = figures, .nr = HISTORY };
	uint64_t nr = asked("VT_HISTORIES", 2), first = asked("VT_HISTORIES_SEED", 7);
	int is_over = 0;

	(void)state;
	for (history.kind = 0; history.kind < NR_NOISE_KINDS; history.kind++) {
		unsigned nr_alarms = 0, most = 0, nr_above = 0;

		history.level = (history.kind == NORMAL ? 20000 : 2000) * MIB;
		history.size = (history.kind == NORMAL ? 30 : 20) * MIB;
		for (uint64_t i = 0; i < nr; i++) {
			unsigned mine;

			state_of = first + i;
			make(&history, HISTORY, 0);
			mine = count_alarms(figures);
			nr_alarms += mine;
			nr_above += mine > 1;
			most = mine > most ? mine : most;
		}
		print_message("%s: %u false alarms in %u histories of 1,000 commits, more than one "
			      "in %u of them, %u at most\n",
			      noise_names[history.kind], nr_alarms, (unsigned)nr, nr_above, most);
		is_over |= nr_alarms > nr;
	}
	assert_true(nr && !is_over);
}

static void two_steps_and_an_outlier(void **state)
{
	double figures[] = { 5, 5, 5, 5, 9, 5, 5, 5, 5, 5, 5, 5, 8,
			     8, 8, 8, 8, 8, 8, 8, 3, 3, 3, 3, 3 };
	struct vt_level_shifts steps = { 0 };

	(void)state;
	vt_level_shifts_find(&steps, figures, VT_ARRAY_SIZE(figures));
	assert_int_equal(steps.len, 2);
	assert_int_equal(steps.items[0].at, 12);
	assert_int_equal(steps.items[1].at, 20);
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
