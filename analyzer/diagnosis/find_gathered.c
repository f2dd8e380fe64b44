/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_gathered.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/units.h"

/* Fewer may be one result of each of a few models. */
#define LEAST_BLOCKS 4
/* A block made behind the last of them with this part of their bytes may be all of them as one. */
#define COPY_SHARE 0.5

/* What one place made, a block for each pass, without a backward pass between two of them. */
struct pile {
	uint32_t *items;
	size_t len;
	size_t capacity;
	uint64_t bytes;
	int64_t first_freed_event;
	int64_t last_freed_event;
	uint32_t backward; /* how many spans of it began before */
	uint32_t pass;	   /* the first that began behind the last block */
};

VT_VECTOR_DECLARE(pile_list, struct pile);

struct gathering {
	struct vt_finding_context *context;
	struct vt_map open; /* by place: index into `piles` */
	struct pile_list piles;
	uint32_t *backward; /* by span: how many of that stage begin before it */
	uint32_t nr_backward;
};

static uint32_t count_backward(const struct gathering *g, int64_t event)
{
	const struct vt_stages *stages = g->context->facts->stages;
	uint32_t span = vt_stages_span_at(stages, event);

	return span == VT_NO_INDEX ? 0 : g->backward[span];
}

static void number_spans(struct gathering *g)
{
	const struct vt_stages *stages = g->context->facts->stages;

	g->backward = vt_xcalloc((size_t)stages->nr_spans + 1, sizeof(*g->backward));
	for (uint32_t s = 0; s < stages->nr_spans; s++) {
		g->nr_backward += stages->spans[s].stage == VT_STAGE_BACKWARD;
		g->backward[s] = g->nr_backward;
	}
}

static int is_result(const struct vt_finding_context *context, uint32_t i)
{
	return vt_finding_context_has(context, i,
				      VT_OWNERS_ACTIVATIONS | VT_OWNERS_LOGITS | VT_OWNERS_USER |
					      VT_OWNERS_UNKNOWN);
}

static void add_to_pile(struct gathering *g, uint32_t i)
{
	const struct vt_allocation *a = &g->context->model->allocations[i];
	const struct vt_passes *passes = &g->context->facts->stages->passes;
	const struct vt_key key = { a->common->made->python_stack, a->common->made->native_stack,
				    0 };
	const uint64_t *known = vt_map_find(&g->open, key);
	uint32_t backward = count_backward(g, a->event);
	uint32_t pass = (uint32_t)vt_search_first(p, passes->nr,
						  passes->passes[p].first_event <= a->event);
	struct pile *pile = known ? &g->piles.items[*known] : NULL;

	/* A second block of one pass is none of a row of results. */
	if (pile && pile->pass == pass)
		return;
	if (!pile || pile->backward != backward || pile->first_freed_event < a->event) {
		vt_map_put(&g->open, key, g->piles.len);
		vt_vector_push(&g->piles, ((struct pile){ .backward = backward,
							  .first_freed_event = VT_NEVER }));
		pile = &g->piles.items[g->piles.len - 1];
	}
	vt_vector_push(pile, i);
	pile->pass = pass;
	pile->bytes += a->common->size_bytes;
	if (a->freed_event < pile->first_freed_event)
		pile->first_freed_event = a->freed_event;
	if (a->freed_event > pile->last_freed_event)
		pile->last_freed_event = a->freed_event;
}

static int may_be_copy(const struct vt_allocation *a, const struct pile *pile)
{
	return (double)a->common->size_bytes >= COPY_SHARE * (double)pile->bytes;
}

/*
 * What training reads later, as it is or as one block, was gathered on purpose: experience that a
 * policy learns from, for instance.
 */
static int is_for_training(const struct gathering *g, const struct pile *pile)
{
	const struct vt_model *model = g->context->model;
	uint32_t last = pile->items[pile->len - 1];
	int64_t backward =
		vt_stages_next_backward(g->context->facts->stages, model->allocations[last].event);

	if (backward == VT_NEVER)
		return 0;
	if (pile->last_freed_event > backward)
		return 1;
	for (uint32_t i = last + 1; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->event > pile->last_freed_event)
			break;
		if (a->common->device == g->context->device && vt_allocation_is_owned(a) &&
		    may_be_copy(a, pile) && a->freed_event > backward)
			return 1;
	}
	return 0;
}

/* Made outside a model, or by an operator that puts tensors together. */
static int may_join(const struct vt_finding_context *context, uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];
	const char *name = vt_operators_name(&context->attribution->facts->operators,
					     a->common->made->native_stack);

	return !vt_finding_context_is_owner(context, i, VT_OWNERS_ACTIVATIONS) ||
	       (name && !context->unused_graph[i] &&
		(strcmp(name, "cat") == 0 || strcmp(name, "stack") == 0));
}

/* Each until the next comes, in the program's variable; of all as one block nothing is left. */
static void relieve(const struct gathering *g, const struct pile *pile, struct vt_savings *savings)
{
	const struct vt_model *model = g->context->model;

	for (size_t k = 0; k + 1 < pile->len; k++) {
		const struct vt_allocation *a = &model->allocations[pile->items[k]];

		vt_savings_add_between(savings, a, a->common->size_bytes,
				       model->allocations[pile->items[k + 1]].event + 1, VT_NEVER);
	}
	for (uint32_t i = pile->items[pile->len - 1] + 1; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->event > pile->last_freed_event)
			break;
		if (a->common->device == g->context->device && vt_allocation_is_owned(a) &&
		    !a->common->made->node_class && may_be_copy(a, pile) && may_join(g->context, i))
			vt_savings_add(savings, a, a->common->size_bytes);
	}
}

static void add_finding(struct gathering *g)
{
	struct vt_savings savings = { 0 };
	const struct pile *largest = NULL;
	char all[VT_UNITS_MAX];

	for (size_t p = 0; p < g->piles.len; p++) {
		const struct pile *pile = &g->piles.items[p];

		if (pile->len < LEAST_BLOCKS || is_for_training(g, pile))
			continue;
		largest = largest && largest->bytes >= pile->bytes ? largest : pile;
		relieve(g, pile, &savings);
	}
	if (!largest)
		return;
	vt_units_bytes(all, sizeof(all), largest->bytes);
	vt_finding_context_add(g->context, VT_FINDING_PREDICTIONS_GATHERED, &savings,
			       largest->items[0],
			       vt_xasprintf("%s in %zu blocks", all, largest->len));
}

/* Without training vtrace leaks sees the same as growth from call to call. */
void vt_find_gathered_detect(struct vt_finding_context *context)
{
	struct gathering g = { .context = context };

	if (!context->is_training || context->model->nr_ooms)
		return;
	number_spans(&g);
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];

		if (!context->unused_graph[i] && is_result(context, i) &&
		    a->common->made->python_stack && !a->common->made->node_class)
			add_to_pile(&g, i);
	}
	add_finding(&g);
	for (size_t p = 0; p < g.piles.len; p++)
		vt_vector_release(&g.piles.items[p]);
	vt_vector_release(&g.piles);
	vt_map_release(&g.open);
	free(g.backward);
}
