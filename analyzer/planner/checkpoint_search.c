/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/checkpoint_search.h"

#include <math.h>
#include <string.h>

#include "analyzer/analysis/limits.h"
#include "analyzer/base/map.h"
#include "analyzer/base/sort.h"
#include "analyzer/diagnosis/kept_layers.h"
#include "analyzer/planner/measured.h"
#include "analyzer/planner/product_flops.h"

VT_VECTOR_DECLARE(cover_needs, struct vt_cover_need);

/* Where a saving begins or ends, or a layer's own peak begins. */
struct edge {
	int64_t event;
	enum { LAYER_BEGINS, SAVING_BEGINS, SAVING_ENDS } what;
	uint32_t layer; /* of vt_kept_layers */
};

struct walk {
	struct vt_checkpoint_search *fitting;
	const struct vt_kept_layers *kept;
	uint32_t *items;          /* by layer of a span: which of all */
	int64_t *last_freed;      /* ... when the last that it kept went, its input aside */
	double *before, *highest; /* ... allocated before its forward, and most in it */
	double *saves;            /* by item, now */
	struct cover_needs needs; /* levels while they are collected */
	struct vt_map found;      /* what is saved, and by whom it is asked, to its need */
};

/* A checkpoint keeps a layer's input, which is as large as its output. */
static double saved_bytes(const struct walk *walk, uint32_t layer)
{
	const struct vt_kept_layer *l = &walk->kept->layers.items[layer];
	uint64_t input = l->output_bytes;

	if (!input)
		input = walk->fitting->analysis->model.allocations[l->input].common->size_bytes;
	return l->bytes > input ? (double)(l->bytes - input) : 0;
}

/* The highest level of each set of savings. */
static void note_level(struct walk *walk, double level, uint32_t item)
{
	size_t size = walk->fitting->layers.len * sizeof(double);
	struct vt_key key = vt_map_text_key((const char *)walk->saves, size);
	const uint64_t *found;
	double *saves;

	key.a ^= item + 1ull;
	found = vt_map_find(&walk->found, key);
	if (found) {
		struct vt_cover_need *need = &walk->needs.items[*found];

		need->bytes = fmax(need->bytes, level);
		return;
	}
	saves = vt_xmalloc(size + 1);
	memcpy(saves, walk->saves, size);
	vt_map_put(&walk->found, key, walk->needs.len);
	vt_vector_push(&walk->needs, ((struct vt_cover_need){ level, item, saves }));
}

/* --- what is where along the run -------------------------------------------------------------- */

/* Backward comes to a layer when the one after it has given back what it kept. */
static int64_t end_of_saving(const struct walk *walk, uint32_t layer)
{
	const struct vt_kept_layer *l = &walk->kept->layers.items[layer];
	int64_t last;

	if (layer + 1 == walk->kept->layers.len || l[1].span != l->span)
		return l->backward_event;
	last = walk->last_freed[layer + 1];
	return last > l->made_event && last < l->backward_event ? last : l->backward_event;
}

static void find_last_freed(struct walk *walk)
{
	const struct vt_kept_layers *kept = walk->kept;

	for (size_t k = 0; k < kept->blocks.len; k++) {
		struct vt_kept_block block = kept->blocks.items[k];
		int64_t freed =
			walk->fitting->analysis->model.allocations[block.allocation].freed_event;

		if (freed > walk->last_freed[block.layer] &&
		    block.allocation != kept->layers.items[block.layer].input)
			walk->last_freed[block.layer] = freed;
	}
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (int)x->what - (int)y->what;
}

static struct edge *make_edges(const struct walk *walk, size_t *nr)
{
	struct edge *edges = vt_xcalloc(3 * walk->kept->layers.len + 1, sizeof(*edges));

	*nr = 0;
	for (uint32_t l = 0; l < walk->kept->layers.len; l++) {
		const struct vt_kept_layer *layer = &walk->kept->layers.items[l];
		int64_t end = end_of_saving(walk, l);

		if (end <= layer->made_event)
			continue;
		edges[(*nr)++] = (struct edge){ layer->first_event, LAYER_BEGINS, l };
		edges[(*nr)++] = (struct edge){ layer->made_event, SAVING_BEGINS, l };
		edges[(*nr)++] = (struct edge){ end, SAVING_ENDS, l };
	}
	vt_sort(edges, *nr, compare_edges);
	return edges;
}

