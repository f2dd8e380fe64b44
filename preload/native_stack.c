/* SPDX-License-Identifier: MIT */
#include "preload/native_stack.h"

#include <stddef.h>

#include "preload/real.h"
#include "preload/thread_state.h"
#include "preload/unwind.h"

/* 64 threads that allocate at the same time; more share places.  Only touched pages cost memory. */
#define NR_PLACES 64u

/* What is checked of a remembered step: four words, two steps to a cache line. */
struct level {
	uint64_t address;
	uint64_t top;
	uint64_t frame_pointer;
	uint64_t frame_pointer_slot;
};

struct vt_native_stack {
	uint32_t is_busy;	/* atomic */
	uint32_t generation;	/* of the unwinder's knowledge */
	uint32_t nr;		/* steps remembered, outermost first */
	uint32_t nr_frames;	/* of these from the outermost on: neither the end nor our own */
	uint32_t nr_plain;	/* the outermost so many are plain */
	uint32_t has_end;	/* the outermost step is no frame */
	struct level levels[VT_UNWIND_MOST_STEPS];
	struct vt_key keys[VT_UNWIND_MOST_STEPS]; /* of the stack up to each level */
	/* While a trace runs: what is new, innermost first. */
	uint32_t nr_fresh;
	uint32_t next;		/* the remembered steps from here on lie below the trace */
	uint32_t has_met;	/* ... and those before it are the rest of the trace */
	struct vt_unwind_step fresh[VT_UNWIND_MOST_STEPS];
};

static struct {
	struct vt_native_stack places[NR_PLACES];
} g;

static uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)(uintptr_t)address;
}

/*
 * Whether everything outside of level `index` is still as remembered.  Otherwise *last is the
 * innermost level that is not.
 */
static int is_unchanged(const struct vt_native_stack *stack, uint32_t index, uint32_t *last)
{
	while (index-- > 0) {
		const struct level *level = &stack->levels[index];

		if (word_at(level->top - 8) == level->address &&
		    (!level->frame_pointer_slot ||
		     word_at(level->frame_pointer_slot) == level->frame_pointer))
			continue;
		*last = index;
		return 0;
	}
	return 1;
}

/* Ends the trace where it meets the remembered stack. */
static int on_step(void *argument, const struct vt_unwind_step *step)
{
	struct vt_native_stack *stack = argument;
	const struct level *known;

	while (stack->next > 0 && stack->levels[stack->next - 1].top < step->top)
		stack->next--;
	known = &stack->levels[stack->next ? stack->next - 1 : 0];
	/* Only plain steps may be taken over, so the place to go on from must be one too. */
	if (stack->next && stack->next <= stack->nr_plain && step->is_plain &&
	    known->top == step->top && known->address == step->address &&
	    known->frame_pointer == step->frame_pointer) {
		uint32_t changed = 0;

		stack->has_met = is_unchanged(stack, stack->next - 1, &changed);
		if (stack->has_met)
			return 1;
		stack->next = changed;
	}
	if (stack->nr_fresh < VT_UNWIND_MOST_STEPS)
		stack->fresh[stack->nr_fresh++] = *step;
	return 0;
}

static void forget(struct vt_native_stack *stack)
{
	stack->nr = 0;
	stack->nr_plain = 0;
}

/* The new steps go on top of the `kept` that are shared. */
static void put_together(struct vt_native_stack *stack, uint32_t kept)
{
	struct vt_key key = kept ? stack->keys[kept - 1] : vt_ids_key_start();

	stack->nr = kept;
	if (stack->nr_plain > kept)
		stack->nr_plain = kept;
	while (stack->nr_fresh) {
		const struct vt_unwind_step *step = &stack->fresh[--stack->nr_fresh];

		if (!stack->nr)
			stack->has_end = (uint32_t)step->is_last;
		if (!step->is_last)
			key = vt_ids_key_push(key, step->address);
		stack->keys[stack->nr] = key;
		stack->levels[stack->nr] = (struct level){
			.address = step->address,
			.top = step->top,
			.frame_pointer = step->frame_pointer,
			.frame_pointer_slot = step->frame_pointer_slot,
		};
		if (stack->nr_plain == stack->nr && step->is_plain)
			stack->nr_plain++;
		stack->nr++;
	}
	stack->nr_frames = stack->nr;
	while (stack->nr_frames &&
	       vt_real_is_own((const void *)(uintptr_t)
				      stack->levels[stack->nr_frames - 1].address))
		stack->nr_frames--;
}

static int follow(struct vt_native_stack *stack)
{
	int found;

	stack->nr_fresh = 0;
	stack->next = stack->nr;
	stack->has_met = 0;
	found = vt_unwind_steps(VT_UNWIND_MOST_STEPS, on_step, stack);
	/* Cut short, or not to be had this way: nothing to go on from next time. */
	if (found < 0 || (uint32_t)found >= VT_UNWIND_MOST_STEPS ||
	    stack->next + stack->nr_fresh > VT_UNWIND_MOST_STEPS)
		return -1;
	put_together(stack, stack->has_met ? stack->next : 0);
	return 0;
}

struct vt_native_stack *vt_native_stack_enter(unsigned int most)
{
	struct vt_native_stack *stack = &g.places[vt_thread_id() % NR_PLACES];
	uint32_t generation = vt_unwind_generation();
	uint32_t idle = 0;

	if (!__atomic_compare_exchange_n(&stack->is_busy, &idle, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return NULL;
	/*
	 * Another thread's stack is no reason to forget it: ours cannot meet it, and if this one
	 * lies where that one was, what is checked is all that counts.
	 */
	if (stack->generation != generation)
		forget(stack);
	stack->generation = generation;
	if (follow(stack) || vt_native_stack_depth(stack) > most) {
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

static uint32_t first_frame(const struct vt_native_stack *stack)
{
	return stack->nr_frames && stack->has_end;
}

struct vt_key vt_native_stack_key(const struct vt_native_stack *stack)
{
	return vt_ids_key_finish(stack->nr_frames ? stack->keys[stack->nr_frames - 1]
						  : vt_ids_key_start());
}

unsigned int vt_native_stack_depth(const struct vt_native_stack *stack)
{
	return stack->nr_frames - first_frame(stack);
}

void vt_native_stack_copy(const struct vt_native_stack *stack, uint64_t *frames)
{
	for (uint32_t i = stack->nr_frames; i-- > first_frame(stack);)
		*frames++ = stack->levels[i].address;
}
