/* SPDX-License-Identifier: MIT */
/*
 * A remembered frame represents its present self if all that is read of it for the stack reads the
 * same (frame_cache.h).  That says nothing of the frame outside of it, so each is compared,
 * outwards, by the same chain of pointers that a full walk follows; no word is read that a full
 * walk would not read.
 *
 * Where a frame is another but the one outside of it is where it was, it is exchanged in its
 * place: a model that calls the next of its layers differs in the middle of its stack.  Where
 * frames have come or gone, what was compared so far is put aside and the walk continues until it
 * meets a remembered frame again.
 */
#include "preload/python_walk.h"

#include <stddef.h>
#include <string.h>

#include "preload/ids.h"
#include "preload/python_frame.h"
#include "preload/python_frees.h"
#include "preload/code_cache.h"
#include "preload/frame_cache.h"
#include "preload/stacks.h"
#include "preload/thread_state.h"

/* Entry frames lie between frames with code; a chain longer than this is damaged. */
#define LONGEST_CHAIN (4 * VT_STACK_MAX_FRAMES)

/* 64 threads that allocate at the same time; more share places.  Only touched pages cost memory. */
#define NR_PLACES 64u

/* Functions of different code, and types, that can be known at a time: a stack has rarely half. */
#define NR_CODES 512u
#define NR_TYPES 256u

/* Levels that were found lately, in whatever stack: what a place of the stack holds alternates. */
#define SEEN_BITS 8
#define NR_SEEN (1u << SEEN_BITS)

/* By a frame's address, the level that it was: a guess. */
#define GUESS_BITS 9
#define NR_GUESSES (1u << GUESS_BITS)

struct place {
	uint32_t is_busy;	/* atomic */
	uint32_t generation;	/* of the recording that the ids belong to */
	uint32_t nr;		/* levels, outermost first */
	uint32_t id;		/* of the stack that they are, 0 = not known */
	uint16_t guesses[NR_GUESSES];
	struct vt_frame_cache_entry levels[VT_STACK_MAX_FRAMES];
	/* While a walk runs: what is new, innermost first. */
	struct vt_frame_cache_entry fresh[VT_STACK_MAX_FRAMES];
	struct vt_key keys[VT_STACK_MAX_FRAMES]; /* of the stack up to each level */
	uint64_t module_calls[VT_STACK_MAX_FRAMES]; /* outermost of those up to each level */
	struct vt_frame_cache_entry seen[NR_SEEN];
	struct vt_code_cache known;
	struct vt_cached_code codes[NR_CODES + 1];
	struct vt_cached_type types[NR_TYPES + 1];
	struct vt_code_cache_head *used_codes[NR_CODES];
	struct vt_code_cache_head *used_types[NR_TYPES];
} __attribute__((aligned(64)));

static struct {
	struct place places[NR_PLACES][VT_STACK_MEMORIES];
} g;

/* One walk. */
struct walk {
	const struct vt_python *python;
	struct place *place;
	uint32_t nr_fresh;
	uint32_t nr_steps;
	uint32_t nr_kept;	/* outermost levels that are this stack's */
	uint32_t nr_same;	/* of these, the outermost so many are as they were */
};

/* In a free-threaded build the same instruction pointer may be another instruction. */
static int is_shareable(const struct walk *walk)
{
	return !walk->python->abi.code_copies;
}

static uint16_t *guess_of(struct place *place, const void *frame)
{
	return &place->guesses[(uintptr_t)frame * 0x9e3779b97f4a7c15ull >> (64 - GUESS_BITS)];
}

static void use(struct vt_code_cache *known, const struct vt_frame_cache_entry *level)
{
	vt_code_cache_use(known, &known->used_codes, &level->what->head);
	if (level->kind)
		vt_code_cache_use(known, &known->used_types, &level->kind->head);
}

