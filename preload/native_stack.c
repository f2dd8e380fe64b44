/* SPDX-License-Identifier: MIT */
/*
 * A trace begins where our own frames end.  A remembered level that it meets is where the next
 * ones outwards are compared, each by the words that its step had read.  One that is not the same
 * is where the trace continues; as long as each new step leads to where a remembered one led, it
 * takes that one's place.  Where it does not, what was found so far is put aside and the trace
 * continues until it meets a remembered level again.
 *
 * Few functions use their caller's frame pointer as one, so it is not read at each step: a trace
 * carries where it is stored, and the word is read, and compared later, by steps that start from
 * it.
 */
#include "preload/native_stack.h"

#include <stddef.h>
#include <string.h>

#include "preload/native_frame.h"
#include "preload/real.h"
#include "preload/thread_state.h"
#include "preload/unwind.h"
#include "preload/watch.h"

/* 64 threads that allocate at the same time; more share places.  Only touched pages cost memory. */
#define NR_PLACES 64u

/* What the step that led to a level has read. */
struct level {
	struct vt_watch address;	/* below the stack pointer after that return */
	struct vt_watch frame_pointer;	/* that it started from, or `address` again */
};

struct vt_native_stack {
	uint64_t caller;	/* atomic: return address outside this library */
	uint32_t is_busy;	/* atomic */
	uint32_t generation;	/* of the unwinder's knowledge */
	uint32_t recording;	/* that the id belongs to */
	uint32_t id;		/* of the stack, 0 = not known */
	uint32_t nr;		/* levels, outermost first */
	uint32_t nr_plain;	/* from the outermost so many on, all steps are plain */
	struct level levels[VT_UNWIND_MOST_STEPS];
	uint32_t frames[VT_UNWIND_MOST_STEPS];	/* how each level is left; 0: not plain */
	struct vt_key keys[VT_UNWIND_MOST_STEPS]; /* of the stack up to each level */
	struct level fresh[VT_UNWIND_MOST_STEPS];
	uint32_t fresh_frames[VT_UNWIND_MOST_STEPS];
	struct vt_native_frames known;
};

/* One trace. */
struct trace {
	struct vt_native_stack *stack;
	/* Where it is; the step that led there is stored after what is put aside. */
	struct vt_unwind_place place;
	uint32_t is_plain;

	uint32_t nr_fresh;	/* put aside, innermost first */
	uint32_t next;		/* the remembered levels from here on lie below the trace */
	uint64_t next_top;	/* of the one outside of those, UINT64_MAX: there is none */
	uint32_t nr_same;	/* the outermost so many are as they were */
	/* The levels from `inner` outwards to `at` are the steps taken last. */
	uint32_t is_in_place;
	uint32_t inner;
	uint32_t at;
	uint32_t taken;		/* the one of them that was taken last, */
	uint64_t taken_slot;	/* and where the frame pointer was stored there */
};

static struct {
	struct vt_native_stack places[NR_PLACES][VT_STACK_MEMORIES];
} g;

static uint64_t top_of(const struct level *level)
{
	return (uint64_t)(uintptr_t)level->address.where + sizeof(uint64_t);
}

