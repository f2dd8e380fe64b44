/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/savings_replay.h"

#include "analyzer/base/sort.h"

/* By how much an allocation gets smaller or larger at an event. */
struct change {
	int64_t relieved_bytes;
	uint32_t event;
};

VT_VECTOR_DECLARE(changes, struct change);
VT_VECTOR_DECLARE(more_steps, struct vt_replay_more);
VT_VECTOR_DECLARE(requests, struct vt_replay_request);

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->event < y->event ? -1 : x->event > y->event;
}

static int compare_savings(const void *a, const void *b)
{
	const struct vt_saving *x = a, *y = b;

	return x->allocation < y->allocation ? -1 : x->allocation > y->allocation;
}

static int are_all_of_blocks(const struct vt_savings *savings)
{
	for (size_t i = 0; i < savings->len; i++)
		if (!savings->items[i].allocation ||
		    savings->items[i].allocation->common->kind != VT_KIND_BLOCK)
			return 0;
	return 1;
}

/* The changes of one block by its savings, the first of which is at `at`, by event. */
static void list_changes(const struct vt_savings *savings, size_t at, struct changes *changes)
{
	const struct vt_allocation *block = savings->items[at].allocation;

	changes->len = 0;
	for (; at < savings->len && savings->items[at].allocation == block; at++) {
		const struct vt_saving *saving = &savings->items[at];

		vt_vector_push(changes, ((struct change){ saving->bytes, saving->from_event }));
		vt_vector_push(changes, ((struct change){ -saving->bytes, saving->to_event }));
	}
	vt_vector_sort(changes, compare_changes);
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
 * follows at later events.
 */
static uint64_t change_take(const struct changes *changes, const struct vt_trace_step *take,
			    uint64_t request, const struct vt_allocation *block,
			    struct more_steps *later)
{
	const struct change *all = changes->items;
	size_t nr = changes->len, at = 0;
	struct vt_replay_more more = { .step = *take };
	int64_t relieved = 0;
	uint64_t first;

	for (; at < nr && all[at].event <= block->event; at++)
		relieved += all[at].relieved_bytes;
	first = more.bytes = request_left(request, block, relieved);
	while (at < nr && all[at].event < block->freed_event) {
		uint64_t before = more.bytes;
		uint32_t event = all[at].event;

		more.event = event;
		for (; at < nr && all[at].event == event; at++)
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
static void relieve(const struct vt_trace *trace, const struct vt_savings *savings,
		    struct requests *first, struct more_steps *later)
{
	const struct vt_allocation *all = trace->model->allocations;
	struct changes changes = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < trace->steps.len && at < savings->len; i++) {
		const struct vt_trace_step *step = &trace->steps.items[i];
		const struct vt_allocation *block = &all[step->allocation];
		struct vt_replay_request request = { .allocation = step->allocation };

		if (step->op != VT_TRACE_TAKE)
			continue;
		while (at < savings->len && savings->items[at].allocation < block)
			at++;
		if (at == savings->len || savings->items[at].allocation != block)
			continue;
		list_changes(savings, at, &changes);
		request.bytes = change_take(&changes, step,
					    vt_trace_request(trace, step->allocation), block,
					    later);
		vt_vector_push(first, request);
	}
	vt_vector_release(&changes);
}

int vt_savings_replay(const struct vt_trace_ready *ready, struct vt_savings *savings,
		      struct vt_replay *replay)
{
	const struct vt_trace *trace = &ready->trace;
	struct vt_replay_options options;
	struct more_steps later = { 0 };
	struct requests first = { 0 };
	int rc;

	if (!are_all_of_blocks(savings)) {
		vt_vector_release(savings);
		return -1;
	}
	vt_vector_sort(savings, compare_savings);
	relieve(trace, savings, &first, &later);
	/* There may be as many as blocks: they are not kept beside a sort and a replay. */
	vt_vector_release(savings);
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
	vt_vector_release(&later);
	return rc;
}
