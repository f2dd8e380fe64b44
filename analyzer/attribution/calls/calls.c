/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/calls.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* A step may call one module from several places in turn: a critic on real and on made images. */
#define NEIGHBOURS 4

/* What is known about a thread at one moment of the pass. */
struct thread {
	uint32_t id;
	uint32_t call; /* open; 0: none */
	uint64_t sequence; /* last number that autograd gave */
	uint32_t numbered_stack; /* of the first allocation since */
};

struct pass {
	const struct vt_model *model;
	const struct vt_module_stacks *module_stacks;
	struct vt_calls *calls;
	VT_VECTOR(struct vt_call) found;
	VT_VECTOR(struct vt_call_place) places;
	uint32_t *last_ordinal; /* by Python stack: of the last place found there; 0: none */
	VT_VECTOR(struct thread) threads;
};

static struct thread *thread_of(struct pass *pass, uint32_t id)
{
	struct thread fresh = { id, 0, VT_NO_SEQUENCE, 0 };

	for (size_t i = 0; i < pass->threads.len; i++)
		if (pass->threads.items[i].id == id)
			return &pass->threads.items[i];
	vt_vector_push(&pass->threads, fresh);
	return &pass->threads.items[pass->threads.len - 1];
}

static struct vt_module_link outermost_module(const struct pass *pass, uint32_t python_stack)
{
	static const struct vt_module_link none = { 0, 0 };
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(pass->module_stacks, python_stack, &nr);

	return nr ? links[nr - 1] : none;
}

static uint32_t next_ordinal(const struct pass *pass, uint64_t module)
{
	for (size_t i = pass->found.len; i-- > 1;)
		if (pass->found.items[i].module == module)
			return pass->found.items[i].ordinal + 1;
	return 1;
}

/* Ends the thread's call where `module` is another, and begins one where it is any. */
static void move_to(struct pass *pass, struct thread *thread, struct vt_module_link module,
		    int64_t event)
{
	struct vt_call *open = &pass->found.items[thread->call];
	struct vt_call fresh = { .module = module.address,
				 .type = module.type,
				 .first_event = event,
				 .end_event = VT_NEVER,
				 .sequence_before = thread->sequence,
				 .last_sequence = thread->sequence,
				 .thread = thread->id };

	if (open->module == module.address)
		return;
	if (thread->call)
		open->end_event = event;
	thread->call = 0;
	if (!module.address)
		return;
	fresh.ordinal = next_ordinal(pass, module.address);
	thread->call = (uint32_t)pass->found.len;
	vt_vector_push(&pass->found, fresh);
}

/* A call makes several blocks at a place, one after the other. */
static void add_place(struct pass *pass, uint32_t python_stack, uint32_t ordinal)
{
	struct vt_call_place place = { python_stack, ordinal };

	/* Of a stack with a module: module_stacks has it. */
	if (pass->last_ordinal[python_stack] == ordinal)
		return;
	pass->last_ordinal[python_stack] = ordinal;
	vt_vector_push(&pass->places, place);
}

static void see_allocation(struct pass *pass, uint32_t index)
{
	const struct vt_allocation *a = &pass->model->allocations[index];
	struct thread *thread = thread_of(pass, a->common->made->thread);
	struct vt_call_of *of = &pass->calls->by_allocation[index];
	struct vt_call *call;

	/* Below a node of the backward pass modules run again, on the pass's behalf. */
	if (a->common->made->node_class || !a->common->made->python_stack)
		return;
	move_to(pass, thread, outermost_module(pass, a->common->made->python_stack), a->event);
	call = &pass->found.items[thread->call];
	of->is_numbered = a->forward_sequence != thread->sequence;
	if (of->is_numbered)
		thread->numbered_stack = a->common->made->python_stack;
	/* Autograd records here, but did not: the operator had no input with a gradient. */
	of->is_unrecorded = a->common->made->grad == VT_GRAD_ENABLED &&
			    a->common->made->python_stack != thread->numbered_stack;
	if (thread->call) {
		call->has_autograd |= of->is_numbered;
		call->last_sequence = a->forward_sequence;
	}
	of->is_before = thread->call && !call->has_autograd;
	/* The segment that the first block of its size needed comes before the block. */
	if (vt_allocation_is_owned(a))
		thread->sequence = a->forward_sequence;
	of->call = thread->call & VT_MOST_ROWS;
	if (thread->call)
		add_place(pass, a->common->made->python_stack, call->ordinal);
}

