/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/decoding.h"

#include <string.h>

#include "analyzer/attribution/calls/operators.h"
#include "analyzer/attribution/timeline/carried_tensors.h"
#include "analyzer/attribution/timeline/append_caches.h"
#include "analyzer/attribution/timeline/growing_places.h"
#include "analyzer/attribution/timeline/static_caches.h"
#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* A prompt and two tokens: fewer may be chance. */
#define LEAST_STATIC_CALLS 3

struct search {
	struct vt_passes *passes;
	const struct vt_model *model;
	struct vt_carried_tensors carried;
	struct vt_operators operators;
	const struct vt_rules *rules;
	uint32_t nr_generations;
	uint32_t next_append_cache; /* rows before it were looked through */
	VT_VECTOR(struct vt_range) loops;
};

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
	return &search->passes->passes[search->carried.order[position]];
}

/* The end of the row of calls that begins at `position`, and what their places did. */
static uint32_t find_row(const struct search *search, uint32_t position,
			 struct vt_growing_places *places)
{
	const struct vt_carried_tensors *carried = &search->carried;
	vt_carried_vector handed = { 0 };
	uint64_t size = vt_carried_tensors_first_size(carried, position);
	uint32_t end = position + 1;

	places->len = 0;
	vt_carried_tensors_gather(carried, position, &handed);
	vt_growing_places_follow(places, position, &handed);
	while (handed.len && vt_carried_tensors_later(carried, end - 1, 1) &&
	       !ordered(search, end)->has_autograd &&
	       vt_carried_tensors_first_size(carried, end) == size) {
		struct vt_growing_places before = { 0 };

		for (size_t i = 0; i < places->len; i++)
			vt_vector_push(&before, places->items[i]);
		vt_carried_tensors_gather(carried, end, &handed);
		vt_growing_places_follow(places, end, &handed);
		if (!vt_growing_places_go_on(places, end)) {
			vt_vector_release(places);
			*places = before;
			/* A call that the program died in hands over whatever was there. */
			end += ordered(search, end)->end_event == VT_NEVER &&
			       !vt_carried_tensors_later(carried, end, 1);
			break;
		}
		vt_vector_release(&before);
		end++;
	}
	vt_vector_release(&handed);
	return end;
}

/* Whether the call before was of a longer input. */
static int has_prompt(const struct search *search, uint32_t position)
{
	const struct vt_carried_tensors *carried = &search->carried;

	return position &&
	       vt_carried_tensors_later(carried, position - 1, 1) == ordered(search, position) &&
	       !ordered(search, position - 1)->has_autograd &&
	       vt_carried_tensors_first_size(carried, position - 1) >
		       vt_carried_tensors_first_size(carried, position);
}

/* Whether that call left something that the row's first call used. */
static int has_prefill(const struct search *search, uint32_t position)
{
	vt_carried_vector left = { 0 };
	int found;

	if (!has_prompt(search, position))
		return 0;
	vt_carried_tensors_gather(&search->carried, position - 1, &left);
	found = left.len > 0;
	vt_vector_release(&left);
	return found;
}

/*
 * Whether a call reads what the row before it left and leaves nothing at places that grow: the last
 * token's, whose cache went with the function that had the loop.
 */
static int is_last_token(const struct search *search, uint32_t position,
			 const struct vt_growing_places *places)
{
	const struct vt_carried_tensors *carried = &search->carried;
	vt_carried_vector handed = { 0 };
	int found = vt_carried_tensors_later(carried, position - 1, 1) != NULL &&
		    !ordered(search, position)->has_autograd &&
		    vt_carried_tensors_first_size(carried, position) ==
			    vt_carried_tensors_first_size(carried, position - 1);

	if (found)
		vt_carried_tensors_gather(carried, position, &handed);
	for (size_t i = 0; i < handed.len; i++)
		found &= !vt_growing_places_has(places, &handed.items[i], 0);
	vt_vector_release(&handed);
	return found;
}

static int has_module(const vt_carried_vector *known, uint64_t module)
{
	for (size_t i = 0; i < known->len; i++)
		if (known->items[i].module == module)
			return 1;
	return 0;
}

static void keep_cache(vt_carried_vector *handed, const struct vt_growing_places *places,
		       uint32_t position, const vt_carried_vector *known)
{
	size_t kept = 0;

	for (size_t i = 0; i < handed->len; i++)
		if (known ? has_module(known, handed->items[i].module)
			  : vt_growing_places_has(places, &handed->items[i], position))
			handed->items[kept++] = handed->items[i];
	handed->len = kept;
}