static void leave_level(struct vt_code_cache *known, const struct vt_frame_cache_entry *level)
{
	vt_code_cache_leave(known, &known->used_codes, &level->what->head);
	if (level->kind)
		vt_code_cache_leave(known, &known->used_types, &level->kind->head);
}

static struct vt_frame_cache_entry *seen_of(struct place *place, const struct vt_python_abi *abi,
				       const void *frame)
{
	uint64_t instruction = vt_watch_read((const char *)frame + abi->frame_instruction);
	uint64_t mixed = ((uintptr_t)frame ^ instruction << 16) * 0x9e3779b97f4a7c15ull;

	return &place->seen[mixed >> (64 - SEEN_BITS)];
}

/*
 * What one frame is, and keeps what it refers to.  For one without code only `outer` is set.  Valid
 * until the next one.
 */
static const struct vt_frame_cache_entry *look(struct walk *walk, const void *frame)
{
	const struct vt_python_abi *abi = &walk->python->abi;
	struct vt_code_cache *known = &walk->place->known;
	struct vt_frame_cache_entry *level = seen_of(walk->place, abi, frame);

	if (!is_shareable(walk) || level->frame != frame ||
	    !vt_frame_cache_renew(abi, known, level)) {
		if (!vt_frame_cache_look(walk->python, known, frame, level))
			return level;
		/* The entry used where there is no place will soon be of something else. */
		if (known->is_full)
			vt_frame_cache_spoil(level);
	}
	use(known, level);
	return level;
}

/* Whether stacks with the one and with the other in the same place are the same. */
static int finds_the_same(const struct vt_frame_cache_entry *a,
			  const struct vt_frame_cache_entry *b)
{
	return a->found.code == b->found.code &&
	       a->found.instruction_bytes == b->found.instruction_bytes &&
	       a->found.self_address == b->found.self_address &&
	       a->found.self_type == b->found.self_type;
}

/* The level is another now.  Returns whether what lies outside of it is where it was. */
static int exchange(struct walk *walk, uint32_t index, const struct vt_frame_cache_entry *now)
{
	struct place *place = walk->place;
	struct vt_frame_cache_entry *level = &place->levels[index];

	if (!now->what || now->outer != (index ? level[-1].frame : NULL))
		return 0;
	leave_level(&place->known, level);
	if (walk->nr_same > index && !finds_the_same(level, now))
		walk->nr_same = index;
	*level = *now;
	return 1;
}

/* Puts the levels from `inner` outwards to `outer` aside. */
static int put_aside(struct walk *walk, uint32_t inner, uint32_t outer)
{
	struct place *place = walk->place;

	if (walk->nr_fresh + (inner + 1 - outer) >= VT_STACK_MAX_FRAMES)
		return -1;
	for (uint32_t i = inner + 1; i-- > outer;) {
		use(&place->known, &place->levels[i]);
		place->fresh[walk->nr_fresh++] = place->levels[i];
	}
	return 0;
}

/*
 * From a level that represents `*frame` outwards.  Returns 1 if the levels from there on are all of
 * the rest, 0 if the walk has to go on at *frame, -1 for a stack that is too deep.
 */
static int share(struct walk *walk, uint32_t index, const void **frame)
{
	struct place *place = walk->place;
	const struct vt_frame_cache_entry *now;
	uint32_t inner = index, nr = index + 1;

	for (;;) {
		nr -= vt_frame_cache_compare(&walk->python->abi, &place->levels[nr - 1], nr);
		if (!nr)
			break;
		now = look(walk, place->levels[nr - 1].frame);
		if (!exchange(walk, nr - 1, now)) {
			if (put_aside(walk, inner, nr))
				return -1;
			if (now->what)
				place->fresh[walk->nr_fresh++] = *now;
			*frame = now->outer;
			return 0;
		}
		if (!--nr)
			break;
	}
	walk->nr_kept = inner + 1;
	return 1;
}

