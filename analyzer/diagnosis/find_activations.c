/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_activations.h"

#include <string.h>

#include "analyzer/attribution/keepers.h"
#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/units.h"
#include "analyzer/diagnosis/attention_scores.h"

/* Where less of the highest use is activations, running a forward twice is no good bargain. */
#define ACTIVATIONS_SHARE 0.25

/* What one layer keeps in one forward span. */
struct layer {
	char *path;
	uint32_t span;
	int64_t made_event;     /* the last of its blocks */
	int64_t backward_event; /* the first of them to go */
	uint32_t input;         /* the one that a checkpoint keeps */
	uint32_t nr;
};

VT_VECTOR_DECLARE(layers, struct layer);

/* A block and the layer that it belongs to. */
struct kept {
	uint32_t allocation;
	uint32_t layer;
};

VT_VECTOR_DECLARE(kept_blocks, struct kept);

/* How many numbered children of each path made activations, by path. */
struct containers {
	struct vt_map children; /* numbered paths that were counted */
	struct vt_map counts;	/* of the path before the number */
};

/* The next part of a path that is a number, from `part` on; NULL: there is none. */
static char *next_number(char *part)
{
	while (part && *part) {
		size_t len = strcspn(part, ".");

		if (len && strspn(part, "0123456789") == len)
			return part;
		part += len + (part[len] == '.');
	}
	return NULL;
}

static void count_children(struct containers *containers, char *path)
{
	for (char *part = next_number(path); part;) {
		size_t len = strspn(part, "0123456789");
		struct vt_key child = vt_map_text_key(path, (size_t)(part - path) + len);
		struct vt_key parent = vt_map_text_key(path, (size_t)(part - path));
		const uint64_t *count = vt_map_find(&containers->counts, parent);

		if (!vt_map_find(&containers->children, child)) {
			vt_map_put(&containers->counts, parent, count ? *count + 1 : 1);
			vt_map_put(&containers->children, child, 1);
		}
		part = part[len] ? next_number(part + len + 1) : NULL;
	}
}

/*
 * "model.layers.3" of "model.layers.3.mlp.up_proj", "0.model.encoder.layer.3" of what lies in it:
 * of several numbers the one that counts the most; of "3.0" in Sequentials the first.  NULL: no
 * number in it.  The caller frees.
 */
static char *layer_of(const struct vt_finding_context *context, const struct containers *containers,
		      const struct vt_allocation *a)
{
	char *path = vt_module_path_module(context->facts, a), *end = NULL;
	uint64_t most = 0;

	for (char *part = next_number(path); part;) {
		size_t len = strspn(part, "0123456789");
		const uint64_t *count = vt_map_find(&containers->counts,
						    vt_map_text_key(path, (size_t)(part - path)));

		if (count && *count > most) {
			most = *count;
			end = part + len;
		}
		part = part[len] ? next_number(part + len + 1) : NULL;
	}
	if (!end) {
		free(path);
		return NULL;
	}
	*end = 0;
	return path;
}

static uint32_t find_layer(struct layers *layers, char *path, uint32_t span)
{
	/* Blocks come in their order, so those of one span stand together. */
	for (size_t i = layers->len; i-- > 0 && layers->items[i].span == span;)
		if (!strcmp(layers->items[i].path, path)) {
			free(path);
			return (uint32_t)i;
		}
	vt_vector_push(layers, ((struct layer){ .path = path,
						.span = span,
						.backward_event = VT_NEVER,
						.input = VT_NO_INDEX }));
	return (uint32_t)layers->len - 1;
}

/* The residual stream is the input of the next layer; else what was made last stands for it. */
static int is_better_input(const struct vt_finding_context *context, uint32_t i, uint32_t than)
{
	return than == VT_NO_INDEX ||
	       vt_finding_context_is_owner(context, i, "activations/residual") >=
		       vt_finding_context_is_owner(context, than, "activations/residual");
}

