/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/plan_replay.h"

#include <string.h>

#include "analyzer/planner/formula_parts.h"
#include "analyzer/planner/sizes.h"
#include "analyzer/planner/terms.h"
#include "analyzer/replay/allocator.h"

#define MAX_OWNERS 32

/* Steps of training and micro-batches of each: the second of either is like those behind it. */
#define PLAYED_TURNS 2

/* Tokens of a generation that are played: growing caches pass through these lengths. */
#define PLAYED_TOKENS 64

struct block {
	struct vt_piece *piece;
	double asked;
	unsigned owner;
};

VT_VECTOR_DECLARE(pile, struct block);

enum kind {
	PARAMETERS, /* follow the list of tensors instead */
	STAGED,     /* there while a stage that it is live in is */
	PASSING,    /* in every layer's forward anew */
	KEPT,       /* taken by a layer forward, given back by it backward */
	RECOMPUTED, /* ... and by checkpointing in both directions */
	BURST,      /* in every layer's backward anew */
	GROWING,    /* caches that are concatenated */
	HEADS,      /* there while the head goes backward */
	LIBRARY,    /* a workspace of each thread's own, from its first product on */
	PASSED_OVER,
};

struct played {
	const struct vt_term *term;
	enum kind kind;
	unsigned owner;
	struct vt_formula_parts parts;
	struct pile held; /* STAGED */
};

struct player {
	const struct vt_plan *plan;
	struct vt_plan_replay *result;
	struct vt_settings settings;
	struct vt_card card;
	struct vt_pools pools;
	struct vt_load_tensors tensors;
	VT_VECTOR(struct played) terms;
	struct pile *layers; /* of the encoder, then of the text */
	uint64_t nr_layers, nr_encoder;
	struct pile gradients, states, passing, libraries;
	const char *owners[MAX_OWNERS];
	double ends[MAX_OWNERS];
};

/* --- blocks ----------------------------------------------------------------------------------- */

static unsigned owner_of(struct player *p, const char *owner)
{
	unsigned i = 0;

	while (i + 1 < MAX_OWNERS && p->owners[i] && strcmp(p->owners[i], owner))
		i++;
	if (!p->owners[i])
		p->owners[i] = owner;
	return i;
}

static void note_peak(struct player *p)
{
	if (p->pools.allocated_bytes <= p->result->allocated_bytes)
		return;
	p->result->allocated_bytes = p->pools.allocated_bytes;
	p->result->ends.len = 0;
	for (unsigned i = 0; i < MAX_OWNERS && p->owners[i]; i++) {
		struct vt_owner_sum sum = { .owner = p->owners[i], .bytes = p->ends[i] };

		vt_vector_push(&p->result->ends, sum);
	}
}

static struct block take(struct player *p, unsigned owner, double bytes)
{
	struct block block = { vt_allocator_take(&p->pools, (uint64_t)(bytes + 0.5), 0, 0), bytes,
			       owner };

	if (block.piece)
		p->ends[owner] += (double)block.piece->size_bytes - bytes;
	return block;
}

static void give(struct player *p, const struct block *block)
{
	if (!block->piece)
		return;
	p->ends[block->owner] -= (double)block->piece->size_bytes - block->asked;
	vt_allocator_give(&p->pools, block->piece);
}

static void give_all(struct player *p, struct pile *pile)
{
	for (size_t i = 0; i < pile->len; i++)
		give(p, &pile->items[i]);
	pile->len = 0;
}

static void put(struct player *p, struct pile *pile, unsigned owner, double bytes)
{
	if (bytes >= 1)
		vt_vector_push(pile, take(p, owner, bytes));
}

static void put_part(struct player *p, struct pile *pile, unsigned owner,
		     const struct vt_formula_part *part)
{
	double count = part->count;

	/* What is less than one is a share of one. */
	for (; count >= 1; count--)
		put(p, pile, owner, part->bytes);
	put(p, pile, owner, part->bytes * count);
}

/* --- what a term is --------------------------------------------------------------------------- */

static int is_named(const char *formula, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strstr(formula, names[i]))
			return 1;
	return 0;
}

