/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/plan_replay.h"

#include <string.h>

#include "analyzer/planner/plan_player.h"
#include "analyzer/planner/formula_symbols.h"
#include "analyzer/planner/term_facts.h"

/* Steps of training and micro-batches of each: the second of either is like those behind it. */
#define PLAYED_TURNS 2

/* Tokens of a generation that are played: growing caches pass through these lengths. */
#define PLAYED_TOKENS 64

/* --- parameters ------------------------------------------------------------------------------- */

static uint64_t layer_of(const struct vt_player *p, const struct vt_load_tensor *tensor)
{
	if (tensor->layer == VT_LOAD_NO_LAYER || !tensor->tensor)
		return VT_LOAD_NO_LAYER;
	if (tensor->tensor->part == VT_PART_ENCODER)
		return tensor->layer;
	return tensor->tensor->part == VT_PART_TEXT ? tensor->layer + p->nr_encoder :
						      VT_LOAD_NO_LAYER;
}

static int is_trained(const struct vt_player *p, const struct vt_load_tensor *tensor)
{
	return tensor->tensor && vt_formula_symbols_is_trained(p->plan, tensor->tensor);
}

static int is_of_head(const struct vt_player *p, const struct vt_plan_tensor *tensor)
{
	return tensor->role == (p->plan->model->is_tied ? VT_ROLE_EMBEDDING : VT_ROLE_HEAD) &&
	       tensor->rows == p->plan->model->stacks[VT_PART_TEXT].vocabulary;
}

/* What backward makes in that layer; outside of all layers, of the head or of all else. */
static void take_gradients(struct vt_player *p, uint64_t layer, int is_head)
{
	double g = vt_plan_symbol(p->plan, "g");
	unsigned owner = vt_player_owner(p, "gradients");

	for (size_t i = 0; i < p->tensors.len; i++) {
		const struct vt_load_tensor *t = &p->tensors.items[i];

		if (!is_trained(p, t) || layer_of(p, t) != layer ||
		    (layer == VT_LOAD_NO_LAYER && is_of_head(p, t->tensor) != is_head))
			continue;
		vt_player_put(p, &p->gradients, owner, (double)t->elements * g);
	}
	vt_player_note_peak(p);
}

/* A tied embedding has a gradient of its own; its sum with the head's takes that one's place. */
static void add_tied_gradients(struct vt_player *p)
{
	double g = vt_plan_symbol(p->plan, "g");
	unsigned owner = vt_player_owner(p, "gradients");
	struct vt_player_pile two = { 0 };

	for (size_t i = 0; p->plan->model->is_tied && i < p->tensors.len; i++) {
		const struct vt_load_tensor *t = &p->tensors.items[i];

		if (!is_trained(p, t) || t->layer != VT_LOAD_NO_LAYER || !is_of_head(p, t->tensor))
			continue;
		vt_player_put(p, &two, owner, (double)t->elements * g);
		vt_player_put(p, &two, owner, (double)t->elements * g);
		vt_player_note_peak(p);
	}
	vt_player_give_all(p, &two);
	vt_vector_release(&two);
}

static int is_cast(const struct vt_player *p, const struct vt_load_tensor *t, uint64_t layer)
{
	if (!t->tensor || layer_of(p, t) != layer)
		return 0;
	if (layer == VT_LOAD_NO_LAYER && is_of_head(p, t->tensor))
		return !p->plan->model->stacks[VT_PART_TEXT].has_no_head;
	return t->tensor->role == VT_ROLE_LINEAR || t->tensor->role == VT_ROLE_EXPERT;
}

/* Of a layer's weights; outside of all layers, of the head's and what else is a product. */
static void take_casts(struct vt_player *p, uint64_t layer, struct vt_player_pile *pile)
{
	double e = vt_plan_symbol(p->plan, "e");
	unsigned owner = vt_player_owner(p, "weights/cast");

	for (size_t i = 0; vt_term_facts_casting(p->plan) && i < p->tensors.len; i++)
		if (is_cast(p, &p->tensors.items[i], layer))
			vt_player_put(p, pile, owner, (double)p->tensors.items[i].elements * e);
}

