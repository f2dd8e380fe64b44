/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/line_shifts.h"

#include <stdlib.h>

#include "analyzer/base/util.h"

/* Lines of one function that allocate; beyond that only equal distances are looked at. */
#define MOST_PAIRS 250000u

static int compare_shifts(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t magnitude(int64_t value)
{
	return value < 0 ? -value : value;
}

/* The distance that most pairs of lines have; of several the shortest. */
static int64_t most_common_shift(const int64_t *base, uint32_t nr_base, const int64_t *new,
				 uint32_t nr_new)
{
	size_t nr = (size_t)nr_base * nr_new, best_count = 0;
	int64_t *shifts = vt_xmalloc(nr * sizeof(*shifts)), best = 0;

	for (uint32_t i = 0; i < nr_base; i++)
		for (uint32_t k = 0; k < nr_new; k++)
			shifts[(size_t)i * nr_new + k] = new[k] - base[i];
	qsort(shifts, nr, sizeof(*shifts), compare_shifts);
	for (size_t i = 0, k; i < nr; i = k) {
		for (k = i; k < nr && shifts[k] == shifts[i]; k++)
			;
		if (k - i > best_count ||
		    (k - i == best_count && magnitude(shifts[i]) < magnitude(best))) {
			best_count = k - i;
			best = shifts[i];
		}
	}
	free(shifts);
	return best;
}

static void find_equal(const int64_t *base, uint32_t nr_base, const int64_t *new, uint32_t nr_new,
		       uint32_t *counterparts)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < nr_base; i++) {
		while (k < nr_new && new[k] < base[i])
			k++;
		counterparts[i] = k < nr_new && new[k] == base[i] ? k : VT_LINE_SHIFTS_NONE;
	}
}

/* Any counterpart is better than none: a line that was changed is still the same place. */
static double worth(int64_t distance, int64_t usual)
{
	return 1.0 / (1.0 + (double)magnitude(distance - usual));
}

/* The best pairing that keeps the order, as in the longest common subsequence. */
static void find_best(const int64_t *base, uint32_t nr_base, const int64_t *new, uint32_t nr_new,
		      uint32_t *counterparts)
{
	int64_t usual = most_common_shift(base, nr_base, new, nr_new);
	size_t width = (size_t)nr_new + 1;
	double *best = vt_xcalloc((nr_base + 1) * width, sizeof(*best));

	for (uint32_t i = nr_base; i-- > 0;)
		for (uint32_t k = nr_new; k-- > 0;) {
			double pair = best[(i + 1) * width + k + 1] +
				      worth(new[k] - base[i], usual);
			double without_base = best[(i + 1) * width + k];
			double without_new = best[i * width + k + 1];
			double most = without_base > without_new ? without_base : without_new;

			best[i * width + k] = pair > most ? pair : most;
		}
	for (uint32_t i = 0, k = 0; i < nr_base; i++) {
		counterparts[i] = VT_LINE_SHIFTS_NONE;
		while (k < nr_new && best[i * width + k] <= best[i * width + k + 1])
			k++;
		if (k < nr_new && best[i * width + k] > best[(i + 1) * width + k])
			counterparts[i] = k++;
	}
	free(best);
}

void vt_line_shifts_find(const int64_t *base, uint32_t nr_base, const int64_t *new,
			 uint32_t nr_new, uint32_t *counterparts)
{
	if (!nr_base || !nr_new || (uint64_t)nr_base * nr_new > MOST_PAIRS)
		find_equal(base, nr_base, new, nr_new, counterparts);
	else
		find_best(base, nr_base, new, nr_new, counterparts);
}
