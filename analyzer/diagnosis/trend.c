/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/trend.h"

#include <math.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

#define TEXT(name, text) text,
const char *const vt_trend_confidences[VT_NR_CONFIDENCES] = { VT_CONFIDENCES(TEXT) };

#define PARTS		 4
#define MOST_GIVEN_BACK	 0.1 /* of what the row gained */
#define LEAST_CONSISTENT 0.9
#define FEW_RISES	 5 /* that leave most of the row level: events, and no habit */
/* For high confidence. */
#define SURE_POINTS	8
#define SURE_CONSISTENT 0.95
#define SURE_NOISE	0.1 /* of what the row gained */

#define MOST_PAIRS (VT_TREND_MAX_POINTS * (VT_TREND_MAX_POINTS - 1) / 2)

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, uint32_t nr)
{
	vt_sort(values, nr, compare);
	return nr % 2 ? values[nr / 2] : (values[nr / 2 - 1] + values[nr / 2]) / 2;
}

/* What needs no sorting: most rows end here. */
static int may_grow(const uint64_t *values, uint32_t nr)
{
	double given_back = 0;

	if (nr < VT_TREND_MIN_POINTS || nr > VT_TREND_MAX_POINTS || values[nr - 1] <= values[0])
		return 0;
	for (uint32_t i = 1; i < nr; i++)
		if (values[i] < values[i - 1])
			given_back += (double)(values[i - 1] - values[i]);
	if (given_back > MOST_GIVEN_BACK * (double)(values[nr - 1] - values[0]))
		return 0;
	for (uint32_t i = 0; i < PARTS; i++) {
		uint32_t first = (nr - 1) * i / PARTS, last = (nr - 1) * (i + 1) / PARTS;

		if (last > first && values[last] <= values[first])
			return 0;
	}
	return 1;
}

/*
 * Whether it rises as a habit: not at a few points of many, and not until some time ago, longer
 * than it ever paused before.
 */
static int is_habit(const uint64_t *values, uint32_t nr)
{
	uint32_t nr_rises = 0, last = 0, longest_pause = 1;

	for (uint32_t i = 1; i < nr; i++) {
		if (values[i] <= values[i - 1])
			continue;
		if (nr_rises++ && i - last > longest_pause)
			longest_pause = i - last;
		last = i;
	}
	return (nr_rises >= FEW_RISES || 3 * nr_rises >= nr - 1) && nr - 1 - last <= longest_pause;
}

static void measure(struct vt_trend *trend, const uint64_t *values, uint32_t nr)
{
	double slopes[MOST_PAIRS], rests[VT_TREND_MAX_POINTS], middle;
	uint32_t nr_pairs = 0, nr_rising = 0, nr_falling = 0;

	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t j = i + 1; j < nr; j++) {
			nr_rising += values[j] > values[i];
			nr_falling += values[j] < values[i];
			slopes[nr_pairs++] = ((double)values[j] - (double)values[i]) / (j - i);
		}
	trend->slope = median(slopes, nr_pairs);
	trend->consistency = nr_rising + nr_falling ? ((double)nr_rising - nr_falling) /
							      (nr_rising + nr_falling)
						    : 0;
	for (uint32_t i = 0; i < nr; i++)
		rests[i] = (double)values[i] - trend->slope * i;
	middle = median(rests, nr);
	for (uint32_t i = 0; i < nr; i++)
		rests[i] = fabs(rests[i] - middle);
	trend->noise = median(rests, nr);
}

struct vt_trend vt_trend_find(const uint64_t *values, uint32_t nr)
{
	struct vt_trend trend = { .nr_points = nr, .confidence = VT_CONFIDENCE_NONE };

	if (!may_grow(values, nr) || !is_habit(values, nr))
		return trend;
	measure(&trend, values, nr);
	if (trend.slope <= 0 || trend.consistency < LEAST_CONSISTENT)
		return trend;
	trend.confidence = nr >= SURE_POINTS && trend.consistency >= SURE_CONSISTENT &&
					   trend.noise <= SURE_NOISE * trend.slope * nr
				   ? VT_CONFIDENCE_HIGH
				   : VT_CONFIDENCE_MEDIUM;
	return trend;
}
