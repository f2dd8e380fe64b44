/* SPDX-License-Identifier: MIT */
/*
 * A remembered frame stands for its present self if all that is read of it for the stack reads the
 * same: the code, the instruction, the first argument, and what those two are (python_known.h).
 * That says nothing of the frame outside of it, so each is compared, outwards, by the same chain of
 * pointers that a full walk follows; no word is read that a full walk would not read.
 */
#include "preload/python_walk.h"

#include <stddef.h>
#include <string.h>

#include "preload/ids.h"
#include "preload/python_code.h"
#include "preload/python_frame.h"
#include "preload/python_known.h"
#include "preload/python_read.h"
#include "preload/python_self.h"
#include "preload/stacks.h"
#include "preload/thread_state.h"

/* Entry frames lie between frames with code; a chain longer than this is damaged. */
#define LONGEST_CHAIN (4 * VT_STACK_MAX_FRAMES)

/* 64 threads that allocate at the same time; more share places.  Only touched pages cost memory. */
#define NR_PLACES 64u

/* Different functions, and types of first arguments, on one stack: rarely half as many. */
#define NR_CODES 256u
#define NR_TYPES 128u

/* By a frame's address, the level that it was: a guess. */
#define GUESS_BITS 9
#define NR_GUESSES (1u << GUESS_BITS)

struct level {
	const void *frame;	/* NULL: must be looked at each time */
	uint64_t code;		/* as they stand in the frame */
	uint64_t instruction;
	uint64_t local;
	const struct vt_python_known_code *what;
	uint64_t what_version;
	/* Where the first argument is: its cell, if it is in one, the object and what it is. */
	const void *cell;
	const void *object;
	const void *type;
	const struct vt_python_known_type *kind;
	uint64_t kind_version;
	struct vt_python_frame found;
	uint64_t own_call;	/* the module whose call this is, 0: none */
	uint64_t module_call;	/* outermost of those up to this level */
};

struct place {
	uint32_t is_busy;	/* atomic */
	uint32_t generation;	/* of the recording that the ids belong to */
	uint64_t walk;
	uint64_t version;
	uint32_t nr;		/* levels, outermost first */
	uint16_t guesses[NR_GUESSES];
	struct level levels[VT_STACK_MAX_FRAMES];
	/* While a walk runs: what is new, innermost first. */
	struct level fresh[VT_STACK_MAX_FRAMES];
	struct vt_key keys[VT_STACK_MAX_FRAMES]; /* of the stack up to each level */
	struct vt_python_known_code codes[NR_CODES];
	struct vt_python_known_type types[NR_TYPES];
} __attribute__((aligned(64)));

static struct {
	struct place places[NR_PLACES];
} g;

/* One walk. */
struct walk {
	const struct vt_python *python;
	struct vt_python_known known;
	struct place *place;
	uint64_t instruction_mask;	/* until 3.10 it is an int */
	uint32_t nr_fresh;
	uint32_t nr_steps;
	/* The levels from `inner` outwards to `outer` are the frames walked last. */
	uint32_t is_sharing;
	uint32_t inner;
	uint32_t outer;
};

static uint64_t word_at(const void *base, size_t at)
{
	return (uint64_t)vt_python_read_size(base, at);
}

static const void *untagged(uint64_t reference)
{
	return (const void *)(uintptr_t)(reference & ~(uint64_t)VT_PYTHON_REFERENCE_TAG);
}

static void look_at_self(struct walk *walk, const void *code, struct level *level)
{
	const struct vt_python_self self = vt_python_self_read(walk->python, level->frame, code);

	level->object = self.object;
	level->type = self.type;
	if (self.where == VT_PYTHON_SELF_CELL)
		level->cell = untagged(level->local);
	if (self.type) {
		level->kind = vt_python_self_look(&walk->python->abi, &walk->known, self.type);
		level->kind_version = level->kind->head.version;
		level->found.self_type = level->kind->name;
	}
	if (level->found.self_type)
		level->found.self_address = (uint64_t)(uintptr_t)self.object;
	if (self.where == VT_PYTHON_SELF_MOVED || (self.object && !self.type))
		level->frame = NULL;
}

