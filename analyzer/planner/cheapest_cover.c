/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/cheapest_cover.h"

#include <math.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

#define MOST_NODES 300000

enum state { UNDECIDED, CHOSEN, LEFT_OUT };

struct search {
	const struct vt_cover *cover;
	uint32_t *order; /* per need all items, those that save most of it for their cost first */
	uint8_t *states; /* by item: enum state */
	uint8_t *best;
	double best_cost;
	double *sizes, *prices; /* scratch, per item */
	uint32_t nr_nodes;
};

static int compare_falling(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

static int compare_rising(const void *a, const void *b)
{
	return compare_falling(b, a);
}

static int is_asked(const struct vt_cover_need *need, const uint8_t *states)
{
	return need->item == VT_COVER_ALWAYS || states[need->item] == CHOSEN;
}

/* What is left of a need when all that is chosen saves its part. */
static double rest_of(const struct search *search, const struct vt_cover_need *need)
{
	double rest = need->bytes;

	for (size_t i = 0; i < search->cover->nr_items; i++)
		rest -= search->states[i] == CHOSEN ? need->saves[i] : 0;
	return rest;
}

/*
 * The least that the rest of one need can cost: by parts of items, the cheapest bytes first; and by
 * whole ones, as many as the largest would take, at the lowest prices.  INFINITY: it cannot be met.
 */
static double least_cost(const struct search *search, size_t number, double rest)
{
	const struct vt_cover *cover = search->cover;
	const struct vt_cover_need *need = &cover->needs[number];
	const uint32_t *order = &search->order[number * cover->nr_items];
	double by_parts = 0, by_whole = 0, left = rest, size = 0;
	size_t nr = 0, taken = 0;

	for (size_t k = 0; k < cover->nr_items; k++) {
		double saves = need->saves[order[k]], cost = cover->costs[order[k]];

		if (search->states[order[k]] != UNDECIDED || saves <= 0)
			continue;
		if (left > 0)
			by_parts += cost * fmin(1, left / saves);
		left -= saves;
		search->sizes[nr] = saves;
		search->prices[nr++] = cost;
	}
	if (left > 0)
		return INFINITY;
	vt_sort(search->sizes, nr, compare_falling);
	vt_sort(search->prices, nr, compare_rising);
	for (; taken < nr && size < rest; taken++) {
		size += search->sizes[taken];
		by_whole += search->prices[taken];
	}
	return fmax(by_parts, by_whole);
}

static uint32_t first_undecided(const struct search *search, size_t number)
{
	const struct vt_cover *cover = search->cover;
	const uint32_t *order = &search->order[number * cover->nr_items];

	for (size_t k = 0; k < cover->nr_items; k++)
		if (search->states[order[k]] == UNDECIDED &&
		    cover->needs[number].saves[order[k]] > 0)
			return order[k];
	return VT_COVER_ALWAYS;
}

static void look(struct search *search, double cost)
{
	const struct vt_cover *cover = search->cover;
	size_t dearest = cover->nr_needs;
	double most = 0;
	uint32_t item;

	if (search->nr_nodes++ > MOST_NODES)
		return;
	for (size_t n = 0; n < cover->nr_needs; n++) {
		double rest = is_asked(&cover->needs[n], search->states) ?
				      rest_of(search, &cover->needs[n]) :
				      0;
		double least = rest > 0 ? least_cost(search, n, rest) : 0;

		if (cost + least >= search->best_cost)
			return;
		if (rest > 0 && (dearest == cover->nr_needs || least > most)) {
			most = least;
			dearest = n;
		}
	}
	if (dearest == cover->nr_needs) {
		for (size_t i = 0; i < cover->nr_items; i++)
			search->best[i] = search->states[i] == CHOSEN;
		search->best_cost = cost;
		return;
	}
	item = first_undecided(search, dearest);
	search->states[item] = CHOSEN;
	look(search, cost + cover->costs[item]);
	search->states[item] = LEFT_OUT;
	look(search, cost);
	search->states[item] = UNDECIDED;
}

/* Whether `i` saves more for its cost; what saves nothing comes last, whatever it costs. */
static int is_before(const struct vt_cover *cover, const struct vt_cover_need *need, uint32_t i,
		     uint32_t other)
{
	if (need->saves[i] <= 0 || need->saves[other] <= 0)
		return need->saves[i] > need->saves[other];
	return need->saves[i] * cover->costs[other] > need->saves[other] * cover->costs[i];
}

static void order_items(const struct vt_cover *cover, const struct vt_cover_need *need,
			uint32_t *order)
{
	for (uint32_t i = 0; i < cover->nr_items; i++) {
		uint32_t at = i;

		while (at && is_before(cover, need, i, order[at - 1])) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
	}
}

enum vt_cover_result vt_cover_find(const struct vt_cover *cover, uint8_t *chosen)
{
	struct search search = { .cover = cover, .best = chosen, .best_cost = INFINITY };
	int is_given_up;

	search.order = vt_xcalloc(cover->nr_needs * cover->nr_items + 1, sizeof(*search.order));
	search.states = vt_xcalloc(cover->nr_items + 1, 1);
	search.sizes = vt_xcalloc(cover->nr_items + 1, sizeof(*search.sizes));
	search.prices = vt_xcalloc(cover->nr_items + 1, sizeof(*search.prices));
	memset(chosen, 0, cover->nr_items);
	for (size_t n = 0; n < cover->nr_needs; n++)
		order_items(cover, &cover->needs[n], &search.order[n * cover->nr_items]);
	look(&search, 0);
	is_given_up = search.nr_nodes > MOST_NODES;
	free(search.order);
	free(search.states);
	free(search.sizes);
	free(search.prices);
	if (is_given_up)
		return VT_COVER_GIVEN_UP;
	return search.best_cost < INFINITY ? VT_COVER_FOUND : VT_COVER_NONE;
}

double vt_cover_worst(const struct vt_cover *cover, const uint8_t *chosen)
{
	double worst = -INFINITY;

	for (size_t n = 0; n < cover->nr_needs; n++) {
		const struct vt_cover_need *need = &cover->needs[n];
		double rest = need->bytes;

		if (need->item != VT_COVER_ALWAYS && !chosen[need->item])
			continue;
		for (size_t i = 0; i < cover->nr_items; i++)
			rest -= chosen[i] ? need->saves[i] : 0;
		worst = fmax(worst, rest);
	}
	return worst;
}