/* Returns -1 for a stack that is too deep to be remembered. */
static int follow(struct walk *walk)
{
	struct place *place = walk->place;
	const void *frame = vt_python_frame_innermost(walk->python);

	walk->nr_fresh = walk->nr_steps = walk->nr_kept = 0;
	walk->nr_same = place->nr;
	while (frame && walk->nr_steps++ < LONGEST_CHAIN) {
		uint32_t guess = *guess_of(place, frame);
		const struct vt_frame_cache_entry *level;
		int found;

		if (is_shareable(walk) && guess < place->nr &&
		    place->levels[guess].frame == frame) {
			found = share(walk, guess, &frame);
			if (found)
				break;
			continue;
		}
		if (walk->nr_fresh == VT_STACK_MAX_FRAMES)
			return -1;
		level = look(walk, frame);
		if (level->what)
			place->fresh[walk->nr_fresh++] = *level;
		frame = level->outer;
	}
	return walk->nr_kept + walk->nr_fresh > VT_STACK_MAX_FRAMES ? -1 : 0;
}

/* An address has 47 bits: type and address share a word without loss up to 131,072 types. */
static struct vt_key push(struct vt_key key, const struct vt_python_frame *frame)
{
	uint64_t type = frame->self_type;

	return vt_ids_key_push_pair(key, (uint64_t)frame->instruction_bytes << 32 | frame->code,
				    frame->self_address ^ (type << 47 | type >> 17));
}

/* What is known of the levels from `nr` on follows from those outside of them. */
static void derive(struct place *place, uint32_t nr)
{
	struct vt_key key = nr ? place->keys[nr - 1] : vt_ids_key_start();
	uint64_t module_call = nr ? place->module_calls[nr - 1] : 0;

	for (; nr < place->nr; nr++) {
		const struct vt_frame_cache_entry *level = &place->levels[nr];

		if (!module_call)
			module_call = level->own_call;
		place->module_calls[nr] = module_call;
		key = push(key, &level->found);
		place->keys[nr] = key;
	}
}

/* The new levels go on top of those that are kept. */
static void put_together(struct walk *walk)
{
	struct place *place = walk->place;
	uint32_t nr = walk->nr_kept;

	if (!walk->nr_fresh && nr == place->nr && walk->nr_same == nr)
		return;
	while (place->nr > nr)
		leave_level(&place->known, &place->levels[--place->nr]);
	while (walk->nr_fresh) {
		struct vt_frame_cache_entry *level = &place->levels[nr];

		*level = place->fresh[--walk->nr_fresh];
		*guess_of(place, level->frame) = (uint16_t)nr;
		/* A frame between the two that is none: the way has to be found each time. */
		if (level->outer != (nr ? level[-1].frame : NULL))
			vt_frame_cache_spoil(level);
		nr++;
	}
	place->nr = nr;
	place->id = 0;
	derive(place, walk->nr_same < walk->nr_kept ? walk->nr_same : walk->nr_kept);
}

static void forget(struct place *place)
{
	place->nr = 0;
	place->id = 0;
	vt_code_cache_leave_all(&place->known);
}

/*
 * The ids of an earlier recording (before a fork) mean nothing in this one, and nothing that a
 * thread of the parent may have been writing is believed.
 */
static void start(struct place *place, uint32_t generation)
{
	if (place->known.walk) {
		memset(place->seen, 0, sizeof(place->seen));
		memset(place->codes, 0, sizeof(place->codes));
		memset(place->types, 0, sizeof(place->types));
	}
	place->generation = generation;
	place->nr = 0;
	place->id = 0;
	place->known = (struct vt_code_cache){
		.walk = 1,
		.codes = place->codes,
		.types = place->types,
		.nr_codes = NR_CODES,
		.nr_types = NR_TYPES,
		.used_codes = { .heads = place->used_codes },
		.used_types = { .heads = place->used_types },
	};
}

static struct place *enter(void)
{
	struct place *place = &g.places[vt_thread_id() % NR_PLACES][vt_thread_self()->memory];
	uint32_t generation = vt_thread_generation();
	uint32_t idle = 0;

