/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/decoding.h"

#include <string.h>

#include "analyzer/base/util.h"

/* A block that one call of a module left for the next, by the place that made it. */
struct carried {
	uint64_t module; /* innermost */
	uint32_t frame;	 /* innermost; outer ones differ between the prompt's call and the others */
	uint32_t occurrence;
	uint64_t size_bytes;
};

typedef VT_VECTOR(struct carried) carried_vector;

struct search {
	struct vt_passes *passes;
	const struct vt_model *model;
	const struct vt_chains *chains;
	uint32_t *first; /* by pass: its first allocation; entry nr ends the last */
	uint32_t *order; /* passes outside of known generations, by module, then in time */
	uint32_t nr_order;
	uint32_t nr_generations;
	VT_VECTOR(struct vt_range) loops;
};

static int compare_carried(const void *a, const void *b)
{
	const struct carried *x = a, *y = b;

	if (x->frame != y->frame)
		return x->frame < y->frame ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->occurrence < y->occurrence ? -1 : x->occurrence > y->occurrence;
}

/* A module that a loop calls. */
struct called {
	uint64_t module;
	uint32_t nr;
};

/* The module called most makes the tokens; of two the later: an encoder's turn comes before. */
static uint64_t find_decoder(const struct vt_passes *passes, uint32_t first, uint32_t end)
{
	VT_VECTOR(struct called) called = { 0 };
	uint64_t module;
	uint32_t most = 0;

	for (uint32_t i = first; i < end; i++) {
		struct called fresh = { passes->passes[i].module, 1 };
		size_t k = 0;

		while (k < called.len && called.items[k].module != fresh.module)
			k++;
		if (k < called.len)
			called.items[k].nr++;
		else
			vt_vector_push(&called, fresh);
	}
	for (uint32_t k = 1; k < called.len; k++)
		if (called.items[k].nr >= called.items[most].nr)
			most = k;
	module = called.items[most].module;
	vt_vector_release(&called);
	return module;
}

/* A loop that a frame shows. */
static void judge_known(struct vt_passes *passes, uint32_t first, uint32_t end)
{
	uint64_t module = find_decoder(passes, first, end);
	int has_prefill = 0;

	for (uint32_t i = first; i < end; i++)
		if (passes->passes[i].module == module) {
			passes->passes[i].kind = has_prefill ? VT_PASS_DECODE : VT_PASS_PREFILL;
			has_prefill = 1;
		}
}

static void find_known(struct search *search)
{
	struct vt_passes *passes = search->passes;
	uint32_t end;

	for (uint32_t i = 0; i < passes->nr; i = end) {
		for (end = i + 1; end < passes->nr && passes->passes[end].generation ==
							      passes->passes[i].generation;)
			end++;
		if (passes->passes[i].generation)
			judge_known(passes, i, end);
	}
}

static struct vt_pass *ordered(const struct search *search, uint32_t position)
{
	return &search->passes->passes[search->order[position]];
}

/* The pass that many calls later, of the same module; NULL: none. */
static const struct vt_pass *later(const struct search *search, uint32_t position, uint32_t calls)
{
	if (position + calls >= search->nr_order ||
	    ordered(search, position + calls)->module != ordered(search, position)->module)
		return NULL;
	return ordered(search, position + calls);
}

static uint64_t first_size(const struct search *search, uint32_t position)
{
	uint32_t pass = search->order[position];

	for (uint32_t i = search->first[pass]; i < search->first[pass + 1]; i++)
		if (search->passes->by_allocation[i] == pass &&
		    search->model->allocations[i].kind == VT_KIND_BLOCK)
			return search->model->allocations[i].size_bytes;
	return 0;
}

/* Alive when the module is called again, gone when it is called once more. */
static int is_carried(const struct search *search, uint32_t position, const struct vt_allocation *a)
{
	const struct vt_pass *next = later(search, position, 1);
	const struct vt_pass *after = later(search, position, 2);
	int64_t begin = next ? next->first_event : ordered(search, position)->end_event;

	if (a->kind != VT_KIND_BLOCK || a->freed_event < begin)
		return 0;
	return !after || a->freed_event < after->first_event;
}

static struct carried describe(const struct search *search, const struct vt_allocation *a)
{
	uint32_t ids[VT_FRAMES_MAX], nr;
	const struct vt_chain_link *links = vt_chains_get(search->chains, a->python_stack, &nr);
	struct carried one = { .module = nr ? links[0].address : 0, .size_bytes = a->size_bytes };

