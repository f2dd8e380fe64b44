/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/kept_layers.h"

#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/search.h"

/* A layer's output is no smaller part of what it made before; the statistics of norms are. */
#define LEAST_OUTPUT_PART 64

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

static struct vt_key parent_of(const char *path, const char *part)
{
	return vt_map_text_key(path, (size_t)(part - path));
}

static struct vt_key child_of(const char *path, const char *part)
{
	return vt_map_text_key(path, (size_t)(part - path) + strspn(part, "0123456789"));
}

static uint64_t value_at(const struct vt_map *map, struct vt_key key)
{
	const uint64_t *value = vt_map_find(map, key);

	return value ? *value : 0;
}

static char *number_after(char *part)
{
	size_t len = strspn(part, "0123456789");

	return part[len] ? next_number(part + len + 1) : NULL;
}

/* Counts the numbers of a path from `part` on; returns the most that one of their lists has. */
static uint64_t count_children(struct vt_kept_layers *kept, char *path, char *part)
{
	struct vt_key parent, child;
	uint64_t below, count;

	if (!part)
		return 0;
	parent = parent_of(path, part);
	child = child_of(path, part);
	below = count_children(kept, path, number_after(part));
	if (!vt_map_find(&kept->below, child)) {
		vt_map_put(&kept->counts, parent, value_at(&kept->counts, parent) + 1);
		vt_map_put(&kept->below, child, 0);
		vt_vector_push(&kept->children, ((struct vt_kept_child){ child, parent }));
	}
	if (below > value_at(&kept->below, child))
		vt_map_put(&kept->below, child, below);
	count = value_at(&kept->counts, parent);
	return count > below ? count : below;
}

/* When all are counted. */
static void find_wrapping(struct vt_kept_layers *kept)
{
	for (size_t i = 0; i < kept->children.len; i++) {
		struct vt_key parent = kept->children.items[i].parent;

		if (value_at(&kept->below, kept->children.items[i].path) >
		    value_at(&kept->counts, parent))
			vt_map_put(&kept->wrapping, parent, value_at(&kept->wrapping, parent) + 1);
	}
}

/*
 * A list whose few members hold what is longer than itself: the model and what stands beside it,
 * as in Sequential(model, norm, head).  Experts, which are more than their layers, are in most.
 */
static int is_around_a_model(const struct vt_kept_layers *kept, struct vt_key list)
{
	uint64_t nr = value_at(&kept->counts, list), nr_wrapping = value_at(&kept->wrapping, list);

	return nr_wrapping && (nr == 1 || 2 * nr_wrapping <= nr);
}

/* The module of an allocation; the path of a new one is whole. */
static struct vt_kept_module *module_of(struct vt_kept_layers *kept,
					const struct vt_finding_context *context,
					uint32_t allocation, int *is_new)
{
	const struct vt_allocation *a = &context->model->allocations[allocation];
	struct vt_module_path_source source = vt_module_path_source(context->facts, a);
	struct vt_key key = { (uintptr_t)source.tensor, (uintptr_t)source.module, 0 };
	const uint64_t *known = vt_map_find(&kept->sources, key);
	struct vt_kept_module module = { 0 };

	*is_new = !known;
	if (known)
		return &kept->modules.items[*known];
	module.path = vt_module_path_of(context->facts, source);
	vt_map_put(&kept->sources, key, kept->modules.len);
	vt_vector_push(&kept->modules, module);
	return &kept->modules.items[kept->modules.len - 1];
}

/*
 * "model.layers.3" of "model.layers.3.mlp.up_proj", "0.model.encoder.layer.3" of what lies in it:
 * of several numbers the one that counts the most; of "3.0" in Sequentials the first.  NULL: no
 * number in it.  Where it ends in `path`.
 */
static char *end_of_layer(const struct vt_kept_layers *kept, char *path)
{
	uint64_t most = 0;
	char *end = NULL;

	for (char *part = next_number(path); part; part = number_after(part)) {
		struct vt_key list = parent_of(path, part);
		uint64_t count = value_at(&kept->counts, list);

		if (count > most && !is_around_a_model(kept, list)) {
			most = count;
			end = part + strspn(part, "0123456789");
		}
	}
	return end;
}

