/* SPDX-License-Identifier: MIT */
/*
 * A trace begins where our own frames end.  A remembered level that it meets is where the next
 * ones outwards are compared, each by the words that its step had read.  One that is not the same
 * is read anew in its place, and the trace goes on from there; as long as each new step leads to
 * where a remembered one had led, it takes that one's place.  Where it does not, what was found so
 * far is put aside and the trace goes on until it meets a remembered level again.
 */
#include "preload/native_stack.h"

#include <stddef.h>

#include "preload/real.h"
#include "preload/thread_state.h"
#include "preload/unwind.h"
#include "preload/watch.h"

/* 64 threads that allocate at the same time; more share places.  Only touched pages cost memory. */
#define NR_PLACES 64u

/* What is compared of a step: its return address and its frame pointer, or the first one twice. */
struct words {
	struct vt_watch address;
	struct vt_watch frame_pointer;
};

struct vt_native_stack {
	uint64_t caller;	/* atomic: return address outside this library */
	uint32_t is_busy;	/* atomic */
	uint32_t generation;	/* of the unwinder's knowledge */
	uint32_t recording;	/* that the id belongs to */
	uint32_t id;		/* of the stack, 0 = not known */
	uint32_t nr;		/* steps remembered, outermost first */
	uint32_t nr_plain;	/* the outermost so many are plain */
	struct words words[VT_UNWIND_MOST_STEPS];
	struct vt_unwind_step levels[VT_UNWIND_MOST_STEPS];
	struct vt_key keys[VT_UNWIND_MOST_STEPS]; /* of the stack up to each level */
	struct vt_unwind_step fresh[VT_UNWIND_MOST_STEPS];
};

/* One trace. */
struct trace {
	struct vt_native_stack *stack;
	uint32_t nr_fresh;	/* put aside, innermost first */
	uint32_t next;		/* the remembered steps from here on lie below the trace */
	uint64_t next_top;	/* of the one outside of those, UINT64_MAX: there is none */
	uint32_t nr_same;	/* the outermost so many are as they were */
	/* The levels from `inner` outwards to `at` are the steps taken last. */
	uint32_t is_in_place;
	uint32_t inner;
	uint32_t at;
	uint32_t is_whole;	/* ... and those outside of them are the rest */
	uint32_t goes_on;	/* from levels[at] */
};

static struct {
	struct vt_native_stack places[NR_PLACES][VT_STACK_MEMORIES];
} g;

static void set(struct vt_native_stack *stack, uint32_t index, const struct vt_unwind_step *step)
{
	const void *slot = (const void *)(uintptr_t)step->frame_pointer_slot;
	struct words *words = &stack->words[index];

	stack->levels[index] = *step;
	words->address.where = (const void *)(uintptr_t)(step->top - 8);
	words->address.what = step->address;
	words->frame_pointer = words->address;
	if (slot)
		words->frame_pointer = (struct vt_watch){ slot, step->frame_pointer };
}

/* How many of the outermost `nr` levels are left when the same ones are taken off from inside. */
static uint32_t compare(const struct vt_native_stack *stack, uint32_t nr)
{
	const struct words *words = &stack->words[nr];

	/* A step reads both of its words, whatever they say: one branch for the two. */
#pragma GCC unroll 4
	for (; nr; nr--) {
		words--;
		if ((vt_watch_read(words->address.where) ^ words->address.what) |
		    (vt_watch_read(words->frame_pointer.where) ^ words->frame_pointer.what))
			break;
	}
	return nr;
}

static int is_address(uint64_t word)
{
	return word >= VT_UNWIND_LOWEST_ADDRESS;
}

/*
 * Levels `at` and those inside of it are known.  Compares the others, and reads the first one that
 * is not the same anew: its step starts from where it had started, so it reads the same places.
 */
