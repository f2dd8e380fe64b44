/* SPDX-License-Identifier: MIT */
/*
 * Parameters of modules are among the weights of U2 only in a program that trains modules: with
 * functional transforms the module is a pattern, and what is trained are copies.
 */
#include "analyzer/attribution/inference/functional_updates.h"

#include <string.h>

#include "analyzer/attribution/inference/master_weights.h"
#include "analyzer/attribution/inference/match.h"
#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

/* Backward passes: what a step makes for itself sees the next one at most. */
#define LONG_LIFE 2
/* Classes of nearly one size that are looked at: no program has so many, a damaged file may. */
#define MAX_NEIGHBOURS 64

/* The class of blocks that have something in common, which lie in a segment or at its end. */
struct common_class {
	uint32_t inside, at_end; /* class + 1, 0: none */
};

struct search {
	uint8_t *what; /* facts->functional_updates */
	const struct vt_facts *facts;
	const struct vt_model *model;
	VT_VECTOR(struct vt_gradient_class) classes;
	struct vt_map by_size;
	struct vt_map
		neighbours; /* sizes, to VT_SETTINGS_SMALL_MAX -> first class << 32 | last class */
	VT_VECTOR(uint32_t) next; /* class of like size that was found after this one; 0: none */
	struct common_class *by_common; /* NULL: not all classes are known yet */
	int64_t last_first_event;       /* of all classes: what was made later was before none */
	struct vt_map per_span; /* gradients of a class in a backward pass */
	struct vt_match match;
	int has_trained_modules;
};

static struct vt_key size_key(const struct vt_allocation_common *common)
{
	struct vt_key key = { common->size_bytes, (uint64_t)common->device, 0 };

	return key;
}

/* All classes that differ by at most that are in three such places side by side. */
static struct vt_key neighbours_key(const struct vt_allocation_common *common, int64_t beside)
{
	struct vt_key key = { common->size_bytes / VT_SETTINGS_SMALL_MAX + (uint64_t)beside,
			      (uint64_t)common->device, 0 };

	return key;
}

static int is_like(const struct vt_gradient_class *class, const struct vt_allocation_common *common,
		   int has_rest)
{
	if (class->device != common->device)
		return 0;
	if (has_rest && class->size_bytes < common->size_bytes &&
	    common->size_bytes - class->size_bytes <= VT_SETTINGS_SMALL_MAX)
		return 1;
	return class->has_rest && class->size_bytes > common->size_bytes &&
	       class->size_bytes - common->size_bytes <= VT_SETTINGS_SMALL_MAX;
}

/* The first found of those of nearly its size. */
static struct vt_gradient_class *find_like(const struct search *search,
					   const struct vt_allocation_common *common, int has_rest)
{
	uint32_t found = VT_NO_INDEX;

	for (int beside = -1; beside <= 1; beside++) {
		const uint64_t *ends =
			vt_map_find(&search->neighbours, neighbours_key(common, beside));
		uint32_t i = ends ? (uint32_t)(*ends >> 32) : 0;

		for (unsigned nr = 0; ends && nr < MAX_NEIGHBOURS && i < found; nr++) {
			if (is_like(&search->classes.items[i], common, has_rest))
				found = i;
			i = search->next.items[i];
			if (!i)
				break;
		}
	}
	return found == VT_NO_INDEX ? NULL : &search->classes.items[found];
}

static struct vt_gradient_class *find_class(const struct search *search,
					    const struct vt_allocation_common *common, int has_rest)
{
	const uint64_t *at = vt_map_find(&search->by_size, size_key(common));

	if (at)
		return &search->classes.items[*at];
	return common->size_bytes > VT_SETTINGS_SMALL_MAX ? find_like(search, common, has_rest)
							  : NULL;
}