static void mark(struct search *search, const vt_carried_vector *handed)
{
	for (size_t i = 0; i < handed->len; i++)
		search->passes->is_carried[handed->items[i].allocation] = 1;
}

/*
 * What the calls of a row hand over at places that grow, and what the program made of it between
 * them: the cache.  The first call may make it at another line of the same module.
 */
static void mark_cache(struct search *search, uint32_t first, uint32_t end,
		       const struct vt_growing_places *places)
{
	vt_carried_vector handed = { 0 }, later = { 0 }, copies = { 0 };

	for (uint32_t i = end; i-- > first;) {
		vt_carried_tensors_gather(&search->carried, i, &handed);
		keep_cache(&handed, places, i, i == first ? &later : NULL);
		mark(search, &handed);
		vt_carried_tensors_copies(&search->carried, i, &handed, &copies);
		mark(search, &copies);
		if (i == first + 1)
			for (size_t k = 0; k < handed.len; k++)
				vt_vector_push(&later, handed.items[k]);
	}
	vt_vector_release(&handed);
	vt_vector_release(&later);
	vt_vector_release(&copies);
}

/* What the last call made at the places of the cache, gone with the loop or kept by the caller. */
static void mark_last(struct search *search, uint32_t position,
		      const struct vt_growing_places *places)
{
	vt_carried_vector returned = { 0 };

	vt_carried_tensors_returned(&search->carried, position, &returned);
	keep_cache(&returned, places, position, NULL);
	mark(search, &returned);
	vt_vector_release(&returned);
}

/* The first allocation behind an event. */
static uint32_t first_behind(const struct vt_model *model, int64_t event)
{
	return (uint32_t)vt_search_first(i, model->nr_allocations,
					 model->allocations[i].event <= event);
}

/* Where the loop of a row stood when it made something beside its model: a head, a sampler. */
static void find_beside(const struct search *search, uint32_t first, uint32_t end,
			struct vt_map *stacks)
{
	const struct vt_model *model = search->model;

	for (uint32_t i = first; i + 1 < end; i++) {
		int64_t next = ordered(search, i + 1)->first_event;

		for (uint32_t k = first_behind(model, ordered(search, i)->end_event - 1);
		     k < model->nr_allocations && model->allocations[k].event < next; k++) {
			struct vt_key key = { model->allocations[k].common->made->python_stack, 0,
					      0 };

			if (key.a)
				vt_map_put(stacks, key, 1);
		}
	}
}

/* The last token has its turn of what the loop does beside its model. */
static int64_t find_last_event(const struct search *search, uint32_t first, uint32_t end)
{
	const struct vt_model *model = search->model;
	int64_t last = ordered(search, end - 1)->end_event;
	struct vt_map stacks = { 0 };

	if (last == VT_NEVER)
		return model->last_event;
	last--;
	find_beside(search, first, end, &stacks);
	for (uint32_t k = first_behind(model, last); k < model->nr_allocations; k++) {
		struct vt_key key = { model->allocations[k].common->made->python_stack, 0, 0 };

		if (!vt_map_find(&stacks, key))
			break;
		last = model->allocations[k].event;
	}
	vt_map_release(&stacks);
	return last;
}

static void mark_loop(struct search *search, uint32_t first, uint32_t end)
{
	struct vt_range range = { ordered(search, first)->first_event,
				  find_last_event(search, first, end) };

	vt_vector_push(&search->loops, range);
	search->nr_generations++;
	for (uint32_t i = first; i < end; i++) {
		ordered(search, i)->kind = i == first ? VT_PASS_PREFILL : VT_PASS_DECODE;
		ordered(search, i)->generation = search->nr_generations;
	}
}

/*
 * Marks a row of calls that add to a cache and replace nothing (append_caches.h).  Returns its
 * end, or position + 1 where there is none.
 */
static uint32_t find_append_cache(struct search *search, uint32_t position)
{
	int is_after_prompt = has_prompt(search, position);
	uint32_t first = is_after_prompt ? position - 1 : position, end;
	vt_carried_vector kept = { 0 };

	if (position < search->next_append_cache)
		return position + 1;
	end = vt_append_caches_find_row(&search->carried, position, is_after_prompt, &kept);
	search->next_append_cache = end;
	mark(search, &kept);
	if (kept.len && !ordered(search, position)->generation)
		mark_loop(search, first, end);
	end = kept.len ? end : position + 1;
	vt_vector_release(&kept);
	return end;
}