static void go_outwards(struct trace *trace)
{
	struct vt_native_stack *stack = trace->stack;
	uint32_t index = compare(stack, trace->at);
	struct vt_unwind_step step;

	if (!index--) {
		trace->is_whole = 1;
		return;
	}
	step = stack->levels[index];
	step.address = vt_watch_read((const void *)(uintptr_t)(step.top - 8));
	if (step.frame_pointer_slot)
		step.frame_pointer =
			vt_watch_read((const void *)(uintptr_t)step.frame_pointer_slot);
	else
		step.frame_pointer = stack->levels[index + 1].frame_pointer;
	step.is_last = !is_address(step.address);
	set(stack, index, &step);
	trace->nr_same = index;
	trace->at = index;
	trace->goes_on = !step.is_last;
}

static void keep(struct trace *trace, const struct vt_unwind_step *step)
{
	if (trace->nr_fresh < VT_UNWIND_MOST_STEPS)
		trace->stack->fresh[trace->nr_fresh++] = *step;
}

static void set_next(struct trace *trace, uint32_t next)
{
	trace->next = next;
	trace->next_top = next ? trace->stack->levels[next - 1].top : UINT64_MAX;
}

static void put_aside(struct trace *trace)
{
	const struct vt_native_stack *stack = trace->stack;

	if (!trace->is_in_place)
		return;
	trace->is_in_place = 0;
	for (uint32_t i = trace->inner + 1; i-- > trace->at;)
		keep(trace, &stack->levels[i]);
	set_next(trace, trace->at);
}

static int is_same(const struct vt_unwind_step *a, const struct vt_unwind_step *b)
{
	return a->top == b->top && a->address == b->address && a->frame_pointer == b->frame_pointer;
}

/* Takes the place of the level outside of `at`, if it led to where that one had led. */
static int is_taken(struct trace *trace, const struct vt_unwind_step *step)
{
	struct vt_native_stack *stack = trace->stack;
	const struct vt_unwind_step *known;
	int is_known;

	if (!trace->is_in_place || !trace->at || !step->is_plain)
		return 0;
	known = &stack->levels[trace->at - 1];
	if (known->top != step->top)
		return 0;
	is_known = is_same(known, step);
	/* Also where it is known: another function may have kept the frame pointer elsewhere. */
	set(stack, --trace->at, step);
	if (is_known)
		go_outwards(trace);
	else
		trace->nr_same = trace->at;
	return 1;
}

/* Only plain steps may be taken over, so the place to go on from must be one too. */
static int is_met(struct trace *trace, const struct vt_unwind_step *step)
{
	struct vt_native_stack *stack = trace->stack;

	while (trace->next_top < step->top)
		set_next(trace, trace->next - 1);
	if (!trace->next || trace->next > stack->nr_plain || !step->is_plain ||
	    !is_same(&stack->levels[trace->next - 1], step))
		return 0;
	trace->is_in_place = 1;
	trace->inner = trace->at = trace->next - 1;
	set(stack, trace->at, step);
	go_outwards(trace);
	return 1;
}

static __attribute__((noinline)) int compare_step(struct trace *trace,
						  const struct vt_unwind_step *step)
{
	if (is_taken(trace, step))
		return trace->is_whole || trace->goes_on ||
		       trace->stack->levels[trace->at].is_last;
	put_aside(trace);
	if (is_met(trace, step))
		return 1;
	keep(trace, step);
	return 0;
}

/* Ends where what is remembered goes on. */
static int on_step(void *argument, const struct vt_unwind_step *step)
{
	struct trace *trace = argument;

	/* Most of them lie where nothing is remembered. */
	if (trace->is_in_place || step->top >= trace->next_top)
		return compare_step(trace, step);
	keep(trace, step);
	return 0;
}

static void forget(struct vt_native_stack *stack)
{
	stack->nr = 0;
	stack->nr_plain = 0;
	stack->id = 0;
}

static uint32_t has_end(const struct vt_native_stack *stack)
{
	return stack->nr && stack->levels[0].is_last;
}