static unsigned states_per_parameter(const struct vt_plan *plan)
{
	switch (vt_plan_setting(plan, VT_SET_OPTIMIZER)) {
	case VT_OPTIMIZER_ADAMW:
		return 2;
	case VT_OPTIMIZER_MOMENTUM:
		return 1;
	default:
		return 0;
	}
}

static void take_per_parameter(struct vt_player *p, struct vt_player_pile *pile, const char *name,
			       unsigned each)
{
	double o = vt_plan_symbol(p->plan, "o");
	unsigned owner = vt_player_owner(p, name);

	for (size_t i = 0; i < p->tensors.len; i++)
		for (unsigned j = 0; is_trained(p, &p->tensors.items[i]) && j < each; j++)
			vt_player_put(p, pile, owner, (double)p->tensors.items[i].elements * o);
	vt_player_note_peak(p);
}

/*
 * The thread that runs backward has a handle of its own: what it takes at its first product lies
 * where the loss has just been, and stays.
 */
static void take_library(struct vt_player *p, size_t thread)
{
	size_t nr_threads = vt_plan_is_training(p->plan) ? 2 : 1;

	for (size_t i = 0; p->libraries.len == thread && i < p->terms.len; i++)
		if (p->terms.items[i].kind == VT_PLAYED_LIBRARY)
			vt_player_put(p, &p->libraries, p->terms.items[i].owner,
			    p->terms.items[i].term->bytes / (double)nr_threads);
}

/* --- runs ------------------------------------------------------------------------------------- */

static void load(struct vt_player *p)
{
	struct vt_load load = { 0 };
	unsigned owner = vt_player_owner(p, "weights");

	vt_formula_symbols_to_load(p->plan, &load);
	vt_load_play(&load, &p->pools, &p->tensors);
	p->ends[owner] += (double)(load.allocated_bytes - load.requested_bytes);
	vt_player_enter(p, VT_PLANNED_LOAD);
}

/* What the layer gives is taken while it still has the last of what it needs. */
static struct vt_player_block hand_over(struct vt_player *p)
{
	double bytes = vt_plan_symbol(p->plan, "T") * vt_plan_symbol(p->plan, "h") *
		       vt_plan_symbol(p->plan, "r");
	struct vt_player_block given;

	while (p->passing.len > 1) {
		p->passing.len--;
		vt_player_give(p, &p->passing.items[p->passing.len]);
	}
	given = vt_player_take(p, vt_player_owner(p, "activations/residual"), bytes);
	vt_player_give_all(p, &p->passing);
	return given;
}

/* Scores and those with the mask come, and one goes, before a softmax in fp32 takes any. */
static void take_scores(struct vt_player *p)
{
	double bytes = vt_plan_symbol(p->plan, "T") * vt_plan_symbol(p->plan, "a") *
		       vt_plan_symbol(p->plan, "s") * vt_plan_symbol(p->plan, "e");
	unsigned owner = vt_player_owner(p, "activations/attention");
	struct vt_player_pile scores = { 0 };

	if (!vt_term_facts_eager(p->plan) || !p->plan->model->stacks[VT_PART_TEXT].heads)
		return;
	vt_player_put(p, &scores, owner, bytes);
	vt_player_put(p, &scores, owner, bytes);
	vt_player_give_all(p, &scores);
	vt_vector_release(&scores);
}

static void forward(struct vt_player *p)
{
	struct vt_player_block stream = { 0 };
	int is_training = vt_plan_is_training(p->plan);

	vt_player_enter(p, VT_PLANNED_FIRST_LAYER);
	vt_player_enter(p, VT_PLANNED_FORWARD);
	take_library(p, 0);
	for (uint64_t layer = 0; layer < p->nr_layers; layer++) {
		/* Without backward the layer's input is a term of its widest moment. */
		struct vt_player_block input = stream;

		if (!is_training)
			vt_player_give(p, &input);
		take_scores(p);
		/* Backward lets go of a layer's; without it they stay until autocast ends. */
		take_casts(p, layer, is_training ? &p->layers[layer] : &p->casts);
		vt_player_take_plain(p, VT_PLAYED_PASSING, &p->passing);
		vt_player_take_plain(p, VT_PLAYED_RECOMPUTED, &p->passing);
		vt_player_take_layered(p, VT_PLAYED_KEPT, layer, &p->layers[layer]);
		vt_player_note_peak(p);
		stream = hand_over(p);
		if (is_training)
			vt_player_give(p, &input);
	}
	vt_player_give(p, &stream);
	take_casts(p, VT_LOAD_NO_LAYER, &p->casts);
	vt_player_note_peak(p);
}

