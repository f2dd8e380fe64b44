/* SPDX-License-Identifier: MIT */
#include "analyzer/check/level_shifts.h"

#include <math.h>
#include <string.h>

/* Of a normal distribution: deviation by median distance, standard error of a median by that. */
#define DEVIATION	1.4826
#define ERROR_OF_MEDIAN 1.2533

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* `sorted` takes the figures. */
static double median(const double *figures, size_t nr, double *sorted)
{
	memcpy(sorted, figures, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare);
	return nr % 2 ? sorted[nr / 2] : (sorted[nr / 2 - 1] + sorted[nr / 2]) / 2;
}

static double deviation(const double *figures, size_t nr_before, size_t nr_after, double before,
			double after)
{
	double distances[2 * VT_LEVEL_SHIFTS_WINDOW], sorted[2 * VT_LEVEL_SHIFTS_WINDOW], found,
		least;

	for (size_t i = 0; i < nr_before + nr_after; i++)
		distances[i] = fabs(figures[i] - (i < nr_before ? before : after));
	found = DEVIATION * median(distances, nr_before + nr_after, sorted);
	least = VT_LEVEL_SHIFTS_LEAST_NOISE * fmax(fabs(before), fabs(after));
	return fmax(fmax(found, least), 1e-9);
}

static double log_choose(double of, double nr)
{
	return lgamma(of + 1) - lgamma(nr + 1) - lgamma(of - nr + 1);
}

/*
 * Fisher's exact test: the chance that as few figures lie on the other side's half if all figures
 * are drawn from one heap.  `nr_beyond` of those in front lie on the half of those behind.
 */
static double chance(size_t nr_before, size_t nr_after, size_t nr_beyond, size_t nr_behind)
{
	double beyond = (double)(nr_beyond + nr_after - nr_behind);
	double nr = (double)(nr_before + nr_after), sum = 0;

	for (size_t i = 0; i <= nr_beyond && i <= nr_behind; i++) {
		double there = (double)(nr_beyond - i);

		sum += exp(log_choose(beyond, there) +
			   log_choose(nr - beyond, (double)nr_before - there) -
			   log_choose(nr, (double)nr_before));
	}
	return sum;
}

/*
 * Noise of few levels (a segment more or less) has medians that jump between them, at distances of
 * mostly zero: whether the figures themselves are apart says what the medians cannot.
 */
static int is_apart(const double *figures, size_t nr_before, size_t nr_after,
		    const struct vt_level_shift *step)
{
	double half = (step->before + step->after) / 2;
	size_t nr_other[2] = { 0 };

	for (size_t i = 0; i < nr_before + nr_after; i++) {
		int is_behind = i >= nr_before;
		int is_up = step->after > step->before;

		nr_other[is_behind] += (figures[i] > half) == (is_up != is_behind);
	}
	return !(nr_other[0] + nr_other[1]) ||
	       chance(nr_before, nr_after, nr_other[0], nr_other[1]) <= VT_LEVEL_SHIFTS_CHANCE;
}

static size_t window(size_t nr)
{
	return nr < VT_LEVEL_SHIFTS_WINDOW ? nr : VT_LEVEL_SHIFTS_WINDOW;
}

/* Of a step in front of `at`, within the `nr` figures. */
static struct vt_level_shift weigh(const double *figures, size_t nr, size_t at)
{
	size_t nr_before = window(at), nr_after = window(nr - at);
	struct vt_level_shift step = { .at = at };
	double sorted[VT_LEVEL_SHIFTS_WINDOW], noise;

	step.before = median(figures + at - nr_before, nr_before, sorted);
	step.after = median(figures + at, nr_after, sorted);
	noise = deviation(figures + at - nr_before, nr_before, nr_after, step.before, step.after);
	noise *= ERROR_OF_MEDIAN * sqrt(1.0 / (double)nr_before + 1.0 / (double)nr_after);
	step.score = fabs(step.after - step.before) / noise;
	if (step.score >= VT_LEVEL_SHIFTS_SCORE &&
	    !is_apart(figures + at - nr_before, nr_before, nr_after, &step))
		step.score = 0;
	return step;
}

/* How badly the figures around fit a step in front of `at`. */
static double misfit(const double *figures, size_t first, size_t end, size_t at,
		     const struct vt_level_shift *step)
{
	double sum = 0.0;

	for (size_t i = first; i < end; i++)
		sum += fabs(figures[i] - (i < at ? step->before : step->after));
	return sum;
}

/* The medians hardly change by a few figures: the fit says which one is the first. */
static void place(struct vt_level_shift *step, const double *figures, size_t nr)
{
	size_t first = step->at - window(step->at), end = step->at + window(nr - step->at);
	double best = misfit(figures, first, end, step->at, step);
	size_t found = step->at;

	for (size_t at = first + 1; at < end; at++) {
		double sum = misfit(figures, first, end, at, step);

		if (sum < best) {
			best = sum;
			found = at;
		}
	}
	step->at = found;
}

static void find(struct vt_level_shifts *steps, const double *figures, size_t first, size_t nr)
{
	struct vt_level_shift best = { 0 };

	for (size_t at = VT_LEVEL_SHIFTS_LEAST; at + VT_LEVEL_SHIFTS_LEAST <= nr; at++) {
		struct vt_level_shift step = weigh(figures + first, nr, at);

		if (step.score > best.score)
			best = step;
	}
	if (best.score < VT_LEVEL_SHIFTS_SCORE)
		return;
	place(&best, figures + first, nr);
	/* Too close to an end: those few may be outliers, and hide nothing of the others. */
	if (best.at + VT_LEVEL_SHIFTS_LEAST > nr) {
		find(steps, figures, first, best.at);
		return;
	}
	if (best.at < VT_LEVEL_SHIFTS_LEAST) {
		find(steps, figures, first + best.at, nr - best.at);
		return;
	}
	find(steps, figures, first, best.at);
	best.at += first;
	vt_vector_push(steps, best);
	find(steps, figures, best.at, first + nr - best.at);
}

void vt_level_shifts_find(struct vt_level_shifts *steps, const double *figures, size_t nr)
{
	find(steps, figures, 0, nr);
}
