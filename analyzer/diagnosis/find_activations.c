/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_activations.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/diagnosis/attention_scores.h"
#include "analyzer/diagnosis/kept_layers.h"

/* Where less of the highest use is activations, running a forward twice is no good bargain. */
#define ACTIVATIONS_SHARE 0.25

static uint64_t live_bytes(const struct vt_finding_context *context, uint32_t owners)
{
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < context->nr_live; k++)
		if (vt_finding_context_is_owner(context, context->live[k], owners))
			bytes += context->model->allocations[context->live[k]].common->size_bytes;
	return bytes;
}

/* Several layers in the span of the first of them. */
static uint32_t count_layers(const struct vt_kept_layers *kept)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < kept->layers.len; i++)
		nr += kept->layers.items[i].span == kept->layers.items[0].span &&
		      !kept->layers.items[i].call;
	return nr;
}

/* The class of the module at a path; NULL: no probe saw it. */
static const char *class_of(const struct vt_finding_context *context, const char *path)
{
	const struct vt_model *model = context->model;
	size_t len = strlen(path), longest = 0;
	const char *found = NULL;

	for (uint32_t m = 0; m < model->nr_modules; m++) {
		const char *name = vt_model_text(model, model->modules[m].name);
		size_t name_len = name ? strlen(name) : 0;

		/*
		 * The variable may be before it, where several trees have such a name; "0" is the
		 * end of "0.layers.0", too.
		 */
		if (name_len <= longest || name_len > len || strcmp(path + len - name_len, name) ||
		    (name_len < len && path[len - name_len - 1] != '.'))
			continue;
		longest = name_len;
		found = vt_model_text(model, model->modules[m].class_name);
	}
	return found;
}

/* Layers of one class, in the span of the first layer. */
struct class_share {
	const char *name;
	uint32_t nr;
	uint64_t bytes;
};

typedef VT_VECTOR(struct class_share) class_share_vector;

static void add_layer(class_share_vector *classes, const char *name,
		      const struct vt_kept_layer *layer)
{
	for (size_t i = 0; i < classes->len; i++)
		if (!strcmp(classes->items[i].name, name)) {
			classes->items[i].nr += !layer->call;
			classes->items[i].bytes += layer->bytes;
			return;
		}
	vt_vector_push(classes, ((struct class_share){ name, 1, layer->bytes }));
}

/* "8 layers (Block)", or "20 layers, 15 of them Block": that class which keeps most. */
static char *describe_layers(const struct vt_finding_context *context,
			     const struct vt_kept_layers *kept)
{
	class_share_vector classes = { 0 };
	struct class_share most = { 0 };
	uint32_t nr = count_layers(kept);
	char *text;

	for (size_t i = 0; i < kept->layers.len; i++) {
		const struct vt_kept_layer *layer = &kept->layers.items[i];
		const char *name = layer->span == kept->layers.items[0].span
					   ? class_of(context, layer->path)
					   : NULL;

		if (name)
			add_layer(&classes, name, layer);
	}
	for (size_t i = 0; i < classes.len; i++)
		if (classes.items[i].bytes > most.bytes)
			most = classes.items[i];
	vt_vector_release(&classes);
	if (!most.nr)
		text = vt_xasprintf("%u layers", nr);
	else if (most.nr == nr)
		text = vt_xasprintf("%u layers (%s)", nr, most.name);
	else
		text = vt_xasprintf("%u layers, %u of them %s", nr, most.nr, most.name);
	return text;
}

/* The largest workspace on the thread of the backward passes; 0: nothing is multiplied there. */
static uint64_t largest_in_backward(const struct vt_finding_context *context)
{
	uint64_t largest = 0;

	for (uint32_t k = 0; k < context->nr_live; k++) {
		const struct vt_allocation *a = &context->model->allocations[context->live[k]];

		if (a->common->made->node_class && a->common->size_bytes > largest &&
		    vt_finding_context_is_owner(context, context->live[k], VT_OWNERS_CUBLAS))
			largest = a->common->size_bytes;
	}
	return largest;
}

/* A small block that stays: if it grows to some size, that is like a new one of that size. */
static const struct vt_allocation *smallest_that_stays(const struct vt_finding_context *context,
						       int64_t from_event)
{
	const struct vt_allocation *smallest = NULL;

	for (uint32_t k = 0; k < context->nr_live; k++) {
		const struct vt_allocation *a = &context->model->allocations[context->live[k]];

		if (a->event < from_event && a->freed_event > context->facts->last_working_event &&
		    a->common->kind == VT_KIND_BLOCK &&
		    (!smallest || a->common->size_bytes < smallest->common->size_bytes))
			smallest = a;
	}
	return smallest;
}

