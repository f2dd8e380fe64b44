/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/call_uses.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* Scalars (losses that are logged) outlive any call. */
#define SMALLEST_RESULT 513
/* A generator's images are there for the critic's backward pass and for its own. */
#define MOST_BACKWARDS 2

/* A node of a forward call that ran in a backward pass. */
struct ran {
	uint64_t sequence;
	int64_t event;
	uint64_t module; /* outermost one of the forward call; 0: unknown */
};

/* What is known of one call. */
struct use {
	int64_t first_run; /* of its nodes; VT_NEVER: none ran */
	uint32_t nr_enabled; /* blocks made while autograd was enabled */
	uint32_t nr_disabled;
	uint8_t is_waited_for; /* made while the graph of another call waited */
	uint8_t has_result; /* the next backward pass had something that it made */
	uint8_t is_function; /* below a custom autograd function, which records for it */
	uint8_t wraps_trained; /* the outermost module calls one of a class that is trained */
};

struct search {
	const struct vt_shown_moments *shown;
	const struct vt_model *model;
	const struct vt_calls *calls;
	const struct vt_module_stacks *module_stacks;
	struct use *uses;
	VT_VECTOR(struct ran) ran;
	VT_VECTOR(int64_t) backwards; /* first events of backward passes */
	struct vt_map trained; /* modules, and classes of outermost ones */
	struct vt_map results; /* Python stacks that made some */
	uint8_t *is_cast; /* by string: the class of nodes that convert to another type */
	int is_any_used;
};

static uint64_t outermost_module(const struct search *search, uint32_t python_stack)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(search->module_stacks, python_stack, &nr);

	return nr ? links[nr - 1].address : 0;
}

static void add_ran(struct search *search, const struct vt_caller *caller, uint64_t sequence,
		    int64_t event)
{
	struct ran fresh = { sequence, event, 0 };

	/* A damaged file may name any string. */
	if (!vt_model_text(search->model, caller->node_class) ||
	    search->is_cast[caller->node_class] || sequence == VT_NO_SEQUENCE)
		return;
	if (search->ran.len && search->ran.items[search->ran.len - 1].sequence == sequence)
		return;
	fresh.module = outermost_module(search, caller->forward_python_stack);
	vt_vector_push(&search->ran, fresh);
}

static int compare_ran(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* Autocast keeps casts of weights that an evaluation made for the training call behind it. */
static void find_casts(struct search *search)
{
	search->is_cast = vt_xcalloc((size_t)search->model->strings.nr + 1, 1);
	for (uint32_t i = 0; i < search->model->strings.nr; i++) {
		const char *text = vt_model_text(search->model, i);

		search->is_cast[i] = text && strstr(text, "ToCopyBackward") != NULL;
	}
}

/* Only what a node does shows a backward pass by itself, besides ranges. */
static void see_node(struct search *search, const struct vt_moment *moment)
{
	const struct vt_allocation *a = &search->model->allocations[moment->index];

	if (moment->what == VT_MOMENT_ALLOC)
		add_ran(search, a->common->made, a->node_sequence, a->event);
	else if (moment->what == VT_MOMENT_FREE)
		add_ran(search, a->common->freed, a->freed_node_sequence, a->freed_event);
}

static void find_backwards(struct search *search)
{
	const struct vt_timeline *timeline = search->shown->timeline;
	int has_computed = 0;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		uint8_t stage = vt_shown_moments_at(search->shown, i).stage;

		if (stage == VT_STAGE_BACKWARD) {
			see_node(search, moment);
			if (has_computed)
				vt_vector_push(&search->backwards,
					       vt_moment_event(search->model, moment));
		}
		if (stage == VT_STAGE_BACKWARD || stage == VT_STAGE_FORWARD)
			has_computed = stage == VT_STAGE_FORWARD;
	}
	vt_vector_sort(&search->ran, compare_ran);
}

/* How many backward passes begin in (after, before). */
static size_t count_backwards(const struct search *search, int64_t after, int64_t before)
{
	const int64_t *all = search->backwards.items;
	size_t nr = search->backwards.len;
	size_t first = vt_search_first(i, nr, all[i] <= after);
	size_t end = vt_search_first(i, nr, all[i] < before);

	return end > first ? end - first : 0;
}

static int64_t find_first_run(const struct search *search, const struct vt_call *call)
{
	const struct ran *ran = search->ran.items;
	uint64_t before = call->sequence_before;
	uint64_t low = before == VT_NO_SEQUENCE ? 0 : before + 1;
	int64_t found = VT_NEVER;

	if (call->last_sequence == call->sequence_before)
		return VT_NEVER;
	for (size_t k = vt_search_first(i, search->ran.len, ran[i].sequence < low);
	     k < search->ran.len && ran[k].sequence <= call->last_sequence; k++)
		if (ran[k].event > call->first_event && ran[k].event < found &&
		    (!ran[k].module || ran[k].module == call->module))
			found = ran[k].event;
	return found;
}