/* What is known of the levels from `nr` on follows from those outside of them. */
static void derive(struct vt_native_stack *stack, uint32_t nr)
{
	struct vt_key key = nr ? stack->keys[nr - 1] : vt_ids_key_start();

	for (; nr < stack->nr; nr++) {
		const struct vt_unwind_step *step = &stack->levels[nr];

		if (!step->is_last)
			key = vt_ids_key_push(key, step->address);
		stack->keys[nr] = key;
		if (stack->nr_plain == nr && step->is_plain)
			stack->nr_plain++;
	}
}

/* The new steps go on top of the `kept` that are shared. */
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
	while (trace->nr_fresh)
		set(stack, stack->nr++, &stack->fresh[--trace->nr_fresh]);
	derive(stack, nr_same);
}

/* The state of the thread in the function that called us, which is the first outside. */
static struct vt_unwind_step leave_own_frames(void)
{
	const uint64_t *frame = __builtin_frame_address(0);

	/* All of this library keeps frame pointers. */
	while (vt_real_is_own((const void *)(uintptr_t)frame[1]))
		frame = (const uint64_t *)(uintptr_t)frame[0];
	return (struct vt_unwind_step){
		.address = frame[1],
		.top = (uint64_t)(uintptr_t)(frame + 2),
		.frame_pointer = frame[0],
		.is_plain = 1,
	};
}

/*
 * A caller that both gives and takes has one memory, the one that it is in: its two stacks are
 * alike.
 */
static struct vt_native_stack *choose(const struct vt_unwind_step *step)
{
	struct vt_native_stack *places = g.places[vt_thread_id() % NR_PLACES];
	struct vt_thread *thread = vt_thread_self();
	uint32_t other = !thread->memory;

	if (__atomic_load_n(&places[thread->memory].caller, __ATOMIC_RELAXED) != step->address &&
	    __atomic_load_n(&places[other].caller, __ATOMIC_RELAXED) == step->address)
		thread->memory = other;
	return &places[thread->memory];
}

static int follow(struct vt_native_stack *stack, struct vt_unwind_step step)
{
	struct trace trace = { .stack = stack, .nr_same = stack->nr };
	int found = 0;

	set_next(&trace, stack->nr);
	if (!on_step(&trace, &step))
		found = vt_unwind_steps(&step, VT_UNWIND_MOST_STEPS, on_step, &trace);
	while (trace.goes_on && found >= 0) {
		trace.goes_on = 0;
		step = stack->levels[trace.at];
		found = vt_unwind_steps(&step, VT_UNWIND_MOST_STEPS, on_step, &trace);
	}
	/* The stack ended somewhere else. */
	if (!trace.is_whole && trace.at)
		put_aside(&trace);
	/* Cut short, or not to be had this way: nothing to go on from next time. */
	if (found < 0 || (uint32_t)found >= VT_UNWIND_MOST_STEPS ||
	    trace.nr_fresh + trace.inner + 1 >= VT_UNWIND_MOST_STEPS)
		return -1;
	put_together(&trace, trace.is_in_place ? trace.inner + 1 : 0);
	return 0;
}

struct vt_native_stack *vt_native_stack_enter(unsigned int most)
{
	struct vt_unwind_step step = leave_own_frames();
	struct vt_native_stack *stack = choose(&step);
	uint32_t generation = vt_unwind_generation();
	uint32_t recording = vt_thread_generation();
	uint32_t idle = 0;

	if (!__atomic_compare_exchange_n(&stack->is_busy, &idle, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return NULL;
	/*
	 * Another thread's stack is no reason to forget it: ours cannot meet it, and if this one
	 * lies where that one was, what is checked is all that counts.
	 */
	if (stack->generation != generation || stack->recording != recording)
		forget(stack);
	__atomic_store_n(&stack->caller, step.address, __ATOMIC_RELAXED);
	stack->generation = generation;
	stack->recording = recording;
	if (follow(stack, step) || vt_native_stack_depth(stack) > most) {
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
		*frames++ = stack->levels[i].address;
}