/* `before`: allocated when the event had not been yet; `level`: behind it. */
static void take_edge(struct walk *walk, const struct edge *edge, double before, double level)
{
	uint32_t item = walk->items[edge->layer];

	switch (edge->what) {
	case LAYER_BEGINS:
		walk->before[edge->layer] = walk->highest[edge->layer] = before;
		break;
	case SAVING_BEGINS:
		walk->highest[edge->layer] = fmax(walk->highest[edge->layer], level);
		walk->saves[item] += saved_bytes(walk, edge->layer);
		break;
	case SAVING_ENDS:
		/* What its forward took for a moment, it takes once more, and what it kept. */
		note_level(walk, before + walk->highest[edge->layer] - walk->before[edge->layer],
			   item);
		walk->saves[item] = fmax(0, walk->saves[item] - saved_bytes(walk, edge->layer));
		break;
	}
}

static void collect_levels(struct walk *walk)
{
	const struct vt_timeline *timeline = &walk->fitting->analysis->timeline;
	struct vt_totals totals = { 0 };
	size_t nr, next = 0;
	struct edge *edges = make_edges(walk, &nr);
	uint32_t open = VT_NO_INDEX;
	double before = 0;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		double level;

		vt_timeline_add(timeline, moment, walk->fitting->device->id, &totals);
		if (!vt_timeline_is_instant(timeline, moment))
			continue;
		level = (double)totals.allocated_bytes;
		walk->fitting->was_bytes = fmax(walk->fitting->was_bytes, level);
		for (; next < nr && edges[next].event <= vt_moment_event(timeline->model, moment);
		     next++) {
			open = edges[next].what == LAYER_BEGINS ? edges[next].layer
			       : edges[next].layer == open      ? VT_NO_INDEX
								: open;
			take_edge(walk, &edges[next], before, level);
		}
		if (open != VT_NO_INDEX)
			walk->highest[open] = fmax(walk->highest[open], level);
		note_level(walk, level, VT_COVER_ALWAYS);
		before = level;
	}
	free(edges);
}

/* --- layers ----------------------------------------------------------------------------------- */

static uint32_t item_of(struct vt_checkpoint_search *fitting, const char *path)
{
	for (uint32_t i = 0; i < fitting->layers.len; i++)
		if (!strcmp(fitting->layers.items[i].path, path))
			return i;
	vt_vector_push(&fitting->layers, ((struct vt_recorded_layer){ .path = vt_xstrdup(path) }));
	return (uint32_t)fitting->layers.len - 1;
}

static void name_layers(struct walk *walk)
{
	for (uint32_t l = 0; l < walk->kept->layers.len; l++) {
		struct vt_recorded_layer *layer;
		uint64_t bytes;

		walk->items[l] = item_of(walk->fitting, walk->kept->layers.items[l].path);
		layer = &walk->fitting->layers.items[walk->items[l]];
		bytes = (uint64_t)saved_bytes(walk, l);
		layer->kept_bytes = bytes > layer->kept_bytes ? bytes : layer->kept_bytes;
	}
}

static void count_flops(struct vt_checkpoint_search *fitting, struct vt_kept_layers *kept,
			const struct vt_finding_context *context)
{
	struct vt_product_flops products = { 0 };

	vt_product_flops_find(&products, context->facts);
	for (size_t p = 0; p < products.len; p++) {
		const char *path = vt_kept_layers_path(kept, context, products.items[p].allocation);

		for (size_t i = 0; path && i < fitting->layers.len; i++)
			if (!strcmp(path, fitting->layers.items[i].path))
				fitting->layers.items[i].flops += products.items[p].flops;
		fitting->step_flops += 3 * products.items[p].flops;
	}
	vt_vector_release(&products);
}

/* --- the search ------------------------------------------------------------------------------- */

/* Of sets without one of the chosen layers the one that takes least, which is too much. */
static void find_nearest(struct vt_checkpoint_search *fitting, const struct vt_cover *cover,
			 double limit)
{
	uint8_t *tried = vt_xcalloc(cover->nr_items + 1, 1);

	memcpy(tried, fitting->chosen, cover->nr_items);
	fitting->nearest_bytes = INFINITY;
	for (size_t i = 0; i < cover->nr_items; i++) {
		double bytes;

		if (!fitting->chosen[i])
			continue;
		tried[i] = 0;
		bytes = limit + vt_cover_worst(cover, tried);
		if (bytes < fitting->nearest_bytes) {
			fitting->nearest_bytes = bytes;
			free(fitting->nearest);
			fitting->nearest = vt_xcalloc(cover->nr_items + 1, 1);
			memcpy(fitting->nearest, tried, cover->nr_items);
		}
		tried[i] = 1;
	}
	free(tried);
}