static int is_for_backward(const struct vt_stages *stages, const struct vt_allocation *a)
{
	uint32_t freed = a->freed_event == VT_NEVER
				 ? VT_NO_INDEX
				 : vt_stages_span_at(stages, a->freed_event);

	return freed != VT_NO_INDEX && stages->spans[freed].stage == VT_STAGE_BACKWARD;
}

/* A request failed while the block waited for the backward pass of its own step. */
static int is_cut_off(const struct vt_finding_context *context, const struct vt_allocation *a,
		      uint32_t span)
{
	const struct vt_stages *stages = context->facts->stages;

	for (uint32_t i = 0; i < context->model->nr_ooms; i++) {
		int64_t event = context->model->ooms[i].event;
		uint32_t failed = vt_stages_span_at(stages, event);

		if (failed != VT_NO_INDEX && vt_allocation_is_live(a, event) &&
		    stages->spans[failed].step &&
		    stages->spans[failed].step == stages->spans[span].step)
			return 1;
	}
	return 0;
}

static void note_block(struct vt_finding_context *context, const struct containers *containers,
		       struct layers *layers, struct kept_blocks *kept, uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];
	const struct vt_stages *stages = context->facts->stages;
	uint32_t span = vt_stages_span_at(stages, a->event), number;
	struct layer *layer;
	char *path;

	if (span == VT_NO_INDEX || stages->spans[span].stage != VT_STAGE_FORWARD ||
	    !(is_for_backward(stages, a) || is_cut_off(context, a, span)))
		return;
	path = layer_of(context, containers, a);
	if (!path)
		return;
	number = find_layer(layers, path, span);
	layer = &layers->items[number];
	layer->nr++;
	layer->made_event = a->event;
	if (a->freed_event < layer->backward_event)
		layer->backward_event = a->freed_event;
	if (is_better_input(context, i, layer->input))
		layer->input = i;
	vt_vector_push(kept, ((struct kept){ i, number }));
}

static int has_checkpoints(const struct vt_finding_context *context)
{
	if (context->facts->recomputes.nr)
		return 1;
	for (uint32_t k = 0; k < context->nr_live; k++)
		if (vt_finding_context_is_owner(context, context->live[k],
						"activations/checkpoint"))
			return 1;
	return 0;
}

static uint64_t live_bytes(const struct vt_finding_context *context, const char *owner)
{
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < context->nr_live; k++)
		if (vt_finding_context_is_owner(context, context->live[k], owner))
			bytes += context->model->allocations[context->live[k]].size_bytes;
	return bytes;
}

/* Several layers in the span of the first of them. */
static uint32_t count_layers(const struct layers *layers)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < layers->len; i++)
		nr += layers->items[i].span == layers->items[0].span;
	return nr;
}

/* The class of the module at a path; NULL: no probe saw it. */
static const char *class_of(const struct vt_finding_context *context, const char *path)
{
	const struct vt_model *model = context->model;
	size_t len = strlen(path);

	for (uint32_t m = 0; m < model->nr_modules; m++) {
		const char *name = vt_model_text(model, model->modules[m].name);
		size_t name_len = name ? strlen(name) : 0;

		/* The variable may be before it, where several trees have such a name. */
		if (name && name_len <= len && !strcmp(path + len - name_len, name) &&
		    (name_len == len || path[len - name_len - 1] == '.'))
			return vt_model_text(model, model->modules[m].class_name);
	}
	return NULL;
}

static int is_kept_activation(const struct vt_finding_context *context, uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];

	return a->device == context->device && vt_allocation_is_owned(a) &&
	       vt_finding_context_is_owner(context, i, "activations");
}

static void count_containers(const struct vt_finding_context *context,
			     struct containers *containers)
{
	for (uint32_t i = 0; i < context->model->nr_allocations; i++)
		if (is_kept_activation(context, i)) {
			char *path = vt_module_path_module(context->facts,
						       &context->model->allocations[i]);

			count_children(containers, path);
			free(path);
		}
}