static int compare_places(const void *a, const void *b)
{
	const struct vt_call_place *x = a, *y = b;

	if (x->python_stack != y->python_stack)
		return x->python_stack < y->python_stack ? -1 : 1;
	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

void vt_calls_init(struct vt_calls *calls, const struct vt_timeline *timeline,
		   const struct vt_module_stacks *module_stacks)
{
	const struct vt_model *model = timeline->model;
	struct pass pass = { .model = model, .module_stacks = module_stacks, .calls = calls };
	struct vt_call none = { .end_event = VT_NEVER };

	memset(calls, 0, sizeof(*calls));
	calls->by_allocation =
		vt_xzeros((size_t)model->nr_allocations + 1, sizeof(*calls->by_allocation));
	pass.last_ordinal = vt_xcalloc(module_stacks->nr_stacks + 1, sizeof(*pass.last_ordinal));
	vt_vector_push(&pass.found, none);
	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		const struct vt_allocation *a = &model->allocations[moment->index];

		if (moment->what == VT_MOMENT_ALLOC)
			see_allocation(&pass, moment->index);
		else if (moment->what == VT_MOMENT_FREE && a->common->freed->python_stack &&
			 !a->common->freed->node_class)
			move_to(&pass, thread_of(&pass, a->common->freed->thread),
				outermost_module(&pass, a->common->freed->python_stack),
				vt_moment_event(model, moment));
	}
	calls->calls = pass.found.items;
	calls->nr = (uint32_t)pass.found.len;
	calls->places = pass.places.items;
	calls->nr_places = (uint32_t)pass.places.len;
	vt_sort(calls->places, calls->nr_places, compare_places);
	free(pass.last_ordinal);
	vt_vector_release(&pass.threads);
}

void vt_calls_release(struct vt_calls *calls)
{
	free(calls->calls);
	free(calls->by_allocation);
	free(calls->places);
	memset(calls, 0, sizeof(*calls));
}

const struct vt_call *vt_calls_find(const struct vt_calls *calls, uint32_t allocation)
{
	uint32_t call = calls->by_allocation[allocation].call;

	return call ? &calls->calls[call] : NULL;
}

int vt_calls_is_numbered(const struct vt_calls *calls, uint32_t allocation)
{
	return calls->by_allocation[allocation].is_numbered;
}

int vt_calls_is_unrecorded(const struct vt_calls *calls, uint32_t allocation)
{
	return calls->by_allocation[allocation].is_unrecorded;
}

int vt_calls_is_before(const struct vt_calls *calls, uint32_t allocation)
{
	return calls->by_allocation[allocation].is_before;
}

static int has_place(const struct vt_calls *calls, uint32_t python_stack, uint32_t ordinal)
{
	const struct vt_call_place wanted = { python_stack, ordinal };

	return bsearch(&wanted, calls->places, calls->nr_places, sizeof(wanted), compare_places) !=
	       NULL;
}

int vt_calls_is_again(const struct vt_calls *calls, uint32_t allocation, uint32_t python_stack)
{
	const struct vt_call *call = vt_calls_find(calls, allocation);

	for (uint32_t i = 1; call && i <= NEIGHBOURS; i++)
		if (has_place(calls, python_stack, call->ordinal + i) ||
		    (call->ordinal > i && has_place(calls, python_stack, call->ordinal - i)))
			return 1;
	return 0;
}