static void add_class(struct search *search, const struct vt_allocation *a, uint8_t has_rest)
{
	struct vt_gradient_class one = { .size_bytes = a->common->size_bytes,
					 .first_event = a->event,
					 .device = a->common->device,
					 .has_rest = has_rest };
	uint64_t number = search->classes.len, first = number;
	struct vt_key key = neighbours_key(a->common, 0);
	const uint64_t *ends = vt_map_find(&search->neighbours, key);

	if (ends) {
		first = *ends >> 32;
		search->next.items[(uint32_t)*ends] = (uint32_t)number;
	}
	vt_map_put(&search->neighbours, key, first << 32 | number);
	vt_map_put(&search->by_size, size_key(a->common), number);
	vt_vector_push(&search->classes, one);
	vt_vector_push(&search->next, 0);
}

/* Scalars and short vectors of all sorts have the size of the smallest block: they are in none. */
static struct vt_gradient_class *class_of(const struct search *search,
					  const struct vt_allocation *a)
{
	const struct common_class *known;
	uint32_t class;

	if (!vt_allocation_is_owned(a) || a->common->size_bytes <= VT_SETTINGS_BLOCK_ROUNDING)
		return NULL;
	if (!search->by_common)
		return find_class(search, a->common, vt_block_rounding_can_have(search->model, a));
	known = &search->by_common[a->common->number];
	class = known->inside;
	if (class != known->at_end && vt_block_rounding_can_have(search->model, a))
		class = known->at_end;
	return class ? &search->classes.items[class - 1] : NULL;
}

static uint32_t number_class(const struct search *search, const struct vt_allocation_common *common,
			     int has_rest)
{
	const struct vt_gradient_class *class = find_class(search, common, has_rest);

	return class ? (uint32_t)(class - search->classes.items) + 1 : 0;
}

static void remember_class(void *context, const void *value)
{
	struct search *search = context;
	const struct vt_allocation_common *common = value;

	search->by_common[common->number] =
		(struct common_class){ number_class(search, common, 0),
				       number_class(search, common, 1) };
}

static void remember_classes(struct search *search)
{
	search->by_common =
		vt_xcalloc((size_t)search->model->nr_commons + 1, sizeof(*search->by_common));
	vt_model_each_common(search->model, remember_class, search);
	for (size_t i = 0; i < search->classes.len; i++)
		if (search->classes.items[i].first_event > search->last_first_event)
			search->last_first_event = search->classes.items[i].first_event;
}

static int is_accumulation(const struct search *search, uint32_t node_class)
{
	const char *name = vt_model_text(search->model, node_class);

	return name && strstr(name, "AccumulateGrad") != NULL;
}

static int is_gradient(struct search *search, const struct vt_allocation *a)
{
	const struct vt_span *span;

	/* What costs least first: nearly every block is none. */
	if (!vt_allocation_is_owned(a) || a->common->size_bytes <= VT_SETTINGS_BLOCK_ROUNDING)
		return 0;
	if (!a->common->made->node_class && a->common->made->python_stack)
		return 0;
	if (a->common->freed->node_class && !is_accumulation(search, a->common->freed->node_class))
		return 0;
	span = vt_facts_span(search->facts, a);
	/* The engine itself adds up what several nodes made for one tensor. */
	if (!span || (!a->common->made->node_class && span->stage != VT_STAGE_BACKWARD))
		return 0;
	/* Other passes may make gradients of inputs; those that fill .grad tell the sizes. */
	if (search->facts->stages->recorded.is_any_plain &&
	    vt_stages_purposes(search->facts->stages, a))
		return 0;
	if (!(vt_facts_lifetimes(search->facts, a) & 1u << VT_LIFETIME_AFTER_BACKWARD))
		return 0;
	/* What a library keeps from its first call on was made by a node as well. */
	return !vt_match_is_workspace(&search->match, a);
}

static void count_gradient(struct search *search, const struct vt_allocation *a, uint8_t has_rest)
{
	struct vt_key key = { 0, vt_stages_span_at(search->facts->stages, a->event), 0 };
	struct vt_gradient_class *class = class_of(search, a);
	uint64_t *count, nr;

	if (!class) {
		add_class(search, a, has_rest);
		class = &search->classes.items[search->classes.len - 1];
	}
	if (class->first_event > a->event)
		class->first_event = a->event;
	key.a = (uint64_t)(class - search->classes.items);
	count = vt_map_find(&search->per_span, key);
	nr = count ? ++*count : 1;
	if (!count)
		vt_map_put(&search->per_span, key, 1);
	if (class->most < nr)
		class->most = (uint32_t)nr;
}