/* Looks at one frame in full.  Returns 0 for one without code. */
static int look(struct walk *walk, const void *frame, struct level *level)
{
	const struct vt_python_abi *abi = &walk->python->abi;
	const void *code = vt_python_frame_code(walk->python, frame);
	const struct vt_python_known_code *what;

	if (!code)
		return 0;
	what = vt_python_code_of(abi, &walk->known, code);
	*level = (struct level){
		.frame = frame,
		.code = word_at(frame, abi->frame_code),
		.instruction = word_at(frame, abi->frame_instruction) & walk->instruction_mask,
		.local = word_at(frame, abi->frame_locals),
		.what = what,
		.what_version = what->head.version,
		.found.code = what->id,
		.found.instruction_bytes = vt_python_frame_instruction(abi, frame, code),
	};
	if (what->nr_arguments > 0)
		look_at_self(walk, code, level);
	if (what->is_call)
		level->own_call = level->found.self_address;
	return 1;
}

/* The frame holds the same code pointer: whether that is still the same code. */
static __attribute__((noinline)) int is_same_code(struct walk *walk, const struct level *level)
{
	const struct vt_python_abi *abi = &walk->python->abi;
	const void *code = untagged(level->code);

	return vt_python_read_type(abi, code) == walk->python->code_type &&
	       vt_python_code_of(abi, &walk->known, code)->head.version == level->what_version;
}

static __attribute__((noinline)) int is_same_type(struct walk *walk, const struct level *level)
{
	return vt_python_self_look(&walk->python->abi, &walk->known, level->type)->head.version ==
	       level->kind_version;
}

/* Each of these leads to the next: nothing is read behind a pointer that is another. */
static inline int is_unchanged(struct walk *walk, const struct level *level, const void *frame)
{
	const struct vt_python_abi *abi = &walk->python->abi;

	if (level->frame != frame || word_at(frame, abi->frame_code) != level->code ||
	    (word_at(frame, abi->frame_instruction) & walk->instruction_mask) !=
		    level->instruction ||
	    word_at(frame, abi->frame_locals) != level->local)
		return 0;
	if ((level->what->head.version != level->what_version ||
	     level->what->head.walk != walk->known.walk) &&
	    !is_same_code(walk, level))
		return 0;
	if (level->cell &&
	    (vt_python_read_type(abi, level->cell) != walk->python->cell_type ||
	     vt_python_read_pointer(level->cell, abi->cell_content) != level->object))
		return 0;
	if (!level->object)
		return 1;
	return vt_python_read_type(abi, level->object) == level->type &&
	       ((level->kind->head.version == level->kind_version &&
		 level->kind->head.walk == walk->known.walk) ||
		is_same_type(walk, level));
}

static uint16_t *guess_of(struct place *place, const void *frame)
{
	return &place->guesses[(uintptr_t)frame * 0x9e3779b97f4a7c15ull >> (64 - GUESS_BITS)];
}

/* What was taken for the rest of the stack is a piece of it only. */
static void stop_sharing(struct walk *walk)
{
	struct place *place = walk->place;

	if (!walk->is_sharing)
		return;
	for (uint32_t i = walk->inner + 1; i-- > walk->outer;)
		place->fresh[walk->nr_fresh++] = place->levels[i];
	walk->is_sharing = 0;
}

/* Whether the frame is one from which on to compare. */
static int may_share(struct walk *walk, const void *frame)
{
	struct place *place = walk->place;
	uint32_t guess = *guess_of(place, frame);

	if (guess >= place->nr || !is_unchanged(walk, &place->levels[guess], frame))
		return 0;
	walk->is_sharing = 1;
	walk->inner = walk->outer = guess;
	return 1;
}