static int is_layered(const struct played *one)
{
	for (size_t i = 0; i < one->parts.len; i++)
		if (one->parts.items[i].layers)
			return 1;
	return 0;
}

static enum kind kind_of(const struct vt_plan *plan, const struct played *one)
{
	static const char *const of_parameters[] = { "Ptrained", "Padapters", "Pquantised", "P*",
						     "Pstored", "tails", "factors" };
	const struct vt_term *term = one->term;
	const unsigned both = VT_IN(BACKWARD_TOP) | VT_IN(BACKWARD_BOTTOM);
	const unsigned decode = VT_IN(DECODE), stages = term->stages;

	if (!strcmp(term->owner, "weights") || !strcmp(term->owner, "buffers") ||
	    is_named(term->formula, of_parameters, VT_ARRAY_SIZE(of_parameters)))
		return PARAMETERS;
	if (!strcmp(term->owner, "context"))
		return PASSED_OVER;
	if (!strcmp(term->owner, "workspace/cublas"))
		return LIBRARY;
	if (!strcmp(term->owner, "logits") && stages == VT_IN(BACKWARD_TOP))
		return HEADS;
	if (!strcmp(term->owner, "kv cache") && stages == decode)
		return is_layered(one) && vt_terms_is_concatenated(plan) ? GROWING : PASSED_OVER;
	if (is_layered(one))
		return stages & VT_IN(FORWARD) ? KEPT : PASSED_OVER;
	if (stages & VT_IN(FORWARD))
		return (stages & ~(VT_IN(FIRST_LAYER) | VT_IN(FORWARD))) == 0 ? PASSING : STAGED;
	if (vt_plan_is_training(plan) && stages & VT_IN(FIRST_LAYER)) {
		if ((stages & both) == both)
			return RECOMPUTED;
		/* One layer's worth of what is also there as a whole. */
		return stages & VT_IN(BACKWARD_BOTTOM) ? PASSED_OVER : STAGED;
	}
	return (stages & both) == both ? BURST : STAGED;
}

static void read_terms(struct player *p)
{
	for (size_t i = 0; i < p->plan->terms.len; i++) {
		struct played one = { .term = &p->plan->terms.items[i] };

		vt_formula_split(one.term->formula, &p->plan->symbols, &one.parts);
		one.kind = kind_of(p->plan, &one);
		one.owner = owner_of(p, one.term->owner);
		vt_vector_push(&p->terms, one);
	}
}

/* --- stages and layers ------------------------------------------------------------------------ */

static void leave_for(struct player *p, enum vt_plan_stage stage)
{
	for (size_t i = 0; i < p->terms.len; i++) {
		struct played *one = &p->terms.items[i];

		if (one->kind == STAGED && !(one->term->stages & 1u << stage))
			give_all(p, &one->held);
	}
}

static void enter(struct player *p, enum vt_plan_stage stage)
{
	leave_for(p, stage);
	for (size_t i = 0; i < p->terms.len; i++) {
		struct played *one = &p->terms.items[i];

		if (one->kind != STAGED || !(one->term->stages & 1u << stage) || one->held.len)
			continue;
		for (size_t j = 0; j < one->parts.len; j++)
			put_part(p, &one->held, one->owner, &one->parts.items[j]);
	}
	note_peak(p);
}

/* Whether that layer is one of those that the part counts; dense ones come before mixtures. */
static int is_in(const struct player *p, const struct vt_formula_part *part, uint64_t layer)
{
	uint64_t text = p->nr_layers - p->nr_encoder, counted = (uint64_t)part->layers;

	if (!strcmp(part->layer_name, "Lenc"))
		return layer < p->nr_encoder;
	if (!part->layers || layer < p->nr_encoder)
		return 0;
	layer -= p->nr_encoder;
	return strcmp(part->layer_name, "Lmoe") ? layer < counted : layer + counted >= text;
}

static void take_layered(struct player *p, enum kind kind, uint64_t layer, struct pile *pile)
{
	for (size_t i = 0; i < p->terms.len; i++) {
		struct played *one = &p->terms.items[i];

		for (size_t j = 0; one->kind == kind && j < one->parts.len; j++)
			if (is_in(p, &one->parts.items[j], layer))
				put_part(p, pile, one->owner, &one->parts.items[j]);
	}
}

