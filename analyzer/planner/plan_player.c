/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/plan_player.h"

#include <string.h>

/* --- blocks ----------------------------------------------------------------------------------- */

unsigned vt_player_owner(struct vt_player *p, const char *owner)
{
	unsigned i = 0;

	while (i + 1 < VT_PLAYER_MAX_OWNERS && p->owners[i] && strcmp(p->owners[i], owner))
		i++;
	if (!p->owners[i])
		p->owners[i] = owner;
	return i;
}

void vt_player_note_peak(struct vt_player *p)
{
	if (p->pools.allocated_bytes <= p->allocated_bytes)
		return;
	p->allocated_bytes = p->pools.allocated_bytes;
	p->peak_ends.len = 0;
	for (unsigned i = 0; i < VT_PLAYER_MAX_OWNERS && p->owners[i]; i++) {
		struct vt_owner_sum sum = { .owner = p->owners[i], .bytes = p->ends[i] };

		vt_vector_push(&p->peak_ends, sum);
	}
}

struct vt_player_block vt_player_take(struct vt_player *p, unsigned owner, double bytes)
{
	struct vt_player_block block = {
		.piece = vt_allocator_take(&p->pools, (uint64_t)(bytes + 0.5), 0, 0),
		.asked = bytes,
		.owner = owner,
	};

	if (block.piece)
		p->ends[owner] += (double)block.piece->size_bytes - bytes;
	return block;
}

void vt_player_give(struct vt_player *p, const struct vt_player_block *block)
{
	if (!block->piece)
		return;
	p->ends[block->owner] -= (double)block->piece->size_bytes - block->asked;
	vt_allocator_give(&p->pools, block->piece);
}

void vt_player_give_all(struct vt_player *p, struct vt_player_pile *pile)
{
	for (size_t i = 0; i < pile->len; i++)
		vt_player_give(p, &pile->items[i]);
	pile->len = 0;
}

void vt_player_put(struct vt_player *p, struct vt_player_pile *pile, unsigned owner, double bytes)
{
	if (bytes >= 1)
		vt_vector_push(pile, vt_player_take(p, owner, bytes));
}

void vt_player_put_part(struct vt_player *p, struct vt_player_pile *pile, unsigned owner,
			const struct vt_formula_part *part)
{
	double count = part->count;

	/* What is less than one is a share of one. */
	for (; count >= 1; count--)
		vt_player_put(p, pile, owner, part->bytes);
	vt_player_put(p, pile, owner, part->bytes * count);
}

/* --- what a term is --------------------------------------------------------------------------- */

/* What a run that ends with forward has until its end is like what passes through its layers. */
static enum vt_played_kind kind_of(const struct vt_term *term)
{
	const unsigned forward = VT_IN(FIRST_LAYER) | VT_IN(FORWARD);
	int is_to_the_end = term->stages & VT_IN(FORWARD) && !(term->stages & ~forward);

	return term->played == VT_PLAYED_STAGED && is_to_the_end ? VT_PLAYED_PASSING :
								   term->played;
}

/* All that a term's tensors are, in every layer that has them. */
static double count_tensors(const struct vt_played *one)
{
	double nr = 0;

	for (size_t i = 0; i < one->parts.len; i++) {
		const struct vt_formula_part *part = &one->parts.items[i];

		nr += part->count * (part->layers ? part->layers : 1);
	}
	return nr;
}

int vt_player_read_terms(struct vt_player *p)
{
	double nr_blocks = 0;

	for (size_t i = 0; i < p->plan->terms.len; i++) {
		struct vt_played one = { .term = &p->plan->terms.items[i] };

		vt_formula_split(one.term->formula, &p->plan->symbols, &one.parts);
		one.kind = kind_of(one.term);
		one.owner = vt_player_owner(p, one.term->owner);
		nr_blocks += count_tensors(&one);
		vt_vector_push(&p->terms, one);
	}
	return nr_blocks <= VT_PLAYER_MAX_BLOCKS ? 0 : -1;
}

/* --- stages and layers ------------------------------------------------------------------------ */

void vt_player_leave_for(struct vt_player *p, enum vt_plan_stage stage)
{
	for (size_t i = 0; i < p->terms.len; i++) {
		struct vt_played *one = &p->terms.items[i];

		if (one->kind == VT_PLAYED_STAGED && !(one->term->stages & 1u << stage))
			vt_player_give_all(p, &one->held);
	}
}

void vt_player_enter(struct vt_player *p, enum vt_plan_stage stage)
{
	vt_player_leave_for(p, stage);
	for (size_t i = 0; i < p->terms.len; i++) {
		struct vt_played *one = &p->terms.items[i];

		if (one->kind != VT_PLAYED_STAGED || !(one->term->stages & 1u << stage) ||
		    one->held.len)
			continue;
		for (size_t j = 0; j < one->parts.len; j++)
			vt_player_put_part(p, &one->held, one->owner, &one->parts.items[j]);
	}
	vt_player_note_peak(p);
}

/* The last of every so many, as hybrids have attention and others layers without a window. */
static int is_turn(uint64_t layer, uint64_t counted, uint64_t layers)
{
	return (layer + 1) * counted / layers > layer * counted / layers;
}

int vt_player_is_in(const struct vt_player *p, const struct vt_formula_part *part, uint64_t layer)
{
	uint64_t text = p->nr_layers - p->nr_encoder, counted = (uint64_t)part->layers;

	if (!strcmp(part->layer_name, "Lenc"))
		return layer < p->nr_encoder;
	if (!part->layers || layer < p->nr_encoder)
		return 0;
	layer -= p->nr_encoder;
	if (counted >= text)
		return 1;
	if (!strcmp(part->layer_name, "La") || !strcmp(part->layer_name, "Lfull"))
		return is_turn(layer, counted, text);
	if (!strcmp(part->layer_name, "Lmix") || !strcmp(part->layer_name, "Lwindow"))
		return !is_turn(layer, text - counted, text);
	return strcmp(part->layer_name, "Lmoe") ? layer < counted : layer + counted >= text;
}

void vt_player_take_layered(struct vt_player *p, enum vt_played_kind kind, uint64_t layer,
			    struct vt_player_pile *pile)
{
	for (size_t i = 0; i < p->terms.len; i++) {
		struct vt_played *one = &p->terms.items[i];

		for (size_t j = 0; one->kind == kind && j < one->parts.len; j++)
			if (vt_player_is_in(p, &one->parts.items[j], layer))
				vt_player_put_part(p, pile, one->owner, &one->parts.items[j]);
	}
}

void vt_player_take_plain(struct vt_player *p, enum vt_played_kind kind,
			  struct vt_player_pile *pile)
{
	for (size_t i = 0; i < p->terms.len; i++) {
		struct vt_played *one = &p->terms.items[i];

		for (size_t j = 0; one->kind == kind && j < one->parts.len; j++)
			vt_player_put_part(p, pile, one->owner, &one->parts.items[j]);
	}
}
