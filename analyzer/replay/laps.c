/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/laps.h"

#include "analyzer/base/hash.h"
#include "analyzer/base/map.h"

/*
 * The fewest live blocks are looked for in stretches of so many steps: those before and behind each
 * count, too, as a step of a large model may be longer than one.  A little above them is few, as
 * now and then there is one less.
 */
#define STRETCH       8192
#define LITTLE(range) ((range) / 32)
#define LEAST_STEPS   64

/* Live blocks. */
struct range {
	uint32_t fewest;
	uint32_t most;
};

struct finding {
	struct vt_trace *trace;
	struct range *stretches;
	size_t nr_stretches;
	struct vt_map kinds; /* hash of what a lap asks -> kind */
	/* The lap that is read. */
	struct vt_lap lap;
	uint64_t hash;
	int64_t first_event;
};

static int is_taken(const struct vt_trace_step *step)
{
	return step->op == VT_TRACE_TAKE || step->op == VT_TRACE_OTHER_TAKE;
}

static int is_given(const struct vt_trace_step *step)
{
	return step->op == VT_TRACE_GIVE || step->op == VT_TRACE_OTHER_GIVE;
}

static void count_live(const struct vt_trace_step *step, uint32_t *live)
{
	*live += step->op == VT_TRACE_TAKE ? 1 : step->op == VT_TRACE_GIVE ? (uint32_t)-1 : 0;
}

static void widen(struct range *range, struct range by)
{
	if (by.fewest < range->fewest)
		range->fewest = by.fewest;
	if (by.most > range->most)
		range->most = by.most;
}

static void find_ranges(struct finding *finding)
{
	const struct vt_trace *trace = finding->trace;
	uint32_t live = 0;

	finding->nr_stretches = (trace->steps.len + STRETCH - 1) / STRETCH;
	finding->stretches = vt_xcalloc(finding->nr_stretches, sizeof(*finding->stretches));
	for (size_t i = 0; i < trace->steps.len; i++) {
		struct range *range = &finding->stretches[i / STRETCH], now;

		count_live(&trace->steps.items[i], &live);
		now = (struct range){ live, live };
		if (i % STRETCH == 0)
			*range = now;
		widen(range, now);
	}
}

/* How many live blocks are few. */
static uint32_t few_around(const struct finding *finding, size_t stretch)
{
	struct range range = finding->stretches[stretch];

	if (stretch)
		widen(&range, finding->stretches[stretch - 1]);
	if (stretch + 1 < finding->nr_stretches)
		widen(&range, finding->stretches[stretch + 1]);
	return range.fewest + LITTLE(range.most - range.fewest);
}

static int32_t distance_of(const struct vt_lap *lap, const struct vt_trace_step *step)
{
	return (int32_t)step->allocation - (int32_t)lap->first_allocation;
}

/* Only a damaged file frees what was not made yet: in a trace it is never given back then. */
static int outlives(const struct vt_allocation *a, int64_t event)
{
	return a->freed_event > event || a->freed_event <= a->event;
}

/* What a lap finds of older blocks, and what it leaves: read once, of the first lap of a kind. */
static void describe_kind(struct vt_trace *trace, const struct vt_lap *lap, size_t end,
			  int64_t last_event)
{
	struct vt_laps *laps = &trace->laps;
	const struct vt_trace_step *steps = trace->steps.items;
	struct vt_lap_kind kind = { .first = (uint32_t)laps->distances.len };

	for (size_t i = lap->first_step; i < end; i++)
		if (steps[i].op == VT_TRACE_GIVE && distance_of(lap, &steps[i]) < 0)
			vt_vector_push(&laps->distances, distance_of(lap, &steps[i]));
	kind.nr_given = (uint32_t)laps->distances.len - kind.first;
	for (size_t i = lap->first_step; i < end; i++)
		if (steps[i].op == VT_TRACE_TAKE &&
		    outlives(&trace->model->allocations[steps[i].allocation], last_event))
			vt_vector_push(&laps->distances, distance_of(lap, &steps[i]));
	kind.nr_kept = (uint32_t)laps->distances.len - kind.first - kind.nr_given;
	vt_vector_push(&laps->kinds, kind);
}

static void end_lap(struct finding *finding, size_t end)
{
	struct vt_trace *trace = finding->trace;
	struct vt_lap *lap = &finding->lap;
	const uint64_t *known = vt_map_find(
		&finding->kinds, (struct vt_key){ finding->hash, end - lap->first_step, 0 });

	if (known) {
		lap->kind = (uint32_t)*known;
	} else {
		lap->kind = (uint32_t)trace->laps.kinds.len;
		vt_map_put(&finding->kinds,
			   (struct vt_key){ finding->hash, end - lap->first_step, 0 }, lap->kind);
		describe_kind(trace, lap, end, vt_trace_event(trace, &trace->steps.items[end - 1]));
	}
	trace->laps.kinds.items[lap->kind].nr_laps++;
	vt_vector_push(&trace->laps.items, *lap);
}