static void choose(struct walk *walk, double limit)
{
	struct vt_checkpoint_search *fitting = walk->fitting;
	size_t nr = fitting->layers.len;
	double *costs = vt_xcalloc(nr + 1, sizeof(*costs));
	uint8_t *all = vt_xcalloc(nr + 1, 1);
	struct vt_cover cover = { walk->needs.items, walk->needs.len, costs, nr };
	int has_flops = 1;

	for (size_t i = 0; i < nr; i++)
		has_flops &= fitting->layers.items[i].flops > 0;
	for (size_t i = 0; i < nr; i++) {
		costs[i] = has_flops ? fitting->layers.items[i].flops
				     : (double)fitting->layers.items[i].kept_bytes;
		all[i] = 1;
	}
	for (size_t n = 0; n < walk->needs.len; n++)
		walk->needs.items[n].bytes -= limit;
	if (!has_flops)
		fitting->step_flops = 0;
	fitting->chosen = vt_xcalloc(nr + 1, 1);
	fitting->result = vt_cover_find(&cover, fitting->chosen);
	fitting->bytes = limit + vt_cover_worst(&cover, fitting->chosen);
	fitting->least_bytes = limit + vt_cover_worst(&cover, all);
	find_nearest(fitting, &cover, limit);
	free(costs);
	free(all);
}

static void search(struct vt_checkpoint_search *fitting, const struct vt_finding_context *context)
{
	struct vt_kept_layers kept = { 0 };
	struct walk walk = { .fitting = fitting, .kept = &kept };
	size_t nr;

	vt_kept_layers_init(&kept, context);
	nr = kept.layers.len;
	walk.items = vt_xcalloc(nr + 1, sizeof(*walk.items));
	walk.last_freed = vt_xcalloc(nr + 1, sizeof(*walk.last_freed));
	find_last_freed(&walk);
	walk.before = vt_xcalloc(nr + 1, sizeof(*walk.before));
	walk.highest = vt_xcalloc(nr + 1, sizeof(*walk.highest));
	name_layers(&walk);
	walk.saves = vt_xcalloc(fitting->layers.len + 1, sizeof(*walk.saves));
	count_flops(fitting, &kept, context);
	collect_levels(&walk);
	choose(&walk, (double)fitting->budget_bytes - (double)fitting->context_bytes);
	for (size_t n = 0; n < walk.needs.len; n++)
		free((double *)walk.needs.items[n].saves);
	vt_vector_release(&walk.needs);
	vt_map_release(&walk.found);
	free(walk.items);
	free(walk.last_freed);
	free(walk.before);
	free(walk.highest);
	free(walk.saves);
	vt_kept_layers_release(&kept);
}

static int refuse(const struct vt_analysis *analysis, const char *why, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", vt_db_path(analysis->db), why);
	return -1;
}

int vt_checkpoint_search_search(struct vt_checkpoint_search *fitting, struct vt_analysis *analysis,
				uint64_t budget_bytes, struct vt_diag *diag)
{
	struct vt_finding_context context = { .attribution = &analysis->attribution };
	int is_checkpointed;

	fitting->analysis = analysis;
	fitting->budget_bytes = budget_bytes;
	fitting->device = vt_measured_device(&analysis->model);
	if (!fitting->device)
		return refuse(analysis, "no blocks of a framework in it, only driver allocations",
			      diag);
	if (fitting->device->has_context)
		fitting->context_bytes = fitting->device->context_bytes;
	if (budget_bytes <= fitting->context_bytes)
		return refuse(analysis, "its context alone exceeds the budget", diag);
	context.device = fitting->device->id;
	vt_finding_context_init(
		&context, vt_model_peak(&analysis->model, context.device)->max_allocated_event);
	is_checkpointed = vt_kept_layers_has_checkpoints(&context);
	if (!is_checkpointed)
		search(fitting, &context);
	vt_finding_context_release(&context);
	if (is_checkpointed)
		return refuse(analysis, "it computes layers twice already (checkpointing)", diag);
	fitting->unfinished = vt_limits_unfinished(analysis);
	return 0;
}

double vt_checkpoint_search_flops(const struct vt_checkpoint_search *fitting, const uint8_t *chosen)
{
	double flops = 0;

	for (size_t i = 0; i < fitting->layers.len; i++)
		flops += chosen[i] && fitting->step_flops ? fitting->layers.items[i].flops : 0;
	return flops;
}

void vt_checkpoint_search_release(struct vt_checkpoint_search *fitting)
{
	for (size_t i = 0; i < fitting->layers.len; i++)
		free(fitting->layers.items[i].path);
	vt_vector_release(&fitting->layers);
	free(fitting->chosen);
	free(fitting->nearest);
	free(fitting->unfinished);
	memset(fitting, 0, sizeof(*fitting));
}