static void find_kept_activations(struct vt_finding_context *context)
{
	struct containers containers = { { 0 }, { 0 } };
	const char *type;
	uint64_t bytes = live_bytes(context, "activations");
	struct vt_savings savings = { 0 };
	struct kept_blocks kept = { 0 };
	struct layers layers = { 0 };
	char all[VT_UNITS_MAX];

	if ((double)bytes < ACTIVATIONS_SHARE * (double)context->peak_bytes ||
	    has_checkpoints(context))
		return;
	count_containers(context, &containers);
	for (uint32_t i = 0; i < context->model->nr_allocations; i++)
		if (is_kept_activation(context, i))
			note_block(context, &containers, &layers, &kept, i);
	vt_map_release(&containers.children);
	vt_map_release(&containers.counts);
	for (size_t k = 0; k < kept.len; k++) {
		const struct layer *layer = &layers.items[kept.items[k].layer];
		const struct vt_allocation *a =
			&context->model->allocations[kept.items[k].allocation];

		if (kept.items[k].allocation != layer->input)
			vt_savings_add_between(&savings, a, a->size_bytes, layer->made_event,
					       layer->backward_event);
	}
	vt_units_bytes(all, sizeof(all), bytes);
	type = layers.len ? class_of(context, layers.items[0].path) : NULL;
	if (count_layers(&layers) > 1)
		vt_finding_context_add(context, VT_FINDING_ACTIVATIONS_KEPT, &savings,
			     kept.items[0].allocation,
			     vt_xasprintf("%s, of %u layers%s%s%s", all, count_layers(&layers),
					  type ? " (" : "", type ? type : "", type ? ")" : ""));
	else
		vt_vector_release(&savings);
	for (size_t i = 0; i < layers.len; i++)
		free(layers.items[i].path);
	vt_vector_release(&layers);
	vt_vector_release(&kept);
}

static void find_scores(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint8_t *is_scores = vt_attention_scores_find(context);
	uint32_t first = VT_NO_INDEX, blocks = 0;
	char one[VT_UNITS_MAX];

	for (uint32_t k = 0; k < context->nr_live; k++)
		if (is_scores[context->live[k]] &&
		    vt_finding_context_is_owner(context, context->live[k],
						"activations/attention")) {
			first = first == VT_NO_INDEX ? context->live[k] : first;
			blocks++;
		}
	for (uint32_t i = 0; i < context->model->nr_allocations && blocks; i++)
		if (is_scores[i])
			vt_savings_add(&savings, &context->model->allocations[i],
				       context->model->allocations[i].size_bytes);
	free(is_scores);
	if (!blocks)
		return;
	vt_units_bytes(one, sizeof(one), context->model->allocations[first].size_bytes);
	vt_finding_context_add(context, VT_FINDING_ATTENTION_SCORES, &savings, first,
			vt_xasprintf("%u block%s as this one of %s", blocks,
				     blocks == 1 ? "" : "s", one));
}

/* The first event behind the step, or outside of steps behind the call, that made it. */
static int64_t end_of_pass(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	const struct vt_stages *stages = context->facts->stages;
	const struct vt_span *span = vt_facts_span(context->facts, a);
	const struct vt_step *step = span ? vt_stages_step(stages, span->step) : NULL;

	if (step)
		return stages->spans[step->last_span].last_event + 1;
	for (uint32_t i = 0; i < stages->passes.nr; i++)
		if (stages->passes.passes[i].first_event <= a->event &&
		    a->event < stages->passes.passes[i].end_event)
			return stages->passes.passes[i].end_event;
	return VT_NEVER;
}

static int is_result(const struct vt_finding_context *context, uint32_t i)
{
	return vt_finding_context_is_owner(context, i, "logits") ||
	       vt_finding_context_is_owner(context, i, "activations") ||
	       (context->is_training && vt_finding_context_is_owner(context, i, "kv cache"));
}

