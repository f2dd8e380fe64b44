/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_activations.h"

#include <string.h>

#include "analyzer/attribution/keepers.h"
#include "analyzer/attribution/origins.h"
#include "analyzer/base/map.h"
#include "analyzer/base/units.h"

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

/*
 * "model.layers.3" of "model.layers.3.mlp.up_proj", "3" of "3.0" in a model that is a Sequential
 * itself; NULL: no number in it.  The caller frees.
 */
static char *layer_of(const struct vt_scene *scene, const struct vt_allocation *a)
{
	char *path = vt_origins_module(scene->facts, a), *part = path;

	while (part && *part) {
		size_t len = strcspn(part, ".");

		if (len && strspn(part, "0123456789") == len) {
			part[len] = 0;
			return path;
		}
		part += len + (part[len] == '.');
	}
	free(path);
	return NULL;
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
static int is_better_input(const struct vt_scene *scene, uint32_t i, uint32_t than)
{
	return than == VT_NO_INDEX ||
	       vt_scene_is_owner(scene, i, "activations/residual") >=
		       vt_scene_is_owner(scene, than, "activations/residual");
}

static int is_for_backward(const struct vt_stages *stages, const struct vt_allocation *a)
{
	uint32_t freed = a->freed_event == VT_NEVER
				 ? VT_NO_INDEX
				 : vt_stages_span_at(stages, a->freed_event);

	return freed != VT_NO_INDEX && stages->spans[freed].stage == VT_STAGE_BACKWARD;
}

/* A request failed while the block waited for the backward pass of its own step. */
static int is_cut_off(const struct vt_scene *scene, const struct vt_allocation *a, uint32_t span)
{
	const struct vt_stages *stages = scene->facts->stages;

	for (uint32_t i = 0; i < scene->model->nr_ooms; i++) {
		int64_t event = scene->model->ooms[i].event;
		uint32_t failed = vt_stages_span_at(stages, event);

		if (failed != VT_NO_INDEX && vt_allocation_is_live(a, event) &&
		    stages->spans[failed].step &&
		    stages->spans[failed].step == stages->spans[span].step)
			return 1;
	}
	return 0;
}

static void note_block(struct vt_scene *scene, struct layers *layers, struct kept_blocks *kept,
		       uint32_t i)
{
	const struct vt_allocation *a = &scene->model->allocations[i];
	const struct vt_stages *stages = scene->facts->stages;
	uint32_t span = vt_stages_span_at(stages, a->event), number;
	struct layer *layer;
	char *path;

	if (span == VT_NO_INDEX || stages->spans[span].stage != VT_STAGE_FORWARD ||
	    !(is_for_backward(stages, a) || is_cut_off(scene, a, span)))
		return;
	path = layer_of(scene, a);
	if (!path)
		return;
	number = find_layer(layers, path, span);
	layer = &layers->items[number];
	layer->nr++;
	layer->made_event = a->event;
	if (a->freed_event < layer->backward_event)
		layer->backward_event = a->freed_event;
	if (is_better_input(scene, i, layer->input))
		layer->input = i;
	vt_vector_push(kept, ((struct kept){ i, number }));
}

static int has_checkpoints(const struct vt_scene *scene)
{
	if (scene->facts->recomputes.nr)
		return 1;
	for (uint32_t k = 0; k < scene->nr_live; k++)
		if (vt_scene_is_owner(scene, scene->live[k], "activations/checkpoint"))
			return 1;
	return 0;
}

static uint64_t live_bytes(const struct vt_scene *scene, const char *owner)
{
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < scene->nr_live; k++)
		if (vt_scene_is_owner(scene, scene->live[k], owner))
			bytes += scene->model->allocations[scene->live[k]].size_bytes;
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

static void find_kept_activations(struct vt_scene *scene)
{
	uint64_t bytes = live_bytes(scene, "activations");
	struct vt_reliefs reliefs = { 0 };
	struct kept_blocks kept = { 0 };
	struct layers layers = { 0 };
	char all[VT_UNITS_MAX];

	if ((double)bytes < ACTIVATIONS_SHARE * (double)scene->peak_bytes || has_checkpoints(scene))
		return;
	for (uint32_t i = 0; i < scene->model->nr_allocations; i++)
		if (scene->model->allocations[i].device == scene->device &&
		    vt_allocation_is_owned(&scene->model->allocations[i]) &&
		    vt_scene_is_owner(scene, i, "activations"))
			note_block(scene, &layers, &kept, i);
	for (size_t k = 0; k < kept.len; k++) {
		const struct layer *layer = &layers.items[kept.items[k].layer];
		const struct vt_allocation *a =
			&scene->model->allocations[kept.items[k].allocation];

		if (kept.items[k].allocation != layer->input)
			vt_reliefs_add_between(&reliefs, a, a->size_bytes, layer->made_event,
					       layer->backward_event);
	}
	vt_units_bytes(all, sizeof(all), bytes);
	if (count_layers(&layers) > 1)
		vt_scene_add(scene, VT_FINDING_ACTIVATIONS_KEPT, &reliefs,
				kept.items[0].allocation,
				vt_xasprintf("%s, of %u layers", all, count_layers(&layers)));
	else
		vt_vector_release(&reliefs);
	for (size_t i = 0; i < layers.len; i++)
		free(layers.items[i].path);
	vt_vector_release(&layers);
	vt_vector_release(&kept);
}

/* By exact size, and by nothing else of that size. */
static int is_scores(const struct vt_scene *scene, uint32_t i)
{
	const struct vt_allocation *a = &scene->model->allocations[i];

	return a->device == scene->device && vt_allocation_is_owned(a) &&
	       vt_facts_shape_classes(scene->facts, a) == 1u << VT_SHAPE_SCORES &&
	       (vt_scene_is_owner(scene, i, "activations/attention") ||
		vt_scene_is_owner(scene, i, "activation gradients"));
}

static void find_scores(struct vt_scene *scene)
{
	struct vt_reliefs reliefs = { 0 };
	uint32_t first = VT_NO_INDEX, blocks = 0;
	char one[VT_UNITS_MAX];

	for (uint32_t k = 0; k < scene->nr_live; k++)
		if (is_scores(scene, scene->live[k]) &&
		    vt_scene_is_owner(scene, scene->live[k], "activations/attention")) {
			first = first == VT_NO_INDEX ? scene->live[k] : first;
			blocks++;
		}
	if (first == VT_NO_INDEX)
		return;
	for (uint32_t i = 0; i < scene->model->nr_allocations; i++)
		if (is_scores(scene, i))
			vt_reliefs_add(&reliefs, &scene->model->allocations[i],
				       scene->model->allocations[i].size_bytes);
	vt_units_bytes(one, sizeof(one), scene->model->allocations[first].size_bytes);
	vt_scene_add(scene, VT_FINDING_ATTENTION_SCORES, &reliefs, first,
			vt_xasprintf("%u block%s as this one of %s", blocks,
				     blocks == 1 ? "" : "s", one));
}

/* The first event behind the step, or outside of steps behind the call, that made it. */
static int64_t end_of_pass(const struct vt_scene *scene, const struct vt_allocation *a)
{
	const struct vt_stages *stages = scene->facts->stages;
	const struct vt_span *span = vt_facts_span(scene->facts, a);
	const struct vt_step *step = span ? vt_stages_step(stages, span->step) : NULL;

	if (step)
		return stages->spans[step->last_span].last_event + 1;
	for (uint32_t i = 0; i < stages->passes.nr; i++)
		if (stages->passes.passes[i].first_event <= a->event &&
		    a->event < stages->passes.passes[i].end_event)
			return stages->passes.passes[i].end_event;
	return VT_NEVER;
}

static int is_result(const struct vt_scene *scene, uint32_t i)
{
	return vt_scene_is_owner(scene, i, "logits") ||
	       vt_scene_is_owner(scene, i, "activations") ||
	       (scene->is_training && vt_scene_is_owner(scene, i, "kv cache"));
}

/*
 * Outside of steps the next call may need what the last one made (an encoder's output).  Not what
 * the next one makes again, and not what is kept for a backward pass that never comes.
 */
static int is_outlived(const struct vt_scene *scene, const struct vt_allocation *a)
{
	const struct vt_span *span = vt_facts_span(scene->facts, a);

	return (span && span->step) ||
	       vt_facts_repeats(scene->facts, a) & 1u << VT_REPEAT_AGAIN ||
	       (!scene->is_training &&
		vt_facts_grad_modes(scene->facts, a) & 1u << VT_GRAD_MODE_ON);
}

/* In how many later steps a block of a step was alive when it was given back; 0: it was not. */
static uint32_t steps_kept(const struct vt_scene *scene, const struct vt_allocation *a)
{
	const struct vt_stages *stages = scene->facts->stages;
	const struct vt_span *made = vt_facts_span(scene->facts, a);
	uint32_t freed = a->freed_event == VT_NEVER ?
				 VT_NO_INDEX :
				 vt_stages_span_at(stages, a->freed_event);

	if (!made || !made->step || freed == VT_NO_INDEX || !stages->spans[freed].step)
		return 0;
	return stages->spans[freed].step - made->step;
}

/*
 * The places of queues: what lives for several steps and is given back by one of them is a memory
 * that these steps read, such as the negatives of contrastive learning.  A variable that is only
 * kept too long holds one result, until the next step replaces it.
 */
static void collect_queues(const struct vt_scene *scene, struct vt_map *queues)
{
	for (uint32_t i = 0; i < scene->model->nr_allocations; i++) {
		const struct vt_allocation *a = &scene->model->allocations[i];

		if (a->device == scene->device && vt_allocation_is_owned(a) &&
		    a->freed_event <= scene->facts->last_working_event &&
		    steps_kept(scene, a) > 2)
			vt_map_put(queues, (struct vt_key){ a->made->python_stack,
							    a->made->native_stack, 0 }, 1);
	}
}

static void find_kept_results(struct vt_scene *scene)
{
	struct vt_map queues = { 0 };

	const struct vt_model *model = scene->model;
	struct vt_reliefs reliefs = { 0 };
	uint32_t largest = VT_NO_INDEX, blocks = 0;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	collect_queues(scene, &queues);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		int64_t end;

		if (a->device != scene->device || !vt_allocation_is_owned(a) ||
		    !is_result(scene, i) || !is_outlived(scene, a) ||
		    vt_map_find(&queues, (struct vt_key){ a->made->python_stack,
							  a->made->native_stack, 0 }))
			continue;
		end = end_of_pass(scene, a);
		if (end == VT_NEVER || a->freed_event <= end)
			continue;
		vt_reliefs_add_between(&reliefs, a, a->size_bytes, end, VT_NEVER);
		if (end > scene->event || !vt_allocation_is_live(a, scene->event))
			continue;
		bytes += a->size_bytes;
		blocks++;
		if (largest == VT_NO_INDEX ||
		    a->size_bytes > model->allocations[largest].size_bytes)
			largest = i;
	}
	vt_map_release(&queues);
	if (largest == VT_NO_INDEX) {
		vt_vector_release(&reliefs);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	vt_scene_add(scene, VT_FINDING_RESULTS_KEPT, &reliefs, largest,
			vt_xasprintf("%s in %u block%s", all, blocks, blocks == 1 ? "" : "s"));
}

void vt_find_activations_detect(struct vt_scene *scene)
{
	find_kept_results(scene);
	find_scores(scene);
	if (scene->is_training)
		find_kept_activations(scene);
}