/* What has no rest tells the sizes: blocks at the end of a segment are looked at afterwards. */
static void count_gradients(struct search *search)
{
	VT_VECTOR(uint32_t) at_end = { 0 };

	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];

		if (!is_gradient(search, a))
			continue;
		if (vt_block_rounding_can_have(search->model, a))
			vt_vector_push(&at_end, i);
		else
			count_gradient(search, a, 0);
	}
	for (size_t i = 0; i < at_end.len; i++)
		count_gradient(search, &search->model->allocations[at_end.items[i]], 1);
	vt_vector_release(&at_end);
}

static void find_trained_modules(struct search *search)
{
	search->has_trained_modules = search->facts->has_optimizer;
	for (uint32_t i = 0; i < search->model->nr_allocations && !search->has_trained_modules;
	     i++) {
		const struct vt_allocation *a = &search->model->allocations[i];

		search->has_trained_modules =
			is_accumulation(search, a->common->made->node_class) ||
			is_accumulation(search, a->common->freed->node_class);
	}
	for (uint32_t i = 0; i < search->model->nr_tensors; i++)
		search->has_trained_modules |=
			search->model->tensors[i].role == VT_ROLE_GRADIENT;
}

static int is_of_module(const struct search *search, const struct vt_allocation *a)
{
	uint32_t nr;

	vt_module_stacks_get(&search->facts->stages->module_stacks, a->common->made->python_stack,
			     &nr);
	return nr || (vt_facts_roles(search->facts, a) & 1u << VT_ROLE_PARAMETER);
}

/* Where those end that may be candidates: allocations are in the order of their events. */
static uint32_t nr_before_gradients(const struct search *search)
{
	const struct vt_allocation *all = search->model->allocations;

	return (uint32_t)vt_search_first(i, search->model->nr_allocations,
					 all[i].event <= search->last_first_event);
}

/* U1 */
static int is_candidate(const struct search *search, const struct vt_allocation *a)
{
	const struct vt_gradient_class *class = class_of(search, a);
	const struct vt_span *span;

	if (!class || a->common->made->node_class || a->event > class->first_event ||
	    a->freed_event < class->first_event)
		return 0;
	span = vt_facts_span(search->facts, a);
	if (!span || span->stage != VT_STAGE_LOAD)
		return 0;
	return search->has_trained_modules || !is_of_module(search, a);
}

static int requires_gradient(const struct search *search, const struct vt_allocation *a)
{
	uint32_t wanted = 1u << VT_FLAG_LEAF | 1u << VT_FLAG_REQUIRES_GRAD;

	return (vt_facts_flags(search->facts, a) & wanted) == wanted;
}

static int is_made_as_zeros(const struct search *search, const struct vt_allocation *a)
{
	return vt_parameter_containers_is_zeros(&search->facts->containers,
						a->common->made->native_stack);
}

/* U2, one of the three kinds of candidates after the other, each in the order of making. */
static void find_weights(struct search *search, int turn)
{
	uint32_t nr = nr_before_gradients(search);

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];
		struct vt_gradient_class *class;

		if (search->what[i] || !is_candidate(search, a))
			continue;
		if (turn == 0 && !requires_gradient(search, a))
			continue;
		if (turn == 1 && is_made_as_zeros(search, a))
			continue;
		class = class_of(search, a);
		if (class->nr_weights >= (turn == 2 ? 1 : turn == 1 ? class->most : UINT32_MAX))
			continue;
		class->nr_weights++;
		search->what[i] = VT_UPDATE_WEIGHT + 1;
	}
}

/* U3 */
static void find_states(struct search *search)
{
	uint32_t nr = nr_before_gradients(search);

	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];

		if (!search->what[i] && is_candidate(search, a) &&
		    is_made_as_zeros(search, a))
			search->what[i] = VT_UPDATE_STATE + 1;
	}
}