static void backward(struct vt_player *p)
{
	vt_player_enter(p, VT_PLANNED_LOSS);
	vt_player_enter(p, VT_PLANNED_BACKWARD_LOSS);
	vt_player_leave_for(p, VT_PLANNED_BACKWARD_NORM);
	vt_player_take_plain(p, VT_PLAYED_HEADS, &p->passing);
	take_gradients(p, VT_LOAD_NO_LAYER, 1);
	take_library(p, 1);
	vt_player_give_all(p, &p->passing);
	vt_player_give_all(p, &p->casts);
	vt_player_enter(p, VT_PLANNED_BACKWARD_NORM);
	vt_player_enter(p, VT_PLANNED_BACKWARD_TOP);
	for (uint64_t layer = p->nr_layers; layer-- > 0;) {
		if (!layer)
			vt_player_enter(p, VT_PLANNED_BACKWARD_BOTTOM);
		vt_player_take_plain(p, VT_PLAYED_RECOMPUTED, &p->passing);
		vt_player_take_plain(p, VT_PLAYED_TRANSIENT, &p->passing);
		vt_player_note_peak(p);
		take_gradients(p, layer, 0);
		vt_player_give_all(p, &p->layers[layer]);
		vt_player_give_all(p, &p->passing);
	}
	vt_player_enter(p, VT_PLANNED_BACKWARD_END);
	take_gradients(p, VT_LOAD_NO_LAYER, 0);
	add_tied_gradients(p);
}

static void train(struct vt_player *p)
{
	int64_t accumulate = vt_plan_setting(p->plan, VT_SET_ACCUMULATE);
	int is_foreach = vt_plan_setting(p->plan, VT_SET_OPTIMIZER_LOOP) == VT_LOOP_FOREACH;

	for (unsigned step = 0; step < PLAYED_TURNS; step++) {
		struct vt_player_pile first = { 0 };

		for (int64_t micro = 0; micro < accumulate && micro < PLAYED_TURNS; micro++) {
			forward(p);
			/* They are added to those of the batch before, and go. */
			if (micro) {
				first = p->gradients;
				p->gradients = (struct vt_player_pile){ 0 };
			}
			backward(p);
			if (micro) {
				vt_player_give_all(p, &p->gradients);
				vt_vector_release(&p->gradients);
				p->gradients = first;
			}
		}
		vt_player_enter(p, VT_PLANNED_STEP);
		if (!step)
			take_per_parameter(p, &p->states, "optimizer",
					   states_per_parameter(p->plan));
		if (is_foreach && states_per_parameter(p->plan) == 2)
			take_per_parameter(p, &p->passing, "workspace/optimizer", 1);
		vt_player_give_all(p, &p->passing);
		vt_player_give_all(p, &p->gradients);
	}
}

/* One layer's keys and values at that length, and those of the token before go one by one. */
static void grow(struct vt_player *p, uint64_t layer, double share)
{
	struct vt_player_pile *old = &p->layers[layer], grown = { 0 };

	for (size_t i = 0; i < p->terms.len; i++) {
		struct vt_played *one = &p->terms.items[i];

		for (size_t j = 0; one->kind == VT_PLAYED_GROWING && j < one->parts.len; j++) {
			struct vt_formula_part part = one->parts.items[j];
			size_t at = grown.len;

			if (!vt_player_is_in(p, &part, layer))
				continue;
			part.bytes *= share;
			vt_player_put_part(p, &grown, one->owner, &part);
			vt_player_note_peak(p);
			/* A part is as many blocks as it has tensors, none below a byte. */
			for (; at < grown.len && at < old->len; at++)
				vt_player_give(p, &old->items[at]);
		}
	}
	for (size_t i = grown.len; i < old->len; i++)
		vt_vector_push(&grown, old->items[i]);
	vt_vector_release(old);
	*old = grown;
}

