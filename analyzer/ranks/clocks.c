/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/clocks.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* What NTP leaves of differences is far below, what people notice above. */
#define LEAST_TOLERANCE_NS 1000000000ll

static const char *host_of(const struct vt_rank *rank)
{
	return rank->host ? rank->host : "?";
}

static struct vt_clock *find(const struct vt_clocks *clocks, const char *host)
{
	for (uint32_t i = 0; i < clocks->nr; i++)
		if (!strcmp(clocks->hosts[i].host, host))
			return &clocks->hosts[i];
	return NULL;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t median(int64_t *values, uint32_t nr)
{
	vt_sort(values, nr, compare);
	return values[nr / 2];
}

/* Times of a damaged file may be any: they wrap, where int64_t's own arithmetic is undefined. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t anchor_of(const struct vt_rank *rank)
{
	return minus(rank->start_realtime_ns, rank->start_time_ns);
}

/* The steps of the host's first rank against those of the first host's. */
static void compare_steps(struct vt_clock *host, const struct vt_rank *rank,
			  const struct vt_rank *first)
{
	int64_t differences[VT_RANK_MOST_STEPS];
	uint32_t nr = 0;

	while (nr < rank->nr_step_ends && nr < first->nr_step_ends && nr < VT_RANK_MOST_STEPS) {
		differences[nr] = minus(plus(rank->start_realtime_ns, rank->step_ends[nr]),
					plus(first->start_realtime_ns, first->step_ends[nr]));
		nr++;
	}
	host->nr_steps = nr;
	host->ahead_ns = nr ? median(differences, nr) : 0;
}

/* Two steps: a rank can be that far behind another. */
static int64_t tolerance_of(const struct vt_rank *rank)
{
	int64_t lengths[VT_RANK_MOST_STEPS], two_steps;
	uint32_t nr = 0;

	for (uint32_t i = 1; i < rank->nr_step_ends && i < VT_RANK_MOST_STEPS; i++)
		lengths[nr++] = minus(rank->step_ends[i], rank->step_ends[i - 1]);
	two_steps = nr ? median(lengths, nr) : 0;
	two_steps = plus(two_steps, two_steps);
	return two_steps > LEAST_TOLERANCE_NS ? two_steps : LEAST_TOLERANCE_NS;
}

static void add_host(struct vt_clocks *clocks, const struct vt_rank *rank,
		     const struct vt_rank *first)
{
	struct vt_clock *host = &clocks->hosts[clocks->nr++];

	host->host = host_of(rank);
	compare_steps(host, rank, first);
}

static void find_spreads(struct vt_clocks *clocks, const struct vt_rank *const *ranks, uint32_t nr)
{
	int64_t *low = vt_xcalloc(clocks->nr + 1, sizeof(*low));
	int64_t *high = vt_xcalloc(clocks->nr + 1, sizeof(*high));

	for (uint32_t i = 0; i < nr; i++) {
		struct vt_clock *host = find(clocks, host_of(ranks[i]));
		int64_t anchor = anchor_of(ranks[i]);
		size_t at = (size_t)(host - clocks->hosts);

		if (!host->nr_ranks++)
			low[at] = high[at] = anchor;
		low[at] = anchor < low[at] ? anchor : low[at];
		high[at] = anchor > high[at] ? anchor : high[at];
		host->spread_ns = minus(high[at], low[at]);
	}
	free(low);
	free(high);
}

void vt_clocks_init(struct vt_clocks *clocks, const struct vt_rank *const *ranks, uint32_t nr)
{
	memset(clocks, 0, sizeof(*clocks));
	clocks->hosts = vt_xcalloc((size_t)nr + 1, sizeof(*clocks->hosts));
	if (!nr)
		return;
	clocks->tolerance_ns = tolerance_of(ranks[0]);
	for (uint32_t i = 0; i < nr; i++)
		if (!find(clocks, host_of(ranks[i])))
			add_host(clocks, ranks[i], ranks[0]);
	find_spreads(clocks, ranks, nr);
	clocks->first_ns = INT64_MAX;
	for (uint32_t i = 0; i < nr; i++) {
		int64_t start = minus(ranks[i]->start_realtime_ns,
				      find(clocks, host_of(ranks[i]))->ahead_ns);

		if (start < clocks->first_ns)
			clocks->first_ns = start;
	}
}

void vt_clocks_release(struct vt_clocks *clocks)
{
	free(clocks->hosts);
	memset(clocks, 0, sizeof(*clocks));
}

int vt_clocks_is_off(const struct vt_clocks *clocks, const struct vt_clock *host)
{
	return host->ahead_ns > clocks->tolerance_ns || host->ahead_ns < -clocks->tolerance_ns;
}

int64_t vt_clocks_time(const struct vt_clocks *clocks, const struct vt_rank *rank, int64_t time_ns)
{
	const struct vt_clock *host = find(clocks, host_of(rank));

	return minus(plus(minus(rank->start_realtime_ns, host->ahead_ns), time_ns),
		     clocks->first_ns);
}