/* How many backward passes made gradients of its size while it lived. */
static unsigned count_passes(struct search *search, const struct vt_allocation *a)
{
	uint32_t last = VT_NO_INDEX;
	unsigned nr = 0;

	for (uint32_t i = (uint32_t)(a - search->model->allocations);
	     i < search->model->nr_allocations && nr < LONG_LIFE; i++) {
		const struct vt_allocation *g = &search->model->allocations[i];
		uint32_t span;

		if (g->event > a->freed_event)
			break;
		if (!g->common->made->node_class || class_of(search, g) != class_of(search, a) ||
		    !is_gradient(search, g))
			continue;
		span = vt_stages_span_at(search->facts->stages, g->event);
		nr += span != last;
		last = span;
	}
	return nr;
}

/* U4 */
static void find_late_states(struct search *search)
{
	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];
		const struct vt_gradient_class *class = class_of(search, a);

		if (search->what[i] || !class || a->common->made->node_class ||
		    !a->common->made->python_stack || a->event < class->first_event ||
		    a->common->freed->node_class || is_of_module(search, a) ||
		    !is_made_as_zeros(search, a))
			continue;
		if (count_passes(search, a) >= LONG_LIFE)
			search->what[i] = VT_UPDATE_STATE + 1;
	}
}

/* Of what was made outside of modules, what a variable held it in; NULL: unknown. */
static const struct vt_tensor *variable_of(const struct search *search, uint32_t allocation)
{
	const struct vt_allocation *a = &search->model->allocations[allocation];

	if (a->common->made->node_class || !class_of(search, a))
		return NULL;
	return vt_names_find(&search->facts->names, allocation, 1u << VT_ROLE_VARIABLE);
}

static struct vt_key name_key(const struct vt_tensor *row)
{
	struct vt_key key = { row->name, row->holder, row->shape };

	return key;
}

static struct vt_key place_key(const struct vt_allocation *a)
{
	struct vt_key key = { (uint64_t)a->common->made->python_stack << 32 |
				      a->common->made->native_stack,
			      a->common->size_bytes, 1 };

	return key;
}

/* What a step made only for itself is gone before the next gradients. */
static int is_kept(struct search *search, const struct vt_allocation *a)
{
	return a->freed_event > search->facts->last_made_event || count_passes(search, a) > 0;
}

/* Whether it can be said of by its place, or by its name; *key is of which. */
static int has_key(const struct search *search, uint32_t allocation, int is_by_place,
		   struct vt_key *key)
{
	const struct vt_allocation *a = &search->model->allocations[allocation];
	const struct vt_tensor *row;

	if (a->common->made->node_class || !class_of(search, a))
		return 0;
	if (is_by_place) {
		*key = place_key(a);
		return a->common->made->python_stack != 0;
	}
	row = variable_of(search, allocation);
	if (row)
		*key = name_key(row);
	return row != NULL;
}

/* U5: what was said of one goes to those that have the same key. */
static void spread(struct search *search, int is_by_place)
{
	uint8_t *what = search->what;
	struct vt_map known = { 0 };
	struct vt_key key;

	for (uint32_t i = 0; i < search->model->nr_allocations; i++)
		if (what[i] && has_key(search, i, is_by_place, &key) && !vt_map_find(&known, key))
			vt_map_put(&known, key, what[i]);
	for (uint32_t i = 0; known.len && i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];
		const uint64_t *found = NULL;

		if (!what[i] && has_key(search, i, is_by_place, &key))
			found = vt_map_find(&known, key);
		if (found && (!is_by_place || (!variable_of(search, i) && is_kept(search, a))))
			what[i] = (uint8_t)*found;
	}
	vt_map_release(&known);
}

/* Those at which a block of the search's sizes is made or freed: indices of the timeline's. */
typedef VT_VECTOR(uint32_t) moment_vector;

static const struct vt_moment *moment_of(const struct search *search, uint32_t index)
{
	return &search->facts->stages->timeline->moments[index];
}