static void find_unknown(struct search *search)
{
	struct vt_growing_places places = { 0 };
	uint32_t end;

	for (uint32_t i = 0; i < search->carried.nr; i = end) {
		uint32_t least, first;

		end = i + 1;
		if (ordered(search, i)->has_autograd || ordered(search, i)->generation)
			continue;
		end = find_row(search, i, &places);
		/* Two alone may be chance, unless a call with a prompt stands before them. */
		least = has_prefill(search, i) ? 2 : 3;
		if (!vt_growing_places_has_any(&places) || end - i < least) {
			uint32_t other = find_append_cache(search, i);

			end = other > end ? other : end;
			continue;
		}
		first = least == 2 ? i - 1 : i;
		mark_cache(search, first, end, &places);
		if (is_last_token(search, end, &places))
			mark_last(search, end++, &places);
		mark_loop(search, first, end);
	}
	vt_vector_release(&places);
}

/* Loops of modules whose caches have a fixed size (static_caches.h), and these. */
static void find_static(struct search *search)
{
	struct vt_static_caches caches;
	uint32_t end, nr = 0;

	vt_static_caches_init(&caches, search->model, search->passes);
	for (uint32_t i = 0; caches.modules.len && i < search->carried.nr; i = end) {
		end = i + 1;
		if (ordered(search, i)->has_autograd || ordered(search, i)->generation ||
		    !vt_static_caches_has(&caches, ordered(search, i)->module))
			continue;
		end = vt_static_caches_find_row(&search->carried, i);
		if (end - i < LEAST_STATIC_CALLS)
			continue;
		mark_loop(search, i, end);
		nr++;
	}
	for (uint32_t i = 0; nr && i < search->model->nr_allocations; i++)
		if (vt_static_caches_is_block(&caches, &search->model->allocations[i]))
			search->passes->is_carried[i] = 1;
	vt_static_caches_release(&caches);
}

/*
 * What layers end with: a norm, a sum.  These append nothing; their results grow where the model
 * reads the whole sequence again.
 */
static int ends_layer(const struct search *search, const struct vt_carried_tensor *one)
{
	const struct vt_allocation *a = &search->model->allocations[one->allocation];
	const char *op = vt_operators_name(&search->operators, a->common->made->native_stack);

	for (uint32_t k = 0; op && k < search->rules->nr_kinds; k++) {
		const struct vt_kind_rule *kind = &search->rules->kinds[k];

		if ((!strcmp(kind->name, "norm") || !strcmp(kind->name, "residual")) &&
		    vt_globs_match(&kind->op, op))
			return 1;
	}
	return 0;
}

static void leave_out_results(const struct search *search, vt_carried_vector *handed)
{
	size_t kept = 0;

	for (size_t i = 0; i < handed->len; i++)
		if (!ends_layer(search, &handed->items[i]))
			handed->items[kept++] = handed->items[i];
	handed->len = kept;
}

/* The caches of loops that a frame shows, of modules that do not show them by a frame. */
static void find_known_caches(struct search *search)
{
	const struct vt_carried_tensors *carried = &search->carried;
	vt_carried_vector handed = { 0 };
	struct vt_growing_places places = { 0 };
	uint32_t end;

	for (uint32_t i = 0; i < carried->nr; i = end) {
		for (end = i + 1; vt_carried_tensors_later(carried, end - 1, 1);)
			end++;
		if (!ordered(search, i)->generation || end - i < 3)
			continue;
		find_append_cache(search, i + 1);
		places.len = 0;
		/* What grows behind the prompt's call only may do so with the number of rows. */
		for (uint32_t k = i + 1; k < end; k++) {
			vt_carried_tensors_gather(carried, k, &handed);
			leave_out_results(search, &handed);
			vt_growing_places_follow(&places, k, &handed);
		}
		if (vt_growing_places_has_any(&places))
			mark_cache(search, i, end, &places);
	}
	vt_vector_release(&handed);
	vt_vector_release(&places);
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

void vt_decoding_find(struct vt_passes *passes, const struct vt_model *model,
		      const struct vt_module_stacks *module_stacks, const struct vt_rules *rules)
{
	struct search search = { .passes = passes,
				 .model = model,
				 .rules = rules,
				 .nr_generations = passes->nr_generations };

	passes->is_carried = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	vt_carried_tensors_init(&search.carried, passes, model, module_stacks);
	vt_operators_init(&search.operators, model, rules);
	find_known(&search);
	find_known_caches(&search);
	search.next_append_cache = 0;
	find_unknown(&search);
	find_static(&search);
	number_generations(&search);
	vt_vector_sort(&search.loops, compare_ranges);
	passes->loops = search.loops.items;
	passes->nr_loops = (uint32_t)search.loops.len;
	vt_operators_release(&search.operators);
	vt_carried_tensors_release(&search.carried);
}