static struct vt_key whole_key(const char *path)
{
	return vt_map_text_key(path, strlen(path));
}

/* When all numbers are counted. */
static void cut(struct vt_kept_layers *kept, struct vt_kept_module *module)
{
	char *end = module->path ? end_of_layer(kept, module->path) : NULL;
	const uint64_t *known;

	module->is_cut = 1;
	if (!end)
		return;
	*end = 0;
	known = vt_map_find(&kept->paths, whole_key(module->path));
	if (known) {
		module->layer = kept->modules.items[*known].path;
		return;
	}
	vt_map_put(&kept->paths, whole_key(module->path), (uint64_t)(module - kept->modules.items));
	module->layer = module->path;
}

const char *vt_kept_layers_path(struct vt_kept_layers *kept,
				const struct vt_finding_context *context, uint32_t allocation)
{
	int is_new;
	struct vt_kept_module *module = module_of(kept, context, allocation, &is_new);

	if (!module->is_cut)
		cut(kept, module);
	return module->layer;
}

static struct vt_key layer_key(const char *path)
{
	return (struct vt_key){ .a = (uintptr_t)path };
}

/*
 * Blocks come in their order: those of one span stand together, and so do those of one call of a
 * layer.  What a layer makes when another has made something is of its next call, which a
 * checkpoint would keep an input for, too (a critic sees what is real and what is not).
 */
static uint32_t find_layer(struct vt_kept_layers *kept, const char *path, uint32_t span,
			   int64_t event)
{
	size_t nr = kept->layers.len, i = nr;
	uint32_t call = 0;

	while (i && kept->layers.items[i - 1].span == span &&
	       kept->layers.items[i - 1].path != path)
		i--;
	if (i && kept->layers.items[i - 1].span == span) {
		if (i == nr)
			return (uint32_t)nr - 1;
		call = kept->layers.items[i - 1].call + 1;
	}
	vt_map_put(&kept->last, layer_key(path), nr);
	vt_vector_push(&kept->layers, ((struct vt_kept_layer){ .path = path,
							       .span = span,
							       .call = call,
							       .first_event = event,
							       .backward_event = VT_NEVER,
							       .input = VT_NO_INDEX }));
	return (uint32_t)nr;
}

/*
 * The residual stream is the input of the next layer; else what was made last stands for it, if
 * that is no statistic of what was made before (a norm whose activation is computed in place).
 */
static int is_better_input(const struct vt_finding_context *context, uint32_t i, uint32_t than)
{
	const struct vt_allocation *all = context->model->allocations;
	int is_sum = vt_finding_context_is_owner(context, i, VT_OWNERS_RESIDUALS);
	int was_sum;

	if (than == VT_NO_INDEX)
		return 1;
	was_sum = vt_finding_context_is_owner(context, than, VT_OWNERS_RESIDUALS);
	if (is_sum != was_sum)
		return is_sum > was_sum;
	return all[i].common->size_bytes * LEAST_OUTPUT_PART >= all[than].common->size_bytes;
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

/* The sum that a layer gives the next one, kept or not. */
static void note_output(struct vt_kept_layers *kept, const struct vt_finding_context *context,
			uint32_t i, uint32_t span)
{
	const char *path;

	if (!kept->layers.len || !vt_finding_context_is_owner(context, i, VT_OWNERS_RESIDUALS))
		return;
	path = vt_kept_layers_path(kept, context, i);
	for (size_t l = kept->layers.len; path && l-- > 0 && kept->layers.items[l].span == span;)
		if (kept->layers.items[l].path == path)
			kept->layers.items[l].output_bytes =
				context->model->allocations[i].common->size_bytes;
}

static void note_block(struct vt_kept_layers *kept, const struct vt_finding_context *context,
		       uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];
	const struct vt_stages *stages = context->facts->stages;
	uint32_t span = vt_stages_span_at(stages, a->event), number;
	struct vt_kept_layer *layer;
	const char *path;

	if (span == VT_NO_INDEX || stages->spans[span].stage != VT_STAGE_FORWARD)
		return;
	note_output(kept, context, i, span);
	if (!(is_for_backward(stages, a) || is_cut_off(context, a, span)))
		return;
	path = vt_kept_layers_path(kept, context, i);
	if (!path)
		return;
	number = find_layer(kept, path, span, a->event);
	layer = &kept->layers.items[number];
	layer->nr++;
	layer->bytes += a->common->size_bytes;
	layer->made_event = a->event;
	if (a->freed_event < layer->backward_event)
		layer->backward_event = a->freed_event;
	if (is_better_input(context, i, layer->input))
		layer->input = i;
	vt_vector_push(&kept->blocks, ((struct vt_kept_block){ i, number }));
}