static void take_plain(struct player *p, enum kind kind, struct pile *pile)
{
	for (size_t i = 0; i < p->terms.len; i++) {
		struct played *one = &p->terms.items[i];

		for (size_t j = 0; one->kind == kind && j < one->parts.len; j++)
			put_part(p, pile, one->owner, &one->parts.items[j]);
	}
}

/* --- parameters ------------------------------------------------------------------------------- */

static uint64_t layer_of(const struct player *p, const struct vt_load_tensor *tensor)
{
	if (tensor->layer == VT_LOAD_NO_LAYER || !tensor->tensor)
		return VT_LOAD_NO_LAYER;
	if (tensor->tensor->part == VT_PART_ENCODER)
		return tensor->layer;
	return tensor->tensor->part == VT_PART_TEXT ? tensor->layer + p->nr_encoder :
						      VT_LOAD_NO_LAYER;
}

static int is_trained(const struct player *p, const struct vt_load_tensor *tensor)
{
	return tensor->tensor && vt_sizes_is_trained(p->plan, tensor->tensor);
}

static int is_of_head(const struct player *p, const struct vt_plan_tensor *tensor)
{
	return tensor->role == (p->plan->model->is_tied ? VT_ROLE_EMBEDDING : VT_ROLE_HEAD) &&
	       tensor->rows == p->plan->model->stacks[VT_PART_TEXT].vocabulary;
}

/* What backward makes in that layer; outside of all layers, of the head or of all else. */
static void take_gradients(struct player *p, uint64_t layer, int is_head)
{
	double g = vt_plan_symbol(p->plan, "g");
	unsigned owner = owner_of(p, "gradients");

	for (size_t i = 0; i < p->tensors.len; i++) {
		const struct vt_load_tensor *t = &p->tensors.items[i];

		if (!is_trained(p, t) || layer_of(p, t) != layer ||
		    (layer == VT_LOAD_NO_LAYER && is_of_head(p, t->tensor) != is_head))
			continue;
		put(p, &p->gradients, owner, (double)t->elements * g);
	}
	note_peak(p);
}

/* A tied embedding has a gradient of its own; its sum with the head's takes that one's place. */
static void add_tied_gradients(struct player *p)
{
	double g = vt_plan_symbol(p->plan, "g");
	unsigned owner = owner_of(p, "gradients");
	struct pile two = { 0 };

	for (size_t i = 0; p->plan->model->is_tied && i < p->tensors.len; i++) {
		const struct vt_load_tensor *t = &p->tensors.items[i];

		if (!is_trained(p, t) || t->layer != VT_LOAD_NO_LAYER || !is_of_head(p, t->tensor))
			continue;
		put(p, &two, owner, (double)t->elements * g);
		put(p, &two, owner, (double)t->elements * g);
		note_peak(p);
	}
	give_all(p, &two);
	vt_vector_release(&two);
}

