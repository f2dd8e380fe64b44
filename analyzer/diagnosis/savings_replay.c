/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/savings_replay.h"

#include "analyzer/base/sort.h"

/* By how much an allocation gets smaller or larger at an event. */
struct change {
	int64_t relieved_bytes;
	uint32_t event;
	uint32_t allocation;
};

struct changes {
	struct change *items; /* by allocation, then event */
	size_t nr;
};

VT_VECTOR_DECLARE(more_steps, struct vt_replay_more);
VT_VECTOR_DECLARE(requests, struct vt_replay_request);

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->allocation != y->allocation)
		return x->allocation < y->allocation ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* As in the model's rows; VT_NEVER stays. */
static uint32_t event_of(int64_t event)
{
	return event == VT_NEVER ? (uint32_t)VT_NEVER : vt_allocation_event(event);
}

/* -1: a saving is of no block, so the trace does not have it. */
static int sort_changes(struct changes *changes, const struct vt_savings *savings,
			const struct vt_model *model)
{
	changes->nr = 2 * savings->len;
	changes->items = vt_xcalloc(changes->nr + 1, sizeof(*changes->items));
	for (size_t i = 0; i < savings->len; i++) {
		const struct vt_saving *saving = &savings->items[i];
		struct change *pair = &changes->items[2 * i];

		if (!saving->allocation || saving->allocation->common->kind != VT_KIND_BLOCK)
			return -1;
		pair[0].allocation = (uint32_t)(saving->allocation - model->allocations);
		pair[0].event = event_of(saving->from_event);
		pair[0].relieved_bytes = saving->bytes;
		pair[1] = pair[0];
		pair[1].event = event_of(saving->to_event);
		pair[1].relieved_bytes = -pair[0].relieved_bytes;
	}
	vt_sort(changes->items, changes->nr, compare_changes);
	return 0;
}

/* A request is what its block has, or up to a tail less. */
static uint64_t request_left(uint64_t request, const struct vt_allocation *block, int64_t relieved)
{
	uint64_t left = relieved >= (int64_t)block->common->size_bytes
				? 0
				: (uint64_t)((int64_t)block->common->size_bytes - relieved);

	return relieved < 0 || left < request ? left : request;
}

/*
 * One request as several: returns the bytes of the first, 0: there is none; `later` gets what
 * follows at later events.  `at`: the first change of its allocation.
 */
static uint64_t change_take(const struct changes *changes, size_t at,
			    const struct vt_trace_step *take, uint64_t request,
			    const struct vt_allocation *block, struct more_steps *later)
{
	const struct change *all = changes->items;
	size_t nr = changes->nr;
	struct vt_replay_more more = { .step = *take };
	int64_t relieved = 0;
	uint64_t first;

	for (; at < nr && all[at].allocation == take->allocation && all[at].event <= block->event;
	     at++)
		relieved += all[at].relieved_bytes;
	first = more.bytes = request_left(request, block, relieved);
	while (at < nr && all[at].allocation == take->allocation &&
	       all[at].event < block->freed_event) {
		uint64_t before = more.bytes;
		uint32_t event = all[at].event;

		more.event = event;
		for (; at < nr && all[at].allocation == take->allocation && all[at].event == event;
		     at++)
			relieved += all[at].relieved_bytes;
		more.bytes = request_left(request, block, relieved);
		if (more.bytes == before)
			continue;
		more.step.op = VT_TRACE_GIVE;
		if (before)
			vt_vector_push(later, more);
		more.step.op = VT_TRACE_TAKE;
		if (more.bytes)
			vt_vector_push(later, more);
	}
	return first;
}

/* What an event gives back is free for what it takes. */
static int compare_steps(const void *a, const void *b)
{
	const struct vt_replay_more *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->step.op != y->step.op)
		return x->step.op == VT_TRACE_GIVE ? -1 : 1;
	return (x->step.allocation > y->step.allocation) -
	       (x->step.allocation < y->step.allocation);
}

/* The first requests, by allocation as takes are, and the later ones. */
static void relieve(const struct vt_trace *trace, const struct changes *changes,
		    struct requests *first, struct more_steps *later)
{
	const struct vt_model *model = trace->model;
	const struct change *all = changes->items;
	size_t at = 0;

	for (size_t i = 0; i < trace->steps.len && at < changes->nr; i++) {
		const struct vt_trace_step *step = &trace->steps.items[i];
		struct vt_replay_request request = { .allocation = step->allocation };

		if (step->op != VT_TRACE_TAKE)
			continue;
		while (at < changes->nr && all[at].allocation < step->allocation)
			at++;
		if (at == changes->nr || all[at].allocation != step->allocation)
			continue;
		request.bytes = change_take(changes, at, step,
					    vt_trace_request(trace, step->allocation),
					    &model->allocations[step->allocation], later);
		vt_vector_push(first, request);
	}
}

int vt_savings_replay(const struct vt_trace_ready *ready, const struct vt_savings *savings,
		      struct vt_replay *replay)
{
	const struct vt_trace *trace = &ready->trace;
	struct vt_replay_options options;
	struct changes changes;
	struct more_steps later = { 0 };
	struct requests first = { 0 };
	int rc = -1;

	if (sort_changes(&changes, savings, trace->model) == 0) {
		relieve(trace, &changes, &first, &later);
		/* As many as there are blocks at times: not kept beside a sort and a replay. */
		free(changes.items);
		changes.items = NULL;
		vt_vector_sort(&later, compare_steps);
		vt_replay_options_init(&options, trace);
		options.changed = first.items;
		options.nr_changed = first.len;
		options.more = later.items;
		options.nr_more = later.len;
		/* Requests that failed say nothing about those that were served. */
		options.is_without_failed = 1;
		vt_replay_run(replay, trace, &options);
		rc = replay->failure.event ? -1 : 0;
		vt_vector_release(&first);
	}
	vt_vector_release(&later);
	free(changes.items);
	return rc;
}
