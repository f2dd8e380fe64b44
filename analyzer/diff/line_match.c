/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/line_match.h"

#include <stdlib.h>

/* Lines of one function that allocate; beyond that only equal distances are looked at. */
#define MOST_PAIRS 250000u

/* What evidence weighs against the distance, that is worth 1 at most. */
#define WEIGHT_EXACT 8.0
#define WEIGHT_LOOSE 4.0
#define WEIGHT_MADE  2.0
#define WEIGHT_OWNER 1.0

/* Lines of both versions, and what is known of their counterparts so far. */
struct match {
	const struct vt_match_line *base, *new;
	uint32_t nr_base, nr_new;
	uint32_t *of_base, *of_new; /* counterparts */
};

/* Lines between two that are known, and by how much those moved. */
struct gap {
	uint32_t base, nr_base, new, nr_new; /* indices into `rest` */
	int64_t shifts[2];
	uint32_t *rest_base, *rest_new;
};

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
static int64_t most_common_shift(const struct match *m)
{
	size_t nr = (size_t)m->nr_base * m->nr_new, best_count = 0;
	int64_t *shifts = vt_xmalloc(nr * sizeof(*shifts)), best = 0;

	for (uint32_t i = 0; i < m->nr_base; i++)
		for (uint32_t k = 0; k < m->nr_new; k++)
			shifts[(size_t)i * m->nr_new + k] = m->new[k].line - m->base[i].line;
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

static void set_pair(struct match *m, uint32_t base, uint32_t new)
{
	m->of_base[base] = new;
	m->of_new[new] = base;
}

static void find_equal_distances(struct match *m)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < m->nr_base; i++) {
		while (k < m->nr_new && m->new[k].line < m->base[i].line)
			k++;
		if (k < m->nr_new && m->new[k].line == m->base[i].line)
			set_pair(m, i, k);
	}
}

static uint32_t count_like(const struct vt_match_line *lines, uint32_t nr, uint64_t all)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < nr; i++)
		found += lines[i].clues->all == all;
	return found;
}

/* Lines of which there are as many with the same clues in both, in their order. */
static void pair_equal_clues(struct match *m)
{
	for (uint32_t i = 0; i < m->nr_base; i++) {
		uint64_t all = m->base[i].clues->all;
		uint32_t k = 0;

		if (!all || count_like(m->base, m->nr_base, all) !=
				    count_like(m->new, m->nr_new, all))
			continue;
		while (m->of_new[k] != VT_LINE_MATCH_NONE || m->new[k].clues->all != all)
			k++;
		set_pair(m, i, k);
	}
}

/* Leaves in `is_anchor` the longest row of pairs, by base, that do not cross each other. */
static void find_anchors(const struct match *m, uint8_t *is_anchor)
{
	uint32_t *length = vt_xcalloc(m->nr_base + 1, sizeof(*length));
	uint32_t *before = vt_xcalloc(m->nr_base + 1, sizeof(*before)), last = m->nr_base;

	for (uint32_t i = 0; i < m->nr_base; i++) {
		if (m->of_base[i] == VT_LINE_MATCH_NONE)
			continue;
		length[i] = 1;
		before[i] = m->nr_base;
		for (uint32_t j = 0; j < i; j++)
			if (length[j] >= length[i] && m->of_base[j] < m->of_base[i]) {
				length[i] = length[j] + 1;
				before[i] = j;
			}
		if (last == m->nr_base || length[i] > length[last])
			last = i;
	}
	for (; last != m->nr_base; last = before[last])
		is_anchor[last] = 1;
	free(length);
	free(before);
}

static double closeness(const struct match *m, const struct gap *gap, uint32_t base, uint32_t new)
{
	int64_t shift = m->new[new].line - m->base[base].line;
	int64_t a = magnitude(shift - gap->shifts[0]), b = magnitude(shift - gap->shifts[1]);

	return 1.0 / (1.0 + (double)(a < b ? a : b));
}

/* 0: they have nothing in common. */
static double worth(const struct match *m, const struct gap *gap, uint32_t base, uint32_t new)
{
	const struct vt_clue_set *a = m->base[base].clues, *b = m->new[new].clues;
	double like = 0.0;

	if (a->all && b->all) {
		like = WEIGHT_EXACT * vt_clue_set_likeness(a, b, VT_CLUE_EXACT) +
		       WEIGHT_LOOSE * vt_clue_set_likeness(a, b, VT_CLUE_LOOSE) +
		       WEIGHT_MADE * vt_clue_set_likeness(a, b, VT_CLUE_MADE) +
		       WEIGHT_OWNER * vt_clue_set_likeness(a, b, VT_CLUE_OWNER);
		/* Between neighbours that moved by as much nothing was put in or taken out. */
		if (like == 0.0 && (gap->shifts[0] != gap->shifts[1] ||
				    m->new[new].line - m->base[base].line != gap->shifts[0]))
			return 0.0;
	}
	return like + closeness(m, gap, base, new);
}