static void take_casts(struct player *p, uint64_t layer, struct pile *pile)
{
	double e = vt_plan_symbol(p->plan, "e");
	unsigned owner = owner_of(p, "weights/cast");

	for (size_t i = 0; vt_plan_setting(p->plan, VT_SET_AUTOCAST) && i < p->tensors.len; i++) {
		const struct vt_load_tensor *t = &p->tensors.items[i];

		if (t->tensor && layer_of(p, t) == layer &&
		    (t->tensor->role == VT_ROLE_LINEAR || t->tensor->role == VT_ROLE_EXPERT))
			put(p, pile, owner, (double)t->elements * e);
	}
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

static void take_per_parameter(struct player *p, struct pile *pile, const char *name, unsigned each)
{
	double o = vt_plan_symbol(p->plan, "o");
	unsigned owner = owner_of(p, name);

	for (size_t i = 0; i < p->tensors.len; i++)
		for (unsigned j = 0; is_trained(p, &p->tensors.items[i]) && j < each; j++)
			put(p, pile, owner, (double)p->tensors.items[i].elements * o);
	note_peak(p);
}

/*
 * The thread that runs backward has a handle of its own: what it takes at its first product lies
 * where the loss has just been, and stays.
 */
static void take_library(struct player *p, size_t thread)
{
	size_t nr_threads = vt_plan_is_training(p->plan) ? 2 : 1;

	for (size_t i = 0; p->libraries.len == thread && i < p->terms.len; i++)
		if (p->terms.items[i].kind == LIBRARY)
			put(p, &p->libraries, p->terms.items[i].owner,
			    p->terms.items[i].term->bytes / (double)nr_threads);
}

/* --- runs ------------------------------------------------------------------------------------- */

static void load(struct player *p)
{
	struct vt_load load = { 0 };
	unsigned owner = owner_of(p, "weights");

	vt_sizes_to_load(p->plan, &load);
	vt_load_play(&load, &p->pools, &p->tensors);
	p->ends[owner] += (double)(load.allocated_bytes - load.requested_bytes);
	enter(p, VT_PLANNED_LOAD);
}

/* What the layer gives is taken while it still has the last of what it needs. */
static struct block hand_over(struct player *p)
{
	double bytes = vt_plan_symbol(p->plan, "T") * vt_plan_symbol(p->plan, "h") *
		       vt_plan_symbol(p->plan, "r");
	struct block given;

	while (p->passing.len > 1) {
		p->passing.len--;
		give(p, &p->passing.items[p->passing.len]);
	}
	given = take(p, owner_of(p, "activations/residual"), bytes);
	give_all(p, &p->passing);
	return given;
}

/* Scores and those with the mask come, and one goes, before a softmax in fp32 takes any. */
static void take_scores(struct player *p)
{
	double bytes = vt_plan_symbol(p->plan, "T") * vt_plan_symbol(p->plan, "a") *
		       vt_plan_symbol(p->plan, "s") * vt_plan_symbol(p->plan, "e");
	unsigned owner = owner_of(p, "activations/attention");
	struct pile scores = { 0 };

	if (!vt_terms_is_eager(p->plan) || !p->plan->model->stacks[VT_PART_TEXT].heads)
		return;
	put(p, &scores, owner, bytes);
	put(p, &scores, owner, bytes);
	give_all(p, &scores);
	vt_vector_release(&scores);
}

static void forward(struct player *p)
{
	struct block stream = { 0 };

	enter(p, VT_PLANNED_FIRST_LAYER);
	enter(p, VT_PLANNED_FORWARD);
	take_library(p, 0);
	for (uint64_t layer = 0; layer < p->nr_layers; layer++) {
		/* Without backward the layer's input is a term of its widest moment. */
		struct block input = stream;

		if (!vt_plan_is_training(p->plan))
			give(p, &input);
		take_scores(p);
		take_casts(p, layer, &p->layers[layer]);
		take_plain(p, PASSING, &p->passing);
		take_plain(p, RECOMPUTED, &p->passing);
		take_layered(p, KEPT, layer, &p->layers[layer]);
		note_peak(p);
		stream = hand_over(p);
		if (vt_plan_is_training(p->plan))
			give(p, &input);
	}
	give(p, &stream);
}

static void backward(struct player *p)
{
	enter(p, VT_PLANNED_LOSS);
	enter(p, VT_PLANNED_BACKWARD_LOSS);
	leave_for(p, VT_PLANNED_BACKWARD_NORM);
	take_plain(p, HEADS, &p->passing);
	take_gradients(p, VT_LOAD_NO_LAYER, 1);
	take_library(p, 1);
	give_all(p, &p->passing);
	enter(p, VT_PLANNED_BACKWARD_NORM);
	enter(p, VT_PLANNED_BACKWARD_TOP);
	for (uint64_t layer = p->nr_layers; layer-- > 0;) {
		if (!layer)
			enter(p, VT_PLANNED_BACKWARD_BOTTOM);
		take_plain(p, RECOMPUTED, &p->passing);
		take_plain(p, BURST, &p->passing);
		note_peak(p);
		take_gradients(p, layer, 0);
		give_all(p, &p->layers[layer]);
		give_all(p, &p->passing);
	}
	enter(p, VT_PLANNED_BACKWARD_END);
	take_gradients(p, VT_LOAD_NO_LAYER, 0);
	add_tied_gradients(p);
}

static void train(struct player *p)
{
	int64_t accumulate = vt_plan_setting(p->plan, VT_SET_ACCUMULATE);
	int is_foreach = vt_plan_setting(p->plan, VT_SET_OPTIMIZER_LOOP) == VT_LOOP_FOREACH;

	for (unsigned step = 0; step < PLAYED_TURNS; step++) {
		struct pile first = { 0 };

		for (int64_t micro = 0; micro < accumulate && micro < PLAYED_TURNS; micro++) {
			forward(p);
			/* They are added to those of the batch before, and go. */
			if (micro) {
				first = p->gradients;
				p->gradients = (struct pile){ 0 };
			}
			backward(p);
			if (micro) {
				give_all(p, &p->gradients);
				vt_vector_release(&p->gradients);
				p->gradients = first;
			}
		}
		enter(p, VT_PLANNED_STEP);
		if (!step)
			take_per_parameter(p, &p->states, "optimizer",
					   states_per_parameter(p->plan));
		if (is_foreach && states_per_parameter(p->plan) == 2)
			take_per_parameter(p, &p->passing, "workspace/optimizer", 1);
		give_all(p, &p->passing);
		give_all(p, &p->gradients);
	}
}

/* One layer's keys and values at that length, and those of the token before go one by one. */
static void grow(struct player *p, uint64_t layer, double share)
{
	struct pile *old = &p->layers[layer], grown = { 0 };

	for (size_t i = 0; i < p->terms.len; i++) {
		struct played *one = &p->terms.items[i];

		for (size_t j = 0; one->kind == GROWING && j < one->parts.len; j++) {
			struct vt_formula_part part = one->parts.items[j];

			if (!is_in(p, &part, layer))
				continue;
			part.bytes *= share;
			put_part(p, &grown, one->owner, &part);
			note_peak(p);
			if (grown.len <= old->len)
				give(p, &old->items[grown.len - 1]);
		}
	}
	for (size_t i = grown.len; i < old->len; i++)
		vt_vector_push(&grown, old->items[i]);
	vt_vector_release(old);
	*old = grown;
}

static void infer(struct player *p)
{
	double new = vt_plan_symbol(p->plan, "n"), prompt = vt_plan_symbol(p->plan, "sd");
	double turns = new < PLAYED_TOKENS ? new : PLAYED_TOKENS;

	forward(p);
	enter(p, VT_PLANNED_LOGITS);
	if (new < 1)
		return;
	enter(p, VT_PLANNED_DECODE);
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
	       !vt_plan_setting(plan, VT_SET_LORA) && !vt_plan_setting(plan, VT_SET_MASTER) &&
	       (!vt_plan_is_training(plan) || optimizer == VT_OPTIMIZER_ADAMW ||
		optimizer == VT_OPTIMIZER_SGD || optimizer == VT_OPTIMIZER_MOMENTUM);
}

static void release(struct player *p)
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
	vt_vector_release(&p->tensors);
	vt_pools_release(&p->pools);
	vt_card_release(&p->card);
}

void vt_plan_replay_run(struct vt_plan_replay *replay, const struct vt_plan *plan)
{
	struct player p = { .plan = plan, .result = replay };

	if (!is_playable(plan))
		return;
	vt_settings_init(&p.settings, NULL);
	vt_card_init(&p.card, UINT64_MAX);
	vt_pools_init(&p.pools, &p.settings, &p.card, 0);
	p.nr_encoder = plan->model->stacks[VT_PART_ENCODER].layers;
	p.nr_layers = p.nr_encoder + plan->model->stacks[VT_PART_TEXT].layers;
	read_terms(&p);
	load(&p);
	if (p.tensors.len && p.nr_layers <= 2 * VT_LOAD_MAX_TENSORS) {
		p.layers = vt_xcalloc(p.nr_layers + 1, sizeof(*p.layers));
		if (vt_plan_is_training(plan))
			train(&p);
		else
			infer(&p);
		replay->is_played = 1;
		replay->reserved_bytes = p.pools.reserved_bytes;
	} else {
		p.nr_layers = 0;
	}
	release(&p);
}

void vt_plan_replay_release(struct vt_plan_replay *replay)
{
	vt_vector_release(&replay->ends);
}