	if (vt_frames_python(&search->model->frames, a->python_stack, ids))
		one.frame = ids[0];
	return one;
}

static void gather_carried(const struct search *search, uint32_t position, carried_vector *found)
{
	uint32_t pass = search->order[position];

	found->len = 0;
	for (uint32_t i = search->first[pass]; i < search->first[pass + 1]; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];
		struct carried one;

		if (search->passes->by_allocation[i] != pass || !is_carried(search, position, a))
			continue;
		one = describe(search, a);
		for (size_t k = 0; k < found->len; k++)
			one.occurrence += found->items[k].frame == one.frame &&
					  found->items[k].module == one.module;
		vt_vector_push(found, one);
	}
	if (found->len)
		qsort(found->items, found->len, sizeof(*found->items), compare_carried);
}

/*
 * Bytes by which what was carried grew from one call to the next; negative where something
 * shrank or nothing has its successor.
 */
static int64_t growth_between(const carried_vector *before, const carried_vector *after)
{
	int64_t growth = 0;
	size_t matched = 0;

	for (size_t i = 0, k = 0; i < before->len && k < after->len;) {
		int order = compare_carried(&before->items[i], &after->items[k]);

		if (!order) {
			if (after->items[k].size_bytes < before->items[i].size_bytes)
				return -1;
			growth += (int64_t)(after->items[k].size_bytes -
					    before->items[i].size_bytes);
			matched++;
		}
		i += order <= 0;
		k += order >= 0;
	}
	return matched ? growth : -1;
}

/* The end of the row of calls that begins at `position`; *growth: what it carried grew by. */
static uint32_t find_row(const struct search *search, uint32_t position, int64_t *growth)
{
	carried_vector before = { 0 }, after = { 0 };
	uint64_t size = first_size(search, position);
	uint32_t end = position + 1;

	*growth = 0;
	gather_carried(search, position, &before);
	while (before.len && later(search, end - 1, 1) && !ordered(search, end)->has_autograd &&
	       first_size(search, end) == size) {
		carried_vector swap = before;
		int64_t grown;

		gather_carried(search, end, &after);
		grown = growth_between(&before, &after);
		if (grown < 0)
			break;
		*growth += grown;
		before = after;
		after = swap;
		end++;
	}
	vt_vector_release(&before);
	vt_vector_release(&after);
	return end;
}

/* Whether the call before left something that the row's first call used. */
static int has_prefill(const struct search *search, uint32_t position)
{
	carried_vector left = { 0 };
	int found;
	const struct vt_pass *pass = ordered(search, position);
	const struct vt_pass *before = position ? ordered(search, position - 1) : NULL;

	if (!before || before->module != pass->module || before->has_autograd ||
	    first_size(search, position - 1) <= first_size(search, position))
		return 0;
	gather_carried(search, position - 1, &left);
	found = left.len > 0;
	vt_vector_release(&left);
	return found;
}

/* Whether its place is one of those; prefill may make a cache at another line of the module. */
static int is_growing(const carried_vector *growing, const struct carried *one, int is_prefill)
{
	for (size_t i = 0; i < growing->len; i++)
		if (growing->items[i].module == one->module &&
		    (is_prefill || growing->items[i].frame == one->frame))
			return 1;
	return 0;
}

/* The places whose blocks grew from one call to the next. */
static void add_growing(const carried_vector *before, const carried_vector *after,
			carried_vector *growing)
{
	for (size_t i = 0, k = 0; i < before->len && k < after->len;) {
		int order = compare_carried(&before->items[i], &after->items[k]);

		if (!order && after->items[k].size_bytes > before->items[i].size_bytes &&
		    !is_growing(growing, &after->items[k], 0))
			vt_vector_push(growing, after->items[k]);
		i += order <= 0;
		k += order >= 0;
	}
}

static void mark_carried(struct search *search, uint32_t position, const carried_vector *growing,
			 int is_prefill)
{
	uint32_t pass = search->order[position];

	for (uint32_t i = search->first[pass]; i < search->first[pass + 1]; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];
		struct carried one;

		if (search->passes->by_allocation[i] != pass || !is_carried(search, position, a))
			continue;
		one = describe(search, a);
		search->passes->is_carried[i] = (uint8_t)is_growing(growing, &one, is_prefill);
	}
}