/* While sharing. */
static uint32_t depth_of(const struct walk *walk)
{
	return walk->nr_fresh + walk->inner - walk->outer + 1;
}

static const void *previous_of(const struct walk *walk, const void *frame)
{
	return vt_python_read_pointer(frame, walk->python->abi.frame_previous);
}

static int is_codeless(const struct walk *walk, const void *frame)
{
	uint16_t owner = walk->python->abi.frame_owner;

	return owner && ((const unsigned char *)frame)[owner] >= VT_PYTHON_FIRST_CODELESS_OWNER;
}

/*
 * From a frame that is a level, outwards as long as frames and levels agree.  Returns the first
 * frame that does not, NULL where there is none.
 */
static const void *share(struct walk *walk, const void *frame)
{
	const struct level *level = &walk->place->levels[walk->outer];

	while ((frame = previous_of(walk, frame)) && walk->nr_steps++ < LONGEST_CHAIN) {
		if (is_codeless(walk, frame))
			continue;
		if (level == walk->place->levels || !is_unchanged(walk, level - 1, frame))
			break;
		level--;
	}
	walk->outer = (uint32_t)(level - walk->place->levels);
	return frame;
}

/* Returns -1 for a stack that is too deep to be remembered. */
static int follow(struct walk *walk)
{
	/* In a free-threaded build the same instruction pointer may be another instruction. */
	const int is_shareable = !walk->python->abi.code_copies;
	const void *frame = vt_python_frame_innermost(walk->python);

	while (frame && walk->nr_steps++ < LONGEST_CHAIN) {
		if (is_shareable && !is_codeless(walk, frame) && may_share(walk, frame)) {
			frame = share(walk, frame);
			if (depth_of(walk) > VT_STACK_MAX_FRAMES)
				return -1;
			if (!frame && !walk->outer)
				return 0;
			stop_sharing(walk);
			continue;
		}
		if (walk->nr_fresh == VT_STACK_MAX_FRAMES)
			return -1;
		if (look(walk, frame, &walk->place->fresh[walk->nr_fresh]))
			walk->nr_fresh++;
		frame = previous_of(walk, frame);
	}
	return 0;
}

static struct vt_key push(struct vt_key key, const struct vt_python_frame *frame)
{
	key = vt_ids_key_push(key, (uint64_t)frame->instruction_bytes << 32 | frame->code);
	key = vt_ids_key_push(key, frame->self_address);
	return vt_ids_key_push(key, frame->self_type);
}

/* The new levels go on top of those that are shared. */
static void put_together(struct walk *walk)
{
	struct place *place = walk->place;
	uint32_t nr = walk->is_sharing ? walk->inner + 1 : 0;
	struct vt_key key = nr ? place->keys[nr - 1] : vt_ids_key_start();
	uint64_t module_call = nr ? place->levels[nr - 1].module_call : 0;

	while (walk->nr_fresh) {
		struct level *level = &place->levels[nr];

		*level = place->fresh[--walk->nr_fresh];
		if (!module_call)
			module_call = level->own_call;
		level->module_call = module_call;
		key = push(key, &level->found);
		place->keys[nr] = key;
		*guess_of(place, level->frame) = (uint16_t)nr;
		nr++;
	}
	place->nr = nr;
}

/* The ids of an earlier recording (before a fork) mean nothing in this one. */
static void forget(struct place *place, uint32_t generation)
{
	place->generation = generation;
	place->nr = 0;
	memset(place->codes, 0, sizeof(place->codes));
	memset(place->types, 0, sizeof(place->types));
}

static struct place *enter(void)
{
	struct place *place = &g.places[vt_thread_id() % NR_PLACES];
	uint32_t generation = vt_thread_generation();
	uint32_t idle = 0;