	if (!__atomic_compare_exchange_n(&place->is_busy, &idle, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return NULL;
	if (place->generation != generation || !place->known.walk)
		start(place, generation);
	return place;
}

static void leave(struct place *place)
{
	/* What found no place to be known in cannot be compared the next time. */
	if (place->known.is_full)
		forget(place);
	__atomic_store_n(&place->is_busy, 0, __ATOMIC_RELEASE);
}

/* Brings a place up to date with the calling thread's stack.  NULL: it has to do without. */
static struct place *remember(const struct vt_python *python)
{
	struct place *place = enter();
	struct walk walk = { .python = python, .place = place };

	if (!place)
		return NULL;
	/* Other code at the place of what a frame had run: once more, without memories. */
	for (int round = 0; round < 2; round++) {
		place->known.walk++;
		place->known.frees = vt_python_frees_count();
		if (follow(&walk))
			break;
		put_together(&walk);
		if (vt_code_cache_is_all_same(&place->known))
			return place;
		forget(place);
	}
	forget(place);
	leave(place);
	return NULL;
}

/* With nothing kept: what one frame refers to is not needed for the next. */
static uint32_t intern_in_full(const struct vt_python *python)
{
	struct vt_python_frame frames[VT_STACK_MAX_FRAMES];
	struct vt_key key = vt_ids_key_start();
	const void *frame = vt_python_frame_innermost(python);
	uint64_t module_call = 0;
	unsigned int nr = 0, steps = 0;
	struct vt_cached_code code = { 0 };
	struct vt_cached_type type = { 0 };
	struct vt_code_cache known = {
		.walk = 1,
		.frees = vt_python_frees_count(),
		.codes = &code,
		.types = &type,
	};
	struct vt_frame_cache_entry level;

	for (; frame && nr < VT_STACK_MAX_FRAMES && steps < LONGEST_CHAIN; steps++) {
		if (vt_frame_cache_look(python, &known, frame, &level)) {
			frames[nr++] = level.found;
			if (level.own_call)
				module_call = level.own_call;
		}
		frame = level.outer;
	}
	vt_thread_self()->module_call = module_call;
	for (unsigned int i = nr; i-- > 0;)
		key = push(key, &frames[i]);
	key = vt_ids_key_finish(key);
	return nr ? vt_stacks_intern_python(&key, frames, nr) : 0;
}

/* The number of the remembered stack, which is new. */
static __attribute__((noinline)) uint32_t find(const struct place *place)
{
	struct vt_key key = vt_ids_key_finish(place->keys[place->nr - 1]);
	struct vt_python_frame frames[VT_STACK_MAX_FRAMES], *frame = frames;
	uint32_t id = vt_stacks_find_python(&key);

	if (id)
		return id;
	for (uint32_t i = place->nr; i-- > 0;)
		*frame++ = place->levels[i].found;
	return vt_stacks_intern_python(&key, frames, place->nr);
}

uint32_t vt_python_walk_intern(const struct vt_python *python)
{
	struct place *place = remember(python);
	uint32_t id;

	if (!place)
		return intern_in_full(python);
	vt_thread_self()->module_call = place->nr ? place->module_calls[place->nr - 1] : 0;
	if (place->nr && !place->id)
		place->id = find(place);
	id = place->id;
	/* There was no room for it, perhaps nor for what its frames run. */
	if (!id && place->nr)
		forget(place);
	leave(place);
	return id;
}

/* In a fork child another thread of the parent may have been in a place. */
void vt_python_walk_reset(void)
{
	struct place *places = &g.places[0][0];

	for (uint32_t i = 0; i < NR_PLACES * VT_STACK_MEMORIES; i++)
		if (__atomic_load_n(&places[i].is_busy, __ATOMIC_RELAXED))
			__atomic_store_n(&places[i].is_busy, 0, __ATOMIC_RELAXED);
}