static void begin_lap(struct finding *finding, size_t first, uint32_t first_allocation)
{
	const struct vt_trace *trace = finding->trace;

	finding->lap = (struct vt_lap){ .first_step = (uint32_t)first,
					.first_allocation = first_allocation,
					.is_simple = 1,
					.is_unchanged = 1 };
	finding->hash = 0;
	finding->first_event = vt_trace_event(trace, &trace->steps.items[first]);
}

/* The request, and who may serve it; of older allocations which one. */
static uint64_t asked(const struct finding *finding, const struct vt_trace_step *step)
{
	const struct vt_trace *trace = finding->trace;
	uint64_t distance = (uint64_t)distance_of(&finding->lap, step) << 3 | step->op;

	/* What is given back tells its size by the block that a replay has; others have none. */
	if (step->op == VT_TRACE_OTHER_GIVE)
		return vt_hash_mix(distance, vt_trace_bytes(trace, step));
	if (!is_taken(step))
		return distance;
	return vt_hash_mix(vt_hash_mix(distance, vt_trace_server(trace, step)),
			   vt_trace_bytes(trace, step));
}

static uint64_t recorded(const struct finding *finding, const struct vt_trace_step *step)
{
	const struct vt_trace *trace = finding->trace;
	const struct vt_allocation *a = &trace->model->allocations[step->allocation];
	uint64_t event = (uint64_t)(vt_trace_event(trace, step) - finding->first_event);

	if (!is_taken(step))
		return event;
	return vt_hash_mix(event ^ a->address, a->common->size_bytes);
}

static void read_step(struct finding *finding, const struct vt_trace_step *step)
{
	struct vt_lap *lap = &finding->lap;

	if (!is_taken(step) && !is_given(step)) {
		lap->is_simple = 0;
		return;
	}
	finding->hash = vt_hash_mix(finding->hash, asked(finding, step));
	lap->as_recorded = vt_hash_mix(lap->as_recorded, recorded(finding, step));
}

static void cut(struct finding *finding)
{
	const struct vt_trace *trace = finding->trace;
	const struct vt_trace_step *steps = trace->steps.items;
	uint32_t live = 0, next_allocation = 0, few = 0;

	begin_lap(finding, 0, 0);
	for (size_t i = 0; i < trace->steps.len; i++) {
		if (i % STRETCH == 0)
			few = few_around(finding, i / STRETCH);
		read_step(finding, &steps[i]);
		count_live(&steps[i], &live);
		if (is_taken(&steps[i]))
			next_allocation = steps[i].allocation + 1;
		/* One event may give back many: not between them. */
		if (steps[i].op != VT_TRACE_GIVE || i + 1 == trace->steps.len ||
		    vt_trace_event(trace, &steps[i + 1]) == vt_trace_event(trace, &steps[i]) ||
		    i + 1 - finding->lap.first_step < LEAST_STEPS || live > few)
			continue;
		end_lap(finding, i + 1);
		begin_lap(finding, i + 1, next_allocation);
	}
	end_lap(finding, trace->steps.len);
	finding->lap.first_step = (uint32_t)trace->steps.len;
	finding->lap.first_allocation = next_allocation;
	vt_vector_push(&finding->trace->laps.items, finding->lap);
}

/* Changes come with the event of the step in front of which they are, or an earlier one. */
static void note_changes(struct vt_trace *trace)
{
	struct vt_laps *laps = &trace->laps;
	size_t lap = 0;

	for (size_t i = 0; i < trace->changes.len; i++) {
		while (lap + 2 < laps->items.len &&
		       vt_trace_event(trace,
				      &trace->steps.items[laps->items.items[lap + 1].first_step]) <=
			       trace->changes.items[i].event)
			lap++;
		laps->items.items[lap].is_unchanged = 0;
		/* Between the two: seen with the first step of the later one. */
		if (lap + 2 < laps->items.len)
			laps->items.items[lap + 1].is_unchanged = 0;
	}
}

void vt_laps_find(struct vt_trace *trace)
{
	struct finding finding = { .trace = trace };

	trace->laps.items.len = trace->laps.kinds.len = trace->laps.distances.len = 0;
	if (!trace->steps.len)
		return;
	find_ranges(&finding);
	cut(&finding);
	note_changes(trace);
	vt_map_release(&finding.kinds);
	free(finding.stretches);
}
