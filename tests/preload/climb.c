/* SPDX-License-Identifier: MIT */
#include "tests/preload/climb.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

/* Keeps a call from becoming a jump, and a local where it is. */
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

typedef void (*way_fn)(struct climb *climb, unsigned int depth);

static uint64_t draw(struct climb *climb, uint64_t below)
{
	climb->random ^= climb->random << 13;
	climb->random ^= climb->random >> 7;
	climb->random ^= climb->random << 17;
	return climb->random % below;
}

static void go_on(struct climb *climb, unsigned int depth);

static __attribute__((noinline)) void small(struct climb *climb, unsigned int depth)
{
	go_on(climb, depth);
	KEEP(climb);
}

static __attribute__((noinline)) void large(struct climb *climb, unsigned int depth)
{
	char room[1000];

	KEEP(room);
	go_on(climb, depth);
	KEEP(room);
}

/* Frames of one size that keep their caller's frame pointer in different places, or not at all. */
#define KEEPER(name, ...)                                                                          \
	static __attribute__((noinline)) void name(struct climb *climb, unsigned int depth)        \
	{                                                                                          \
		__asm__ volatile("" : : : __VA_ARGS__);                                            \
		go_on(climb, depth);                                                               \
		KEEP(climb);                                                                       \
	}

KEEPER(keeps_first, "rbp")
KEEPER(keeps_second, "rbp", "r12")
KEEPER(keeps_third, "rbp", "r12", "r13")
KEEPER(keeps_none, "r12", "r13")

static void keep(struct climb *climb, unsigned int depth)
{
	static const way_fn keepers[] = { keeps_first, keeps_second, keeps_third, keeps_none };

	keepers[draw(climb, sizeof(keepers) / sizeof(keepers[0]))](climb, depth);
}

/* In steps so small that what lies inside of two different frames may meet. */
static __attribute__((noinline)) void variable(struct climb *climb, unsigned int depth)
{
	char *room = alloca(16 + draw(climb, 6) * 16);

	KEEP(room);
	keep(climb, depth);
	KEEP(room);
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) void
with_frame_pointer(struct climb *climb, unsigned int depth)
{
	go_on(climb, depth);
	KEEP(climb);
	go_on(climb, depth);
	KEEP(climb);
}

static __attribute__((noinline)) void aligned(struct climb *climb, unsigned int depth)
{
	char room[128] __attribute__((aligned(128)));

	KEEP(room);
	go_on(climb, depth);
	KEEP(room);
}

/* Its own frame pointer is that of the aligned part; how it was entered is kept there. */
static __attribute__((noinline)) void aligned_and_variable(struct climb *climb, unsigned int depth)
{
	char room[128] __attribute__((aligned(128)));
	char *more = alloca(16 + draw(climb, 6) * 16);

	KEEP(room);
	KEEP(more);
	go_on(climb, depth);
	KEEP(room);
}

static __attribute__((noinline)) void two_places(struct climb *climb, unsigned int depth)
{
	if (draw(climb, 2)) {
		go_on(climb, depth);
		KEEP(climb);
	} else {
		go_on(climb, depth);
		KEEP(&depth);
	}
}

struct call_back {
	struct climb *climb;
	unsigned int depth;
	int is_done;
};

static int compare(const void *a, const void *b, void *argument)
{
	struct call_back *back = argument;

	(void)a;
	(void)b;
	if (!back->is_done++)
		go_on(back->climb, back->depth);
	return 0;
}

static __attribute__((noinline)) void through_libc(struct climb *climb, unsigned int depth)
{
	struct call_back back = { climb, depth, 0 };
	int numbers[2] = { 2, 1 };

	qsort_r(numbers, 2, sizeof(numbers[0]), compare, &back);
	KEEP(numbers);
}

static void go_on(struct climb *climb, unsigned int depth)
{
	static const way_fn ways[] = { small,      large,        variable, with_frame_pointer,
				       two_places, through_libc, aligned, aligned_and_variable };
	/* The aligned ones are last. */
	uint64_t nr = sizeof(ways) / sizeof(ways[0]) - (climb->is_odd ? 0 : 2);

	do {
		if (!climb->leaves)
			return;
		if (depth >= climb->most_depth || !draw(climb, 12)) {
			climb->leaves--;
			climb->on_leaf(climb);
		} else {
			ways[draw(climb, nr)](climb, depth + 1);
		}
	} while (draw(climb, 3));
	KEEP(climb);
}

void climb_start(struct climb *climb)
{
	while (climb->leaves)
		go_on(climb, 0);
}

#if defined(__x86_64__)
/* The way back leads through the frame pointer alone. */
__asm__(".text\n"
	".globl climb_on_stack\n"
	".type climb_on_stack, @function\n"
	"climb_on_stack:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"movq %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"movq %rdi, %rsp\n"
	"movq %rdx, %rdi\n"
	"call *%rsi\n"
	"leave\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size climb_on_stack, . - climb_on_stack\n");
#else
#error "climb_on_stack needs a few lines of assembly for this processor"
#endif