int vt_kept_layers_has_checkpoints(const struct vt_finding_context *context)
{
	if (context->facts->recomputes.nr)
		return 1;
	for (uint32_t k = 0; k < context->nr_live; k++)
		if (vt_finding_context_is_owner(context, context->live[k], VT_OWNERS_CHECKPOINTS))
			return 1;
	return 0;
}

/* A cache that a training step fills waits for backward, too; recomputing layers have none. */
static int is_kept_activation(const struct vt_finding_context *context, uint32_t i)
{
	uint32_t owners = VT_OWNERS_ACTIVATIONS;

	if (context->is_training)
		owners |= VT_OWNERS_KV_CACHE;
	return vt_finding_context_has(context, i, owners);
}

static void count_containers(const struct vt_finding_context *context,
			     struct vt_kept_layers *kept)
{
	for (uint32_t i = 0; i < context->model->nr_allocations; i++)
		if (is_kept_activation(context, i)) {
			int is_new;
			char *path = module_of(kept, context, i, &is_new)->path;

			if (is_new)
				count_children(kept, path, next_number(path));
		}
	find_wrapping(kept);
}

/*
 * A checkpointed layer runs again as soon as its own backward begins: its node may allocate before
 * any of its blocks is freed.  With several calls of a layer, whose node it is is not known.
 */
static void note_backward(struct vt_kept_layers *kept, const struct vt_finding_context *context,
			  uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];
	const char *path = vt_kept_layers_path(kept, context, i);
	const uint64_t *last = path ? vt_map_find(&kept->last, layer_key(path)) : NULL;
	struct vt_kept_layer *layer = last ? &kept->layers.items[*last] : NULL;

	if (layer && layer->made_event < a->event && !layer->call &&
	    layer->backward_event > a->event)
		layer->backward_event = a->event;
}

/* Allocations are in the order of their events: what a node makes follows the blocks it is of. */
void vt_kept_layers_init(struct vt_kept_layers *kept, const struct vt_finding_context *context)
{
	count_containers(context, kept);
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];

		if (is_kept_activation(context, i))
			note_block(kept, context, i);
		if (a->common->made->node_class && a->common->device == context->device &&
		    vt_allocation_is_owned(a))
			note_backward(kept, context, i);
	}
}

const struct vt_kept_layer *vt_kept_layers_of(struct vt_kept_layers *kept,
					      const struct vt_finding_context *context,
					      uint32_t allocation)
{
	const struct vt_allocation *a = &context->model->allocations[allocation];
	const struct vt_stages *stages = context->facts->stages;
	uint32_t span = vt_stages_span_at(stages, a->event);
	const struct vt_kept_layer *found = NULL;
	const char *path;
	size_t first;

	if (span == VT_NO_INDEX || stages->spans[span].stage != VT_STAGE_FORWARD ||
	    !is_for_backward(stages, a))
		return NULL;
	path = vt_kept_layers_path(kept, context, allocation);
	first = vt_search_first(k, kept->layers.len, kept->layers.items[k].span < span);
	for (size_t l = first; path && l < kept->layers.len && !found; l++) {
		if (kept->layers.items[l].span != span)
			break;
		if (kept->layers.items[l].path == path)
			found = &kept->layers.items[l];
	}
	return found;
}

void vt_kept_layers_release(struct vt_kept_layers *kept)
{
	for (size_t i = 0; i < kept->modules.len; i++)
		free(kept->modules.items[i].path);
	vt_vector_release(&kept->modules);
	vt_map_release(&kept->sources);
	vt_map_release(&kept->paths);
	vt_vector_release(&kept->layers);
	vt_vector_release(&kept->blocks);
	vt_vector_release(&kept->children);
	vt_map_release(&kept->last);
	vt_map_release(&kept->below);
	vt_map_release(&kept->counts);
	vt_map_release(&kept->wrapping);
}