/* The best pairing that keeps the order, as in the longest common subsequence. */
static void pair_gap(struct match *m, const struct gap *gap)
{
	const uint32_t *base = gap->rest_base + gap->base, *new = gap->rest_new + gap->new;
	size_t width = (size_t)gap->nr_new + 1;
	double *best = vt_xcalloc((gap->nr_base + 1) * width, sizeof(*best));

	for (uint32_t i = gap->nr_base; i-- > 0;)
		for (uint32_t k = gap->nr_new; k-- > 0;) {
			double pair = worth(m, gap, base[i], new[k]);
			double without_base = best[(i + 1) * width + k];
			double without_new = best[i * width + k + 1];
			double most = without_base > without_new ? without_base : without_new;

			if (pair > 0.0)
				pair += best[(i + 1) * width + k + 1];
			best[i * width + k] = pair > most ? pair : most;
		}
	for (uint32_t i = 0, k = 0; i < gap->nr_base; i++) {
		while (k < gap->nr_new && best[i * width + k] <= best[i * width + k + 1])
			k++;
		if (k < gap->nr_new && best[i * width + k] > best[(i + 1) * width + k])
			set_pair(m, base[i], new[k++]);
	}
	free(best);
}

/* Lines that have no counterpart yet. */
static uint32_t find_rest(const uint32_t *counterparts, uint32_t nr, uint32_t *rest)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (counterparts[i] == VT_LINE_MATCH_NONE)
			rest[kept++] = i;
	return kept;
}

/* Up to the next pair that does not cross another one, or the end. */
static void pair_up_to(struct match *m, struct gap *gap, const uint32_t *nr_rest, uint32_t base,
		       uint32_t new)
{
	gap->nr_base = gap->nr_new = 0;
	while (gap->base + gap->nr_base < nr_rest[0] &&
	       gap->rest_base[gap->base + gap->nr_base] < base)
		gap->nr_base++;
	while (gap->new + gap->nr_new < nr_rest[1] && gap->rest_new[gap->new + gap->nr_new] < new)
		gap->nr_new++;
	if (gap->nr_base && gap->nr_new)
		pair_gap(m, gap);
	gap->base += gap->nr_base;
	gap->new += gap->nr_new;
}

static void pair_rest(struct match *m, const uint8_t *is_anchor)
{
	struct gap gap = { .rest_base = vt_xmalloc((m->nr_base + 1) * sizeof(uint32_t)),
			   .rest_new = vt_xmalloc((m->nr_new + 1) * sizeof(uint32_t)) };
	const uint32_t nr_rest[] = { find_rest(m->of_base, m->nr_base, gap.rest_base),
				     find_rest(m->of_new, m->nr_new, gap.rest_new) };
	uint32_t *anchors = vt_xmalloc((m->nr_base + 1) * sizeof(*anchors)), nr = 0;

	for (uint32_t i = 0; i < m->nr_base; i++)
		if (is_anchor[i])
			anchors[nr++] = i;
	for (uint32_t i = 0; i <= nr; i++) {
		uint32_t left = i ? anchors[i - 1] : 0, right = i < nr ? anchors[i] : 0;

		if (!nr)
			gap.shifts[0] = gap.shifts[1] = most_common_shift(m);
		if (i)
			gap.shifts[0] = m->new[m->of_base[left]].line - m->base[left].line;
		if (i < nr)
			gap.shifts[1] = m->new[m->of_base[right]].line - m->base[right].line;
		if (!i && nr)
			gap.shifts[0] = gap.shifts[1];
		if (i && i == nr)
			gap.shifts[1] = gap.shifts[0];
		pair_up_to(m, &gap, nr_rest, i < nr ? right : m->nr_base,
			   i < nr ? m->of_base[right] : m->nr_new);
	}
	free(anchors);
	free(gap.rest_base);
	free(gap.rest_new);
}

void vt_line_match_find(const struct vt_match_line *base, uint32_t nr_base,
			const struct vt_match_line *new, uint32_t nr_new, uint32_t *counterparts)
{
	struct match m = { base, new, nr_base, nr_new, counterparts, NULL };
	uint8_t *is_anchor = vt_xcalloc(nr_base + 1, sizeof(*is_anchor));

	m.of_new = vt_xmalloc((nr_new + 1) * sizeof(*m.of_new));
	for (uint32_t i = 0; i < nr_base; i++)
		counterparts[i] = VT_LINE_MATCH_NONE;
	for (uint32_t k = 0; k < nr_new; k++)
		m.of_new[k] = VT_LINE_MATCH_NONE;
	if (!nr_base || !nr_new || (uint64_t)nr_base * nr_new > MOST_PAIRS) {
		find_equal_distances(&m);
	} else {
		pair_equal_clues(&m);
		find_anchors(&m, is_anchor);
		pair_rest(&m, is_anchor);
	}
	free(m.of_new);
	free(is_anchor);
}
