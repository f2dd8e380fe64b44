/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MEMO_H
#define VT_ANALYZER_MEMO_H

/*
 * Laps of a trace that a replay need not play.  Where the allocator is as it was when a lap of this
 * kind was played, and what the replay changes is the same, the lap comes to what it came to then:
 * nothing new but counts, and the blocks that it gives back and leaves behind.
 *
 * The allocator's state is what lives where: as long as no segment is taken or given back the rest
 * follows, since free neighbours are always joined.  Ages of free memory are more state, so all
 * laps are played where garbage collection counts them.
 */

#include "analyzer/base/map.h"
#include "analyzer/replay/replay_types.h"

/* What a lap gives back of older blocks, or leaves behind. */
struct vt_memo_block {
	uint64_t address;
	uint64_t size_bytes;
	uint32_t number; /* allocation, from vt_lap.first_allocation on where is_near */
	uint8_t is_near;
};

/* What a lap came to. */
struct vt_memo_lap {
	uint64_t occupied;
	uint64_t used_bytes;
	uint32_t nr_blocks;
	uint32_t nr_blocks_elsewhere;
	uint32_t nr_changes_other;
	uint32_t nr_reserved_other;
	uint32_t first_block;
	uint32_t nr_given;
	uint32_t nr_kept; /* behind them */
};

struct vt_memo {
	const struct vt_trace *trace;
	const struct vt_replay_options *options;
	size_t lap;      /* the one that begins at... */
	size_t boundary; /* ... the step before which vt_memo_at is asked; SIZE_MAX: no more */
	size_t next_changed;
	struct vt_map known; /* state and lap -> index into `laps` */
	VT_VECTOR(struct vt_memo_lap) laps;
	VT_VECTOR(struct vt_memo_block) blocks;
	/* How far the pools are behind the state: what was given back, but for them. */
	VT_VECTOR(struct vt_piece *) gone;
	/* Older blocks that steps besides the trace's concern in the lap. */
	VT_VECTOR(uint32_t) touched;
	/* The lap that is played and will be known: the state and counts before it. */
	struct vt_key key;
	struct vt_memo_lap before;
	uint8_t is_learning;
	uint8_t is_ahead; /* pools have yet to follow */
};

/* All borrowed. */
void vt_memo_init(struct vt_memo *memo, const struct vt_trace *trace,
		  const struct vt_replay_options *options);
void vt_memo_release(struct vt_memo *memo);

/* At `boundary`: returns how many steps to leave out, with `state` as it is behind them. */
size_t vt_memo_at(struct vt_memo *memo, struct vt_replay_state *state);

#endif