/*
 * Outside of steps the next call may need what the last one made (an encoder's output).  Not what
 * the next one makes again, and not what is kept for a backward pass that never comes.
 */
static int is_outlived(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	const struct vt_span *span = vt_facts_span(context->facts, a);

	return (span && span->step) ||
	       vt_facts_repeats(context->facts, a) & 1u << VT_REPEAT_AGAIN ||
	       (!context->is_training &&
		vt_facts_grad_modes(context->facts, a) & 1u << VT_GRAD_MODE_ON);
}

/* How many steps had ended before an event. */
static size_t steps_before(const struct vt_finding_context *context, int64_t event)
{
	const struct vt_stages *stages = context->facts->stages;
	const struct vt_step *steps = stages->steps.steps;

	return vt_search_first(s, stages->steps.nr,
			       stages->spans[steps[s].last_span].last_event < event);
}

/*
 * The places of queues: of what they make several live at a time, and each is given back by a much
 * later step.  That is a memory that these steps read, such as the negatives of contrastive
 * learning; a variable that is only kept too long holds one result, until it is replaced.
 */
static void collect_queues(const struct vt_finding_context *context, struct vt_map *queues)
{
	struct vt_map next = { 0 }, second = { 0 };

	for (uint32_t i = context->model->nr_allocations; i-- > 0;) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_key place = { a->made->python_stack, a->made->native_stack, 0 };
		const uint64_t *younger, *youngest;

		if (a->device != context->device || !vt_allocation_is_owned(a) ||
		    a->made->node_class)
			continue;
		youngest = vt_map_find(&second, place);
		if (youngest && (int64_t)*youngest < a->freed_event &&
		    a->freed_event <= context->facts->last_working_event &&
		    steps_before(context, a->freed_event) > steps_before(context, a->event) + 2)
			vt_map_put(queues, place, 1);
		younger = vt_map_find(&next, place);
		if (younger)
			vt_map_put(&second, place, *younger);
		vt_map_put(&next, place, (uint64_t)a->event);
	}
	vt_map_release(&next);
	vt_map_release(&second);
}

static void find_kept_results(struct vt_finding_context *context)
{
	struct vt_map queues = { 0 };

	const struct vt_model *model = context->model;
	struct vt_savings savings = { 0 };
	uint32_t largest = VT_NO_INDEX, blocks = 0;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	/* A snapshot with Python frames only: a library's workspace would look like a result. */
	if (model->frames.native_tree.nr_stacks <= 1)
		return;
	collect_queues(context, &queues);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		int64_t end;

		if (a->device != context->device || !vt_allocation_is_owned(a) ||
		    context->unused_graph[i] || !is_result(context, i) ||
		    !is_outlived(context, a) ||
		    vt_map_find(&queues, (struct vt_key){ a->made->python_stack,
							  a->made->native_stack, 0 }))
			continue;
		end = end_of_pass(context, a);
		if (end == VT_NEVER || a->freed_event <= end)
			continue;
		vt_savings_add_between(&savings, a, a->size_bytes, end, VT_NEVER);
		if (end > context->event || !vt_allocation_is_live(a, context->event))
			continue;
		bytes += a->size_bytes;
		blocks++;
		if (largest == VT_NO_INDEX ||
		    a->size_bytes > model->allocations[largest].size_bytes)
			largest = i;
	}
	vt_map_release(&queues);
	if (largest == VT_NO_INDEX) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	vt_finding_context_add(context, VT_FINDING_RESULTS_KEPT, &savings, largest,
			vt_xasprintf("%s in %u block%s", all, blocks, blocks == 1 ? "" : "s"));
}

void vt_find_activations_detect(struct vt_finding_context *context)
{
	find_kept_results(context);
	find_scores(context);
	if (context->is_training)
		find_kept_activations(context);
}