static void gather_moments(const struct search *search, moment_vector *all)
{
	const struct vt_timeline *timeline = search->facts->stages->timeline;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *m = moment_of(search, i);
		int is_free = m->what == VT_MOMENT_FREE;

		if (m->what != VT_MOMENT_ALLOC && !is_free)
			continue;
		if (class_of(search, &search->model->allocations[m->index]) &&
		    (!is_free ||
		     vt_moment_event(search->model, m) <= search->facts->last_working_event))
			vt_vector_push(all, i);
	}
}

/* What took the place of a block that was let go: the last of its size that the program made. */
static uint32_t find_successor(struct search *search, const moment_vector *all, size_t at)
{
	const struct vt_allocation *old =
		&search->model->allocations[moment_of(search, all->items[at])->index];

	while (at-- > 0) {
		const struct vt_moment *m = moment_of(search, all->items[at]);
		const struct vt_allocation *a = &search->model->allocations[m->index];

		if (m->what == VT_MOMENT_FREE || class_of(search, a) != class_of(search, old))
			continue;
		/* Behind the gradients an update made nothing yet. */
		if (a == old || is_gradient(search, a))
			break;
		if (!a->common->made->node_class &&
		    a->freed_event > vt_moment_event(search->model, m) &&
		    vt_allocation_is_live(a, old->freed_event) && !search->what[m->index] &&
		    !is_of_module(search, a))
			return m->index;
	}
	return VT_NO_INDEX;
}

/* Whether the program let go what may have been replaced. */
static int is_let_go(const struct search *search, uint32_t allocation)
{
	const struct vt_allocation *a = &search->model->allocations[allocation];
	const struct vt_gradient_class *class = class_of(search, a);

	return class && search->what[allocation] && a->common->freed->python_stack &&
	       a->freed_event > class->first_event;
}

/* Most programs update what they train where it is, and no list of all moments is worth while. */
static int is_any_let_go(const struct search *search)
{
	for (uint32_t i = 0; i < search->model->nr_allocations; i++)
		if (is_let_go(search, i))
			return 1;
	return 0;
}

/* U6 */
static void find_successors(struct search *search)
{
	uint8_t *what = search->what;
	moment_vector all = { 0 };

	if (is_any_let_go(search))
		gather_moments(search, &all);
	for (size_t i = 0; i < all.len; i++) {
		const struct vt_moment *m = moment_of(search, all.items[i]);
		uint32_t next;

		if (m->what != VT_MOMENT_FREE || !is_let_go(search, m->index))
			continue;
		next = find_successor(search, &all, i);
		if (next != VT_NO_INDEX)
			what[next] = what[m->index];
	}
	vt_vector_release(&all);
}

static void mark_rest(struct search *search)
{
	for (uint32_t i = 0; i < search->model->nr_allocations; i++) {
		const struct vt_allocation *a = &search->model->allocations[i];

		if (!search->what[i] && class_of(search, a))
			search->what[i] = VT_UPDATE_SIZED + 1;
	}
}

void vt_functional_updates_find(struct vt_facts *facts)
{
	struct search search = { .facts = facts, .model = facts->model };

	vt_match_init(&search.match, facts);
	facts->functional_updates = vt_xzeros((size_t)facts->model->nr_allocations + 1, 1);
	search.what = facts->functional_updates;
	count_gradients(&search);
	remember_classes(&search);
	find_trained_modules(&search);
	for (int turn = 0; turn < 3; turn++)
		find_weights(&search, turn);
	/* PyTorch's optimizers keep their state themselves. */
	if (!facts->has_optimizer) {
		find_states(&search);
		find_late_states(&search);
	}
	spread(&search, 0);
	spread(&search, 1);
	find_successors(&search);
	vt_master_weights_find(facts, search.classes.items, (uint32_t)search.classes.len);
	mark_rest(&search);
	vt_match_release(&search.match);
	vt_vector_release(&search.classes);
	vt_map_release(&search.by_size);
	vt_map_release(&search.neighbours);
	vt_vector_release(&search.next);
	free(search.by_common);
	vt_map_release(&search.per_span);
}
