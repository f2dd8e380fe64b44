/* SPDX-License-Identifier: MIT */
/* The remembered native stack against a full trace, at the leaves of random call trees. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "preload/early.h"
#include "preload/ids.h"
#include "preload/native_stack.h"
#include "preload/real.h"
#include "preload/thread_state.h"
#include "preload/unwind.h"
#include "tests/preload/climb.h"

#define MOST 256u
#define NR_LEAVES 20000u
#define STACK_BYTES ((size_t)256 << 10)

extern const char own_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char own_end[] __asm__("_end") __attribute__((visibility("hidden")));

/* This program is what the library is in a traced one. */
int vt_real_is_own(const void *address)
{
	return (const char *)address >= own_start && (const char *)address < own_end;
}

/* No ranges here. */
uint32_t vt_early_id(uint32_t number)
{
	return number;
}

static _Thread_local struct {
	unsigned int differences;
	unsigned int remembered;
} seen;

static int is_same(const uint64_t *a, unsigned int nr_a, const uint64_t *b, unsigned int nr_b)
{
	if (nr_a != nr_b)
		return 0;
	while (nr_a--)
		if (a[nr_a] != b[nr_a])
			return 0;
	return 1;
}

static void compare(struct climb *climb)
{
	uint64_t full[MOST], remembered[MOST];
	int is_cut;
	unsigned int nr_full = vt_unwind_stack(full, MOST, &is_cut), nr;
	struct vt_key expected = vt_ids_key_start();
	struct vt_native_stack *stack;

	/* Either memory, each as old as it happens to be. */
	vt_thread_self()->memory = (uint32_t)(climb->random >> 40 & 1);
	stack = vt_native_stack_enter(MOST);
	if (!stack)
		return;
	seen.remembered++;
	nr = vt_native_stack_depth(stack);
	vt_native_stack_copy(stack, remembered);
	for (unsigned int i = nr_full; i-- > 0;)
		expected = vt_ids_key_push(expected, full[i]);
	expected = vt_ids_key_finish(expected);
	if (!is_same(full, nr_full, remembered, nr) ||
	    vt_native_stack_key(stack).low != expected.low ||
	    vt_native_stack_key(stack).high != expected.high)
		seen.differences++;
	vt_native_stack_leave(stack);
}

static void climb(uint64_t seed, unsigned int is_odd)
{
	struct climb tree = {
		.random = seed * 0x9e3779b97f4a7c15ull + 1,
		.most_depth = 40,
		.on_leaf = compare,
		.leaves = NR_LEAVES,
		.is_odd = is_odd,
	};

	climb_start(&tree);
}

static void a_remembered_stack_is_the_full_one(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++)
		climb(seed, 0);
	assert_int_equal(seen.differences, 0);
	assert_int_equal(seen.remembered, 5 * NR_LEAVES);
}

static void odd_frames_are_followed_or_left_to_the_full_trace(void **state)
{
	(void)state;
	seen.remembered = 0;
	for (uint64_t seed = 1; seed <= 5; seed++)
		climb(seed, 1);
	assert_int_equal(seen.differences, 0);
	assert_true(seen.remembered > 0);
}

static void *climb_in_thread(void *argument)
{
	climb((uint64_t)(uintptr_t)argument, 1);
	return (void *)(uintptr_t)seen.differences;
}

/* More threads than cores, one after another in the same memory and at the same time. */
static void threads_do_not_meet(void **state)
{
	pthread_t threads[8];
	void *differences;

	(void)state;
	for (unsigned int round = 0; round < 4; round++) {
		for (uintptr_t i = 0; i < 8; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, climb_in_thread,
							(void *)(round * 8 + i + 1)),
					 0);
		for (unsigned int i = 0; i < 8; i++) {
			pthread_join(threads[i], &differences);
			assert_null(differences);
		}
	}
}

struct stacks {
	char *inner;
	char *outer;
};

static void compare_here(void *argument)
{
	struct climb leaf = { .random = 0 };

	(void)argument;
	compare(&leaf);
}

static void go_inwards(void *argument)
{
	struct stacks *stacks = argument;

	climb_on_stack(stacks->inner + STACK_BYTES, compare_here, NULL);
}

static char *map_stack(void)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	assert_true(stack != MAP_FAILED);
	return stack;
}

/* The same function at the same place, and what called it ran where nothing is any more. */
static void a_stack_that_is_gone_is_not_read(void **state)
{
	struct stacks stacks = { .inner = map_stack() };
	unsigned int before = seen.remembered;

	(void)state;
	for (unsigned int round = 0; round < 2; round++) {
		char *gone = stacks.outer;

		stacks.outer = map_stack();
		if (gone)
			assert_int_equal(munmap(gone, STACK_BYTES), 0);
		for (unsigned int turn = 0; turn < 2; turn++)
			climb_on_stack(stacks.outer + STACK_BYTES, go_inwards, &stacks);
	}
	munmap(stacks.outer, STACK_BYTES);
	munmap(stacks.inner, STACK_BYTES);
	assert_int_equal(seen.differences, 0);
	assert_int_equal(seen.remembered - before, 4);
}

static void a_stack_that_is_too_deep_is_refused(void **state)
{
	(void)state;
	assert_null(vt_native_stack_enter(1));
	assert_non_null(vt_native_stack_enter(MOST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_remembered_stack_is_the_full_one),
		cmocka_unit_test(odd_frames_are_followed_or_left_to_the_full_trace),
		cmocka_unit_test(threads_do_not_meet),
		cmocka_unit_test(a_stack_that_is_gone_is_not_read),
		cmocka_unit_test(a_stack_that_is_too_deep_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