/* What the calls of a loop hand on and replace by something larger: the cache. */
static void find_cache(struct search *search, uint32_t first, uint32_t end)
{
	carried_vector before = { 0 }, after = { 0 }, growing = { 0 };

	for (uint32_t i = first; i + 1 < end; i++) {
		gather_carried(search, i, &before);
		gather_carried(search, i + 1, &after);
		add_growing(&before, &after, &growing);
	}
	for (uint32_t i = first; i < end; i++)
		mark_carried(search, i, &growing, i == first);
	vt_vector_release(&before);
	vt_vector_release(&after);
	vt_vector_release(&growing);
}

static void mark_loop(struct search *search, uint32_t first, uint32_t end)
{
	const struct vt_pass *last = ordered(search, end - 1);
	struct vt_range range = { ordered(search, first)->first_event,
				  last->end_event == VT_NEVER ? search->model->last_event
							      : last->end_event - 1 };

	search->nr_generations++;
	for (uint32_t i = first; i < end; i++) {
		ordered(search, i)->kind = i == first ? VT_PASS_PREFILL : VT_PASS_DECODE;
		ordered(search, i)->generation = search->nr_generations;
	}
	vt_vector_push(&search->loops, range);
	find_cache(search, first, end);
}

static void find_unknown(struct search *search)
{
	uint32_t end;

	for (uint32_t i = 0; i < search->nr_order; i = end) {
		int64_t growth = 0;
		uint32_t least;

		end = i + 1;
		if (ordered(search, i)->has_autograd)
			continue;
		end = find_row(search, i, &growth);
		/* Two alone may be chance, unless a call with a prompt stands before them. */
		least = has_prefill(search, i) ? 2 : 3;
		if (growth > 0 && end - i >= least)
			mark_loop(search, least == 2 ? i - 1 : i, end);
	}
}

static int compare_ranges(const void *a, const void *b)
{
	const struct vt_range *x = a, *y = b;

	return x->first_event < y->first_event ? -1 : x->first_event > y->first_event;
}

/* Numbers in the order of time, without those in which no module was called. */
static void number_generations(struct search *search)
{
	uint32_t *numbers = vt_xcalloc(search->nr_generations + 1, sizeof(*numbers));
	struct vt_passes *passes = search->passes;

	passes->nr_generations = 0;
	for (uint32_t i = 0; i < passes->nr; i++) {
		uint32_t generation = passes->passes[i].generation;

		if (generation && !numbers[generation])
			numbers[generation] = ++passes->nr_generations;
		passes->passes[i].generation = numbers[generation];
	}
	free(numbers);
}

static void find_first_allocations(struct search *search)
{
	const struct vt_passes *passes = search->passes;
	uint32_t next = 0;

	search->first = vt_xcalloc((size_t)passes->nr + 1, sizeof(*search->first));
	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		uint32_t pass = passes->by_allocation[i];

		if (pass != VT_NO_INDEX)
			while (next <= pass)
				search->first[next++] = i;
	}
	while (next <= passes->nr)
		search->first[next++] = search->model->nr_allocations;
}

struct place {
	uint64_t module;
	uint32_t pass;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->pass < y->pass ? -1 : x->pass > y->pass;
}

static void order_by_module(struct search *search)
{
	const struct vt_passes *passes = search->passes;
	struct place *places = vt_xcalloc((size_t)passes->nr + 1, sizeof(*places));

	for (uint32_t i = 0; i < passes->nr; i++)
		if (!passes->passes[i].generation)
			places[search->nr_order++] = (struct place){ passes->passes[i].module, i };
	qsort(places, search->nr_order, sizeof(*places), compare_places);
	search->order = vt_xcalloc((size_t)search->nr_order + 1, sizeof(*search->order));
	for (uint32_t i = 0; i < search->nr_order; i++)
		search->order[i] = places[i].pass;
	free(places);
}

void vt_decoding_find(struct vt_passes *passes, const struct vt_model *model,
		      const struct vt_chains *chains)
{
	struct search search = { .passes = passes,
				 .model = model,
				 .chains = chains,
				 .nr_generations = passes->nr_generations };

	passes->is_carried = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	find_first_allocations(&search);
	find_known(&search);
	order_by_module(&search);
	find_unknown(&search);
	number_generations(&search);
	if (search.loops.len)
		qsort(search.loops.items, search.loops.len, sizeof(*search.loops.items),
		      compare_ranges);
	passes->loops = search.loops.items;
	passes->nr_loops = (uint32_t)search.loops.len;
	free(search.first);
	free(search.order);
}