	if (!__atomic_compare_exchange_n(&place->is_busy, &idle, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return NULL;
	if (place->generation != generation)
		forget(place, generation);
	return place;
}

static void leave(struct place *place)
{
	__atomic_store_n(&place->is_busy, 0, __ATOMIC_RELEASE);
}

/* Brings a place up to date with the calling thread's stack.  NULL: it has to do without. */
static struct place *remember(const struct vt_python *python)
{
	struct place *place = enter();
	struct walk walk = {
		.python = python,
		.place = place,
		.instruction_mask = python->abi.minor <= 10 ? UINT32_MAX : UINT64_MAX,
	};

	if (!place)
		return NULL;
	walk.known = (struct vt_python_known){
		.walk = ++place->walk,
		.version = &place->version,
		.codes = place->codes,
		.types = place->types,
		.nr_codes = NR_CODES,
		.nr_types = NR_TYPES,
	};
	if (follow(&walk)) {
		place->nr = 0;
		leave(place);
		return NULL;
	}
	put_together(&walk);
	return place;
}

/* The innermost frames with nothing kept. */
static unsigned int walk_in_full(const struct vt_python *python, struct vt_python_frame *frames)
{
	struct vt_python_known_code code = { 0 };
	struct vt_python_known_type type = { 0 };
	uint64_t version = 0;
	struct walk walk = {
		.python = python,
		.known = { .walk = 1, .version = &version, .codes = &code, .types = &type,
			   .nr_codes = 1, .nr_types = 1 },
	};
	const void *frame = vt_python_frame_innermost(python);
	uint64_t module_call = 0;
	unsigned int nr = 0, steps = 0;
	struct level level;

	for (; frame && nr < VT_STACK_MAX_FRAMES && steps < LONGEST_CHAIN; steps++) {
		if (look(&walk, frame, &level)) {
			frames[nr++] = level.found;
			if (level.own_call)
				module_call = level.own_call;
		}
		frame = previous_of(&walk, frame);
	}
	vt_thread_self()->module_call = module_call;
	return nr;
}

/* What is remembered, innermost first. */
static void copy(const struct place *place, struct vt_python_frame *frames)
{
	for (uint32_t i = place->nr; i-- > 0;)
		*frames++ = place->levels[i].found;
}

static uint32_t intern_in_full(const struct vt_python *python)
{
	struct vt_python_frame frames[VT_STACK_MAX_FRAMES];
	unsigned int nr = walk_in_full(python, frames);
	struct vt_key key = vt_ids_key_start();

	for (unsigned int i = nr; i-- > 0;)
		key = push(key, &frames[i]);
	key = vt_ids_key_finish(key);
	return nr ? vt_stacks_intern_python(&key, frames, nr) : 0;
}

static __attribute__((noinline)) uint32_t define(const struct place *place,
						 const struct vt_key *key)
{
	struct vt_python_frame frames[VT_STACK_MAX_FRAMES];

	copy(place, frames);
	return vt_stacks_intern_python(key, frames, place->nr);
}

uint32_t vt_python_walk_intern(const struct vt_python *python)
{
	struct place *place = remember(python);
	struct vt_key key;
	uint32_t id = 0;

	if (!place)
		return intern_in_full(python);
	vt_thread_self()->module_call = place->nr ? place->levels[place->nr - 1].module_call : 0;
	if (place->nr) {
		key = vt_ids_key_finish(place->keys[place->nr - 1]);
		id = vt_stacks_find_python(&key);
		if (!id)
			id = define(place, &key);
	}
	leave(place);
	return id;
}

/* In a fork child another thread of the parent may have been in a place. */
void vt_python_walk_reset(void)
{
	for (uint32_t i = 0; i < NR_PLACES; i++)
		if (__atomic_load_n(&g.places[i].is_busy, __ATOMIC_RELAXED))
			__atomic_store_n(&g.places[i].is_busy, 0, __ATOMIC_RELAXED);
}