static void find_first_runs(struct search *search)
{
	int64_t waits_until = 0;

	for (uint32_t i = 1; i < search->calls->nr; i++) {
		struct use *use = &search->uses[i];

		use->first_run = find_first_run(search, &search->calls->calls[i]);
		use->is_waited_for = waits_until > search->calls->calls[i].first_event;
		if (use->first_run == VT_NEVER)
			continue;
		search->is_any_used = 1;
		if (use->first_run > waits_until)
			waits_until = use->first_run;
	}
}

/* torch.autograd.Function: its forward runs under no_grad, and one node stands for all of it. */
static int is_below_function(const struct search *search, uint32_t python_stack)
{
	static const char file[] = "/torch/autograd/function.py";
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(&search->model->frames, python_stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(&search->model->frames, ids[i]);
		size_t len = strlen(code->file);

		if (len >= sizeof(file) - 1 && strcmp(code->short_name, "apply") == 0 &&
		    strcmp(code->file + len - (sizeof(file) - 1), file) == 0)
			return 1;
	}
	return 0;
}

/*
 * A result that the next backward pass had, and no later ones.  The last one is never freed: it is
 * what those that the same line made before it were.
 */
static int is_result(struct search *search, const struct vt_allocation *a, int64_t from)
{
	struct vt_key line = { a->common->made->python_stack, 0, 0 };
	size_t nr = count_backwards(search, a->event, a->freed_event);

	if (a->common->size_bytes < SMALLEST_RESULT || nr < 1 || nr > MOST_BACKWARDS ||
	    count_backwards(search, from, a->event))
		return 0;
	if (a->freed_event == VT_NEVER)
		return vt_map_find(&search->results, line) != NULL;
	if (line.a)
		vt_map_put(&search->results, line, 1);
	return 1;
}

/* The last call that began on each thread. */
struct last_call {
	uint32_t thread;
	uint32_t call;
};

typedef VT_VECTOR(struct last_call) last_call_vector;

static uint32_t follow_calls(last_call_vector *threads, const struct vt_calls *calls,
			     uint32_t index, uint32_t thread)
{
	uint32_t call = calls->by_allocation[index].call;
	struct last_call fresh = { thread, call };

	for (size_t i = 0; i < threads->len; i++)
		if (threads->items[i].thread == thread) {
			if (call)
				threads->items[i].call = call;
			return threads->items[i].call;
		}
	vt_vector_push(threads, fresh);
	return call;
}

static void see_block(struct search *search, uint32_t index, uint32_t last)
{
	const struct vt_allocation *a = &search->model->allocations[index];
	const struct vt_call *call = &search->calls->calls[last];
	struct use *use = &search->uses[last];
	int is_inside = search->calls->by_allocation[index].call != 0;

	if (is_inside && !use->nr_enabled && !use->nr_disabled)
		use->is_function =
			(uint8_t)is_below_function(search, a->common->made->python_stack);
	if (is_inside && a->common->made->grad == VT_GRAD_ENABLED)
		use->nr_enabled++;
	if (is_inside && a->common->made->grad == VT_GRAD_DISABLED)
		use->nr_disabled++;
	/* Behind the call, what is made of its results as long as autograd stays disabled. */
	if (use->first_run == VT_NEVER && !use->has_result &&
	    (is_inside || a->common->made->grad == VT_GRAD_DISABLED))
		use->has_result = (uint8_t)is_result(search, a, call->first_event);
}

static void find_results(struct search *search)
{
	last_call_vector threads = { 0 };

	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];
		uint32_t last;

		if (a->common->made->node_class || !vt_allocation_is_owned(a))
			continue;
		last = follow_calls(&threads, search->calls, i, a->common->made->thread);
		if (last)
			see_block(search, i, last);
	}
	vt_vector_release(&threads);
}

static void add_trained(struct search *search, uint32_t python_stack)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(search->module_stacks, python_stack, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		vt_map_put(&search->trained, (struct vt_key){ links[i].address, 0, 0 }, 1);
		/* The outermost one may only wrap the other. */
		if (i + 2 >= nr)
			vt_map_put(&search->trained, (struct vt_key){ links[i].type, 1, 0 }, 1);
	}
}

static int is_used(const struct search *search, uint32_t call)
{
	/* Where no node is known to have run, those that autograd numbered count. */
	return search->is_any_used ? search->uses[call].first_run != VT_NEVER :
				     search->calls->calls[call].has_autograd;
}