static const void *pointer(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

/* Anything else ends a stack. */
static int is_address(uint64_t word)
{
	return word >= VT_UNWIND_LOWEST_ADDRESS;
}

/* How many of the outermost `nr` levels are left when the same ones are taken off from inside. */
static uint32_t compare(const struct vt_native_stack *stack, uint32_t nr)
{
	const struct level *level = &stack->levels[nr];

	/* The frame pointer first: with another one, the address may lie where nothing is. */
#pragma GCC unroll 4
	for (; nr; nr--) {
		level--;
		if (vt_watch_read(level->frame_pointer.where) != level->frame_pointer.what ||
		    vt_watch_read(level->address.where) != level->address.what)
			break;
	}
	return nr;
}

/*
 * The frame pointer of that level is stored there; another function may have kept it elsewhere. The
 * step outwards that starts from it is compared with what it says there from now on.
 */
static void move_frame_pointer(struct vt_native_stack *stack, uint32_t index, uint64_t slot)
{
	for (; index; index--) {
		uint32_t frame = stack->frames[index];

		if (frame & VT_NATIVE_FRAME_FROM_FRAME_POINTER)
			stack->levels[index - 1].frame_pointer.where = pointer(slot);
		if (frame & (VT_NATIVE_FRAME_FROM_FRAME_POINTER | VT_NATIVE_FRAME_MOVES_SLOT))
			break;
	}
}

/* Where the frame pointer is stored at a level, which lies outside of the one taken last. */
static uint64_t slot_at(const struct trace *trace, uint32_t index)
{
	const struct vt_native_stack *stack = trace->stack;

	for (uint32_t inner = index + 1; inner <= trace->taken; inner++)
		if (stack->frames[inner] & VT_NATIVE_FRAME_MOVES_SLOT)
			return vt_native_frame_slot(stack->frames[inner],
						    top_of(&stack->levels[inner - 1]));
	return trace->taken_slot;
}

/*
 * The level `at` is as it was.  Goes to the last one outwards of which that is true.  Returns how
 * that is left, NULL if there is no other.
 */
static uint32_t *go_outwards(struct trace *trace)
{
	struct vt_native_stack *stack = trace->stack;
	uint32_t index = compare(stack, trace->at);

	if (!index)
		return NULL;
	if (index != trace->at)
		trace->place = (struct vt_unwind_place){
			.address = stack->levels[index].address.what,
			.top = top_of(&stack->levels[index]),
			.frame_pointer_slot = slot_at(trace, index),
		};
	trace->at = index;
	return &stack->frames[index];
}

static void set_next(struct trace *trace, uint32_t next)
{
	trace->next = next;
	trace->next_top = next ? top_of(&trace->stack->levels[next - 1]) : UINT64_MAX;
}

/* Returns -1 for a stack that is too deep. */
static int put_aside(struct trace *trace)
{
	struct vt_native_stack *stack = trace->stack;
	struct level here;

	trace->is_in_place = 0;
	set_next(trace, trace->at);
	if (trace->nr_fresh + (trace->inner + 1 - trace->at) + 1 >= VT_UNWIND_MOST_STEPS)
		return -1;
	here = stack->fresh[trace->nr_fresh];
	for (uint32_t i = trace->inner + 1; i-- > trace->at; trace->nr_fresh++) {
		stack->fresh[trace->nr_fresh] = stack->levels[i];
		stack->fresh_frames[trace->nr_fresh] = stack->frames[i];
	}
	stack->fresh[trace->nr_fresh] = here;
	return 0;
}

static uint32_t *keep(struct trace *trace)
{
	uint32_t *frame = &trace->stack->fresh_frames[trace->nr_fresh++];

	*frame = 0;
	return frame;
}

/* Takes the place of a level with the same top.  Returns whether it is the one that was there. */
static int take(struct trace *trace, uint32_t index)
{
	struct vt_native_stack *stack = trace->stack;
	int is_same = stack->levels[index].address.what == trace->place.address;

	stack->levels[index] = stack->fresh[trace->nr_fresh];
	if (!is_same)
		stack->frames[index] = 0;
	trace->at = trace->taken = index;
	trace->taken_slot = trace->place.frame_pointer_slot;
	if (is_same)
		move_frame_pointer(stack, index, trace->taken_slot);
	return is_same;
}

/* The level outside of `at`, if the step led to where that one is. */
static int is_taken(const struct trace *trace)
{
	return trace->is_in_place && trace->at && trace->is_plain &&
	       top_of(&trace->stack->levels[trace->at - 1]) == trace->place.top;
}

/* Only plain steps may be taken over, so the place to go on from must be one too. */
static int is_met(struct trace *trace)
{
	struct vt_native_stack *stack = trace->stack;

	while (trace->next_top < trace->place.top)
		set_next(trace, trace->next - 1);
	return trace->next_top == trace->place.top && trace->next <= stack->nr_plain &&
	       trace->is_plain &&
	       stack->levels[trace->next - 1].address.what == trace->place.address;
}

static __attribute__((noinline)) uint32_t *put_beside(struct trace *trace)
{
	struct vt_native_stack *stack = trace->stack;

	if (is_taken(trace)) {
		if (take(trace, trace->at - 1))
			return go_outwards(trace);
		trace->nr_same = trace->at;
		return &stack->frames[trace->at];
	}
	if (trace->is_in_place && put_aside(trace))
		return NULL;
	if (!is_met(trace))
		return keep(trace);
	trace->is_in_place = 1;
	trace->inner = trace->next - 1;
	take(trace, trace->inner);
	return go_outwards(trace);
}

/*
 * The trace's position becomes a level of the stack.  Returns how that is left; NULL: what is
 * outside of it is known, or there is no room.
 */
static uint32_t *put(struct trace *trace)
{
	/* Most of them lie where nothing is remembered. */
	if (trace->is_in_place || trace->place.top >= trace->next_top)
		return put_beside(trace);
	return keep(trace);
}

static inline void step_plainly(struct vt_unwind_place *place, uint32_t frame, struct level *level)
{
	uint64_t base = place->top, top, slot;

	if (frame & VT_NATIVE_FRAME_FROM_FRAME_POINTER) {
		level->frame_pointer = vt_watch_of(pointer(place->frame_pointer_slot), 0);
		base = level->frame_pointer.what;
	}
	top = vt_native_frame_top(frame, base);
	level->address = vt_watch_of(pointer(top - sizeof(uint64_t)), 0);
	if (!(frame & VT_NATIVE_FRAME_FROM_FRAME_POINTER))
		level->frame_pointer = level->address;
	/* No branch: every other function moves it. */
	slot = vt_native_frame_slot(frame, top);
	place->frame_pointer_slot = slot != top ? slot : place->frame_pointer_slot;
	place->top = top;
	place->address = level->address.what;
}

/* Continues as long as nothing is remembered there, and how each level is left is known. */
static void climb(struct trace *trace)
{
	struct vt_native_stack *stack = trace->stack;
	struct vt_unwind_place place = trace->place;
	uint32_t nr = trace->nr_fresh, frame;

	while (place.top < trace->next_top && is_address(place.address) &&
	       nr + 2 < VT_UNWIND_MOST_STEPS &&
	       (frame = vt_native_frame_find(&stack->known, place.address))) {
		stack->fresh_frames[nr++] = frame;
		step_plainly(&place, frame, &stack->fresh[nr]);
	}
	trace->nr_fresh = nr;
	trace->place = place;
}

/* What is not known yet, or not plain. */
static __attribute__((noinline)) int step_slowly(struct trace *trace, uint32_t *frame,
						 struct level *level)
{
	struct vt_unwind_place *place = &trace->place;
	struct vt_watch frame_pointer = vt_watch_of(pointer(place->frame_pointer_slot), 0);
	int is_interrupted = place->is_interrupted, way;
	uint64_t address = place->address;
	struct vt_unwind_frame found;

	way = vt_unwind_step(place, &found);
	if (way <= 0)
		return way;
	trace->is_plain = (uint32_t)found.is_plain;
	level->address =
		(struct vt_watch){ pointer(place->top - sizeof(uint64_t)), place->address };
	level->frame_pointer = level->address;
	if (found.is_plain && found.is_from_frame_pointer)
		level->frame_pointer = frame_pointer;
	if (!is_interrupted)
		*frame = vt_native_frame_pack(&found);
	if (*frame)
		vt_native_frame_store(&trace->stack->known, address, *frame);
	return 1;
}

/* Returns 1, 0 where the trace ends, -1 where it cannot go on. */
static int step(struct trace *trace, uint32_t *frame)
{
	struct level *level = &trace->stack->fresh[trace->nr_fresh];
	struct vt_unwind_place *place = &trace->place;

	if (!*frame && !place->is_interrupted)
		*frame = vt_native_frame_find(&trace->stack->known, place->address);
	if (!*frame)
		return step_slowly(trace, frame, level);
	step_plainly(place, *frame, level);
	trace->is_plain = 1;
	if (!trace->is_in_place)
		climb(trace);
	return 1;
}

static void forget(struct vt_native_stack *stack)
{
	stack->nr = 0;
	stack->nr_plain = 0;
	stack->id = 0;
}

/* Nothing that a thread of a parent may have been writing is believed. */
static void forget_all(struct vt_native_stack *stack)
{
	forget(stack);
	if (stack->caller)
		memset(&stack->known, 0, sizeof(stack->known));
}

static uint32_t has_end(const struct vt_native_stack *stack)
{
	return stack->nr && !is_address(stack->levels[0].address.what);
}

/* What is known of the levels from `nr` on follows from those outside of them. */
static void derive(struct vt_native_stack *stack, uint32_t nr)
{
	struct vt_key key = nr ? stack->keys[nr - 1] : vt_ids_key_start();

	for (; nr < stack->nr; nr++) {
		uint64_t address = stack->levels[nr].address.what;

		if (is_address(address))
			key = vt_ids_key_push(key, address);
		stack->keys[nr] = key;
		/* The outermost one is not left. */
		if (stack->nr_plain == nr && (!nr || stack->frames[nr]))
			stack->nr_plain++;
	}
}

/* The new levels go on top of the `kept` that are shared. */
static void put_together(struct trace *trace, uint32_t kept)
{
	struct vt_native_stack *stack = trace->stack;
	uint32_t nr_same = trace->nr_same < kept ? trace->nr_same : kept;

	if (!trace->nr_fresh && kept == stack->nr && nr_same == kept)
		return;
	stack->id = 0;
	stack->nr = kept;
	if (stack->nr_plain > nr_same)
		stack->nr_plain = nr_same;
	while (trace->nr_fresh) {
		trace->nr_fresh--;
		stack->levels[stack->nr] = stack->fresh[trace->nr_fresh];
		stack->frames[stack->nr++] = stack->fresh_frames[trace->nr_fresh];
	}
	derive(stack, nr_same);
}

/* Where the thread is in the function that called us, which is the first outside. */
static struct vt_unwind_place leave_own_frames(void)
{
	const uint64_t *frame = __builtin_frame_address(0);

	/* All of this library keeps frame pointers. */
	while (vt_real_is_own((const void *)(uintptr_t)frame[1]))
		frame = (const uint64_t *)(uintptr_t)frame[0];
	return (struct vt_unwind_place){
		.address = frame[1],
		.top = (uint64_t)(uintptr_t)(frame + 2),
		.frame_pointer_slot = (uint64_t)(uintptr_t)frame,
	};
}

/*
 * A caller that both gives and takes has one memory, the one that it is in: its two stacks are
 * alike.
 */
static struct vt_native_stack *choose(uint64_t caller)
{
	struct vt_native_stack *places = g.places[vt_thread_id() % NR_PLACES];
	struct vt_thread *thread = vt_thread_self();
	uint32_t other = !thread->memory;

	if (__atomic_load_n(&places[thread->memory].caller, __ATOMIC_RELAXED) != caller &&
	    __atomic_load_n(&places[other].caller, __ATOMIC_RELAXED) == caller)
		thread->memory = other;
	return &places[thread->memory];
}

/* Returns -1 where the stack is not to be had this way, or too deep. */
static int follow(struct vt_native_stack *stack, const struct vt_unwind_place *caller)
{
	const struct vt_watch address = { pointer(caller->top - 8), caller->address };
	struct trace trace = {
		.stack = stack,
		.place = *caller,
		.is_plain = 1,
		.nr_same = stack->nr,
	};
	uint32_t *frame, nr_steps = 0;
	int way = 1;

	stack->fresh[0] = (struct level){ address, address };
	set_next(&trace, stack->nr);
	climb(&trace);
	while ((frame = put(&trace)) && (way = is_address(trace.place.address)) &&
	       (way = step(&trace, frame)) > 0)
		if (++nr_steps >= VT_UNWIND_MOST_STEPS ||
		    trace.nr_fresh + 1 >= VT_UNWIND_MOST_STEPS)
			return -1;
	/* The stack ended somewhere else: what lay outside of that is no longer of it. */
	if (!way && trace.is_in_place && trace.at && put_aside(&trace))
		return -1;
	if (way < 0 || (!frame && !trace.is_in_place) ||
	    trace.nr_fresh + trace.inner + 1 >= VT_UNWIND_MOST_STEPS)
		return -1;
	put_together(&trace, trace.is_in_place ? trace.inner + 1 : 0);
	return 0;
}

struct vt_native_stack *vt_native_stack_enter(unsigned int most)
{
	struct vt_unwind_place caller;
	struct vt_native_stack *stack;
	uint32_t generation = vt_unwind_generation();
	uint32_t recording = vt_thread_generation();
	uint32_t idle = 0;

	if (!VT_UNWIND_HAS_STEPS)
		return NULL;
	caller = leave_own_frames();
	stack = choose(caller.address);
	if (!__atomic_compare_exchange_n(&stack->is_busy, &idle, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return NULL;
	/*
	 * Another thread's stack is no reason to forget it: ours cannot meet it, and if this one
	 * lies where that one was, what is checked is all that counts.
	 */
	if (stack->generation != generation || stack->recording != recording)
		forget_all(stack);
	__atomic_store_n(&stack->caller, caller.address, __ATOMIC_RELAXED);
	stack->generation = generation;
	stack->recording = recording;
	if (follow(stack, &caller) || vt_native_stack_depth(stack) > most) {
		forget(stack);
		vt_native_stack_leave(stack);
		return NULL;
	}
	return stack;
}

void vt_native_stack_leave(struct vt_native_stack *stack)
{
	__atomic_store_n(&stack->is_busy, 0, __ATOMIC_RELEASE);
}

uint32_t *vt_native_stack_id(struct vt_native_stack *stack)
{
	return &stack->id;
}

struct vt_key vt_native_stack_key(const struct vt_native_stack *stack)
{
	return vt_ids_key_finish(stack->nr ? stack->keys[stack->nr - 1] : vt_ids_key_start());
}

unsigned int vt_native_stack_depth(const struct vt_native_stack *stack)
{
	return stack->nr - has_end(stack);
}

void vt_native_stack_copy(const struct vt_native_stack *stack, uint64_t *frames)
{
	for (uint32_t i = stack->nr; i-- > has_end(stack);)
		*frames++ = stack->levels[i].address.what;
}