/*
 * A layer that runs again in the backward pass needs there what its products need in a forward:
 * beside the workspace of all products that of sums with a bias, which the backward pass has not.
 */
static void add_workspaces(const struct vt_finding_context *context, int64_t from_event,
			   struct vt_savings *savings)
{
	const struct vt_allocation *smallest = smallest_that_stays(context, from_event);
	uint64_t largest = largest_in_backward(context);

	if (!smallest)
		return;
	for (uint32_t k = 0; k < context->nr_live; k++) {
		const struct vt_allocation *a = &context->model->allocations[context->live[k]];
		uint64_t bytes = a->common->size_bytes;

		if (!a->common->made->node_class && bytes < largest &&
		    bytes > smallest->common->size_bytes &&
		    vt_finding_context_is_owner(context, context->live[k], VT_OWNERS_CUBLAS))
			vt_savings_add_cost(savings, smallest, bytes - smallest->common->size_bytes,
					    from_event, VT_NEVER);
	}
}

/*
 * What autocast made of a layer's weights: until the forward ends its cache has it, then the layer
 * alone, which makes it once more when it runs again.
 */
static void save_casts(const struct vt_finding_context *context, struct vt_kept_layers *kept,
		       struct vt_savings *savings)
{
	const struct vt_stages *stages = context->facts->stages;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_kept_layer *layer;

		if (!vt_finding_context_has(context, i, VT_OWNERS_CASTS))
			continue;
		layer = vt_kept_layers_of(kept, context, i);
		if (layer)
			vt_savings_add_between(savings, a, a->common->size_bytes,
					       vt_stages_next_backward(stages, a->event),
					       layer->backward_event);
	}
}

static void find_kept_activations(struct vt_finding_context *context)
{
	uint64_t bytes = live_bytes(context, VT_OWNERS_ACTIVATIONS);
	struct vt_savings savings = { 0 };
	struct vt_kept_layers kept = { 0 };
	char all[VT_UNITS_MAX];

	if ((double)bytes < ACTIVATIONS_SHARE * (double)context->peak_bytes ||
	    vt_kept_layers_has_checkpoints(context))
		return;
	vt_kept_layers_init(&kept, context);
	for (size_t k = 0; k < kept.blocks.len; k++) {
		const struct vt_kept_layer *layer = &kept.layers.items[kept.blocks.items[k].layer];
		const struct vt_allocation *a =
			&context->model->allocations[kept.blocks.items[k].allocation];

		if (kept.blocks.items[k].allocation != layer->input)
			vt_savings_add_between(&savings, a, a->common->size_bytes,
					       layer->made_event, layer->backward_event);
	}
	vt_units_bytes(all, sizeof(all), bytes);
	if (count_layers(&kept) > 1) {
		uint32_t first = kept.blocks.items[0].allocation;
		char *layers = describe_layers(context, &kept);

		save_casts(context, &kept, &savings);
		add_workspaces(context, kept.layers.items[0].made_event, &savings);
		/* Not kept beside what adding the savings up takes. */
		vt_kept_layers_release(&kept);
		vt_finding_context_add(context, VT_FINDING_ACTIVATIONS_KEPT, &savings, first,
				       vt_xasprintf("%s, of %s", all, layers));
		free(layers);
	} else {
		vt_kept_layers_release(&kept);
		vt_vector_release(&savings);
	}
}

static void find_scores(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint8_t *is_scores = vt_attention_scores_find(context);
	uint32_t first = VT_NO_INDEX, blocks = 0;
	char one[VT_UNITS_MAX];

	for (uint32_t k = 0; k < context->nr_live; k++)
		if (is_scores[context->live[k]] &&
		    vt_finding_context_is_owner(context, context->live[k], VT_OWNERS_ATTENTION)) {
			first = first == VT_NO_INDEX ? context->live[k] : first;
			blocks++;
		}
	for (uint32_t i = 0; i < context->model->nr_allocations && blocks; i++)
		if (is_scores[i])
			vt_savings_add(&savings, &context->model->allocations[i],
				       context->model->allocations[i].common->size_bytes);
	free(is_scores);
	if (!blocks)
		return;
	vt_units_bytes(one, sizeof(one), context->model->allocations[first].common->size_bytes);
	vt_finding_context_add(context, VT_FINDING_ATTENTION_SCORES, &savings, first,
			       vt_xasprintf("%u block%s like this one of %s", blocks,
					    blocks == 1 ? "" : "s", one));
}

void vt_find_activations_detect(struct vt_finding_context *context)
{
	find_scores(context);
	if (context->is_training)
		find_kept_activations(context);
}