static int is_trained(struct search *search, uint32_t index)
{
	const struct vt_call *call = &search->calls->calls[index];

	return vt_map_find(&search->trained, (struct vt_key){ call->module, 0, 0 }) ||
	       vt_map_find(&search->trained, (struct vt_key){ call->type, 1, 0 }) ||
	       search->uses[index].wraps_trained;
}

static void find_trained(struct search *search)
{
	uint8_t *is_seen = vt_xcalloc((size_t)search->module_stacks->nr_stacks + 1, 1);

	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		uint32_t stack = search->model->allocations[i].common->made->python_stack;
		uint32_t call = search->calls->by_allocation[i].call;

		if (!call || !is_used(search, call) || is_seen[stack])
			continue;
		is_seen[stack] = 1;
		add_trained(search, stack);
	}
	free(is_seen);
}

/*
 * Calls of a copy of what is trained, in a module around it: an average of the weights.  A copy
 * contains modules; a single convolution proves nothing, as a frozen encoder has some, too.
 */
static void find_wrappers(struct search *search)
{
	uint8_t *is_seen = vt_xcalloc((size_t)search->module_stacks->nr_stacks + 1, 1);

	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		uint32_t stack = search->model->allocations[i].common->made->python_stack, nr;
		uint32_t call = search->calls->by_allocation[i].call;
		const struct vt_module_link *links;

		if (!call || search->uses[call].wraps_trained || is_seen[stack])
			continue;
		links = vt_module_stacks_get(search->module_stacks, stack, &nr);
		if (nr >= 3 &&
		    vt_map_find(&search->trained, (struct vt_key){ links[nr - 2].type, 1, 0 }))
			search->uses[call].wraps_trained = 1;
		else
			is_seen[stack] = 1;
	}
	free(is_seen);
}

/* The module's call next to this one, in steps of 1 or -1; 0: there is none. */
static uint32_t find_neighbour(const struct search *search, uint32_t index, int direction)
{
	const struct vt_call *calls = search->calls->calls;
	uint32_t i = index;

	do
		i += (uint32_t)direction;
	while (i && i < search->calls->nr && calls[i].module != calls[index].module);
	return i < search->calls->nr ? i : 0;
}

/* Whether the program ended or ran out of memory before the call's backward pass. */
static int is_cut_short(const struct search *search, uint32_t index)
{
	const struct vt_call *call = &search->calls->calls[index];
	uint32_t next = find_neighbour(search, index, 1);
	int64_t end = next ? search->calls->calls[next].first_event : VT_NEVER;

	if (!call->has_autograd || search->uses[index].nr_enabled < search->uses[index].nr_disabled)
		return 0;
	for (uint32_t i = 0; i < search->model->nr_ooms; i++)
		if (search->model->ooms[i].event > call->first_event &&
		    search->model->ooms[i].event < end)
			return 1;
	return call->end_event == VT_NEVER;
}

static uint8_t judge(struct search *search, const struct vt_call_uses *uses, uint32_t index)
{
	const struct use *use = &search->uses[index];
	uint32_t previous;

	if (is_used(search, index) || use->is_waited_for || use->has_result || use->is_function)
		return VT_CALL_TRAINS;
	if (!is_trained(search, index))
		return VT_CALL_UNDECIDED;
	if (!is_cut_short(search, index))
		return VT_CALL_EVALUATES;
	/* Several in a row that no backward pass follows evaluate. */
	previous = find_neighbour(search, index, -1);
	return previous ? uses->by_call[previous] : VT_CALL_TRAINS;
}

void vt_call_uses_init(struct vt_call_uses *uses, const struct vt_shown_moments *shown,
		       const struct vt_calls *calls, const struct vt_module_stacks *module_stacks)
{
	struct search search = { .shown = shown,
				 .model = shown->timeline->model,
				 .calls = calls,
				 .module_stacks = module_stacks };

	uses->by_call = vt_xcalloc((size_t)calls->nr + 1, 1);
	find_casts(&search);
	find_backwards(&search);
	search.uses = vt_xcalloc((size_t)calls->nr + 1, sizeof(*search.uses));
	find_first_runs(&search);
	find_results(&search);
	find_trained(&search);
	find_wrappers(&search);
	for (uint32_t i = 1; i < calls->nr && search.backwards.len; i++)
		uses->by_call[i] = judge(&search, uses, i);
	free(search.uses);
	free(search.is_cast);
	vt_map_release(&search.trained);
	vt_map_release(&search.results);
	vt_vector_release(&search.ran);
	vt_vector_release(&search.backwards);
}

void vt_call_uses_release(struct vt_call_uses *uses)
{
	free(uses->by_call);
	memset(uses, 0, sizeof(*uses));
}