static void infer(struct vt_player *p)
{
	double new = vt_plan_symbol(p->plan, "n"), prompt = vt_plan_symbol(p->plan, "sd");
	double turns = new < PLAYED_TOKENS ? new : PLAYED_TOKENS;

	forward(p);
	vt_player_enter(p, VT_PLANNED_LOGITS);
	if (new < 1)
		return;
	vt_player_enter(p, VT_PLANNED_DECODE);
	for (double turn = 1; turn <= turns; turn++)
		for (uint64_t layer = 0; layer < p->nr_layers; layer++)
			grow(p, layer, (prompt + new * turn / turns) / (prompt + new));
}

/* --- whole plans ------------------------------------------------------------------------------ */

static int is_one_device(const struct vt_plan *plan)
{
	static const enum vt_setting ranks[] = { VT_SET_TENSOR, VT_SET_PIPELINE,
						 VT_SET_CONTEXT_PARALLEL, VT_SET_DATA };

	for (size_t i = 0; i < VT_ARRAY_SIZE(ranks); i++)
		if (vt_plan_setting(plan, ranks[i]) > 1)
			return 0;
	return 1;
}

/* Packed weights, adapters and states in 8 bits are not the list of tensors that is played. */
static int is_playable(const struct vt_plan *plan)
{
	int64_t optimizer = vt_plan_setting(plan, VT_SET_OPTIMIZER);

	return !plan->model->is_nominal && is_one_device(plan) &&
	       !vt_plan_setting(plan, VT_SET_QUANTISE) && !vt_plan_setting(plan, VT_SET_OFFLOAD) &&
	       !vt_plan_setting(plan, VT_SET_LORA) &&
	       !vt_plan_setting(plan, VT_SET_CHECKPOINTED) &&
	       !vt_plan_setting(plan, VT_SET_MASTER) &&
	       (!vt_plan_is_training(plan) || optimizer == VT_OPTIMIZER_ADAMW ||
		optimizer == VT_OPTIMIZER_SGD || optimizer == VT_OPTIMIZER_MOMENTUM);
}

static void release(struct vt_player *p)
{
	for (size_t i = 0; i < p->terms.len; i++) {
		vt_vector_release(&p->terms.items[i].parts);
		vt_vector_release(&p->terms.items[i].held);
	}
	vt_vector_release(&p->terms);
	for (uint64_t i = 0; i < p->nr_layers; i++)
		vt_vector_release(&p->layers[i]);
	free(p->layers);
	vt_vector_release(&p->gradients);
	vt_vector_release(&p->states);
	vt_vector_release(&p->passing);
	vt_vector_release(&p->libraries);
	vt_vector_release(&p->casts);
	vt_vector_release(&p->peak_ends);
	vt_vector_release(&p->tensors);
	vt_pools_release(&p->pools);
	vt_card_release(&p->card);
}

void vt_plan_replay_run(struct vt_plan_replay *replay, const struct vt_plan *plan)
{
	struct vt_player p = { .plan = plan };
	int is_bounded;

	if (!is_playable(plan))
		return;
	vt_settings_init(&p.settings, NULL);
	vt_card_init(&p.card, UINT64_MAX);
	vt_pools_init(&p.pools, &p.settings, &p.card, 0);
	p.nr_encoder = plan->model->stacks[VT_PART_ENCODER].layers;
	p.nr_layers = p.nr_encoder + plan->model->stacks[VT_PART_TEXT].layers;
	is_bounded = !vt_player_read_terms(&p);
	load(&p);
	if (is_bounded && p.tensors.len && p.nr_layers <= 2 * VT_LOAD_MAX_TENSORS) {
		p.layers = vt_xcalloc(p.nr_layers + 1, sizeof(*p.layers));
		if (vt_plan_is_training(plan))
			train(&p);
		else
			infer(&p);
		replay->is_played = 1;
		replay->reserved_bytes = p.pools.reserved_bytes;
		replay->allocated_bytes = p.allocated_bytes;
		replay->ends = p.peak_ends;
		p.peak_ends = (struct vt_owner_sums){ 0 };
	} else {
		p.nr_layers = 0;
	}
	release(&p);
}

void vt_plan_replay_release(struct vt_plan_replay *replay)
{
	vt_vector_release(&replay->ends);
}
