/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLAN_PLAYER_H
#define VT_ANALYZER_PLAN_PLAYER_H

/*
 * What plays a plan to the allocator's model: its terms as blocks, taken and given back as stages
 * and layers come and go.  plan_replay.c says in which order.
 */

#include "analyzer/planner/formula_parts.h"
#include "analyzer/planner/load.h"
#include "analyzer/planner/owners.h"
#include "analyzer/planner/plan.h"
#include "analyzer/replay/allocator.h"

#define VT_PLAYER_MAX_OWNERS 32

/*
 * Tensors of all terms, each of which is a block.  Training has the most, 142505 of them, where
 * each of 60 layers has 384 experts (kimi-k2).
 */
#define VT_PLAYER_MAX_BLOCKS (1 << 18)

struct vt_player_block {
	struct vt_piece *piece;
	double asked;
	unsigned owner;
};

VT_VECTOR_DECLARE(vt_player_pile, struct vt_player_block);

struct vt_played {
	const struct vt_term *term;
	enum vt_played_kind kind;
	unsigned owner;
	struct vt_formula_parts parts;
	struct vt_player_pile held; /* VT_PLAYED_STAGED */
};

struct vt_player {
	const struct vt_plan *plan;
	struct vt_settings settings;
	struct vt_card card;
	struct vt_pools pools;
	struct vt_load_tensors tensors;
	VT_VECTOR(struct vt_played) terms;
	struct vt_player_pile *layers; /* of the encoder, then of the text */
	uint64_t nr_layers, nr_encoder;
	struct vt_player_pile gradients, states, passing, libraries, casts;
	const char *owners[VT_PLAYER_MAX_OWNERS];
	double ends[VT_PLAYER_MAX_OWNERS];
	uint64_t allocated_bytes; /* at most, and the ends of then: */
	struct vt_owner_sums peak_ends;
};

/* What the plan's terms are, played.  0, or -1 where their tensors are more than that. */
int vt_player_read_terms(struct vt_player *p);

/* The number of an owner; `owner` is borrowed.  The last one stands for all behind it. */
unsigned vt_player_owner(struct vt_player *p, const char *owner);

/* Notes what is allocated, where that is more than before. */
void vt_player_note_peak(struct vt_player *p);

/* One block, which is the caller's to give back; and piles of them. */
struct vt_player_block vt_player_take(struct vt_player *p, unsigned owner, double bytes);
void vt_player_give(struct vt_player *p, const struct vt_player_block *block);
void vt_player_give_all(struct vt_player *p, struct vt_player_pile *pile);
/* Less than a byte is none. */
void vt_player_put(struct vt_player *p, struct vt_player_pile *pile, unsigned owner, double bytes);
/* All of its tensors, of one layer where it has layers. */
void vt_player_put_part(struct vt_player *p, struct vt_player_pile *pile, unsigned owner,
			const struct vt_formula_part *part);

/* Gives back what is not there in that stage; then takes what is. */
void vt_player_leave_for(struct vt_player *p, enum vt_plan_stage stage);
void vt_player_enter(struct vt_player *p, enum vt_plan_stage stage);

/*
 * Whether that layer is one of those that the part counts.  Dense ones come before mixtures; those
 * with attention, or without a window, are spread among the others, which a plan only counts.
 */
int vt_player_is_in(const struct vt_player *p, const struct vt_formula_part *part, uint64_t layer);

/* The terms of that kind: what one layer has of them, or what is in no layer. */
void vt_player_take_layered(struct vt_player *p, enum vt_played_kind kind, uint64_t layer,
			    struct vt_player_pile *pile);
void vt_player_take_plain(struct vt_player *p, enum vt_played_kind kind,
			  struct vt_player_pile *pile);

#endif
