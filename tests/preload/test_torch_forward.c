/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/thread_state.h"

/* Its state is that of a process: each test starts it anew. */
#include "preload/torch_forward.c"

/* Long enough that both writers run at once. */
#define NR_ROUNDS 5000000u

uint32_t vt_thread_newest;

static int start(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	vt_thread_newest = 1;
	return 0;
}

static void node_gives_its_stack(void **state)
{
	(void)state;
	assert_int_equal(vt_torch_forward_find(1, 0), 0);
	vt_torch_forward_note(1, 0, 17);
	vt_torch_forward_note(1, 1, 18);
	vt_torch_forward_note(2, 0, 19);
	assert_int_equal(vt_torch_forward_find(1, 0), 17);
	assert_int_equal(vt_torch_forward_find(1, 1), 18);
	assert_int_equal(vt_torch_forward_find(2, 0), 19);
	assert_int_equal(vt_torch_forward_find(2, 1), 0);
	assert_int_equal(vt_torch_forward_find(3, 0), 0);
}

static void newest_takes_the_place(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < NR_PLACES + 10; i++)
		vt_torch_forward_note(1, i, (uint32_t)i + 1);
	for (i = 0; i < 10; i++)
		assert_int_equal(vt_torch_forward_find(1, i), 0);
	for (i = 10; i < NR_PLACES + 10; i++)
		assert_int_equal(vt_torch_forward_find(1, i), i + 1);
}

static void node_without_a_stack_has_none(void **state)
{
	(void)state;
	vt_torch_forward_note(1, 5, 17);
	vt_torch_forward_note(1, 5 + NR_PLACES, 0);
	assert_int_equal(vt_torch_forward_find(1, 5), 0);
	assert_int_equal(vt_torch_forward_find(1, 5 + NR_PLACES), 0);
}

static void another_recording_starts_anew(void **state)
{
	(void)state;
	vt_torch_forward_note(1, 5, 17);
	vt_thread_newest++;
	assert_int_equal(vt_torch_forward_find(1, 5), 0);
	vt_torch_forward_note(1, 5, 3);
	assert_int_equal(vt_torch_forward_find(1, 5), 3);
}

/* AccumulateGrad has no number; a thread of number 0 does not exist. */
static void what_cannot_be_told_apart_is_not_kept(void **state)
{
	(void)state;
	vt_torch_forward_note(1, UINT64_MAX, 17);
	vt_torch_forward_note(0, 5, 17);
	vt_torch_forward_note(1ull << THREAD_BITS, 5, 17);
	assert_int_equal(vt_torch_forward_find(1, UINT64_MAX), 0);
	assert_int_equal(vt_torch_forward_find(0, 5), 0);
	assert_int_equal(vt_torch_forward_find(1ull << THREAD_BITS, 5), 0);
}

static uint32_t stack_of(uint64_t thread, uint64_t sequence)
{
	return (uint32_t)(sequence * 2654435761u ^ thread);
}

/* Numbers of this thread that share one place with those of the other. */
static uint64_t sequence_at(uint64_t thread, uint64_t round)
{
	return (round + 1) * NR_PLACES - (thread * SPREAD >> 32) % NR_PLACES;
}

static void *write_one_place(void *argument)
{
	uint64_t thread = (uintptr_t)argument, i, sequence;

	for (i = 0; i < NR_ROUNDS; i++) {
		sequence = sequence_at(thread, i % 8);
		vt_torch_forward_note(thread, sequence, stack_of(thread, sequence));
	}
	return NULL;
}

static void writers_that_meet_leave_nothing_wrong(void **state)
{
	uint64_t i, thread, sequence, nr_found = 0;
	pthread_t writers[2];
	uint32_t stack;

	(void)state;
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_one_place,
						(void *)(uintptr_t)(i + 1)), 0);
	for (i = 0; i < NR_ROUNDS; i++) {
		thread = 1 + i % 2;
		sequence = sequence_at(thread, i / 2 % 8);
		stack = vt_torch_forward_find(thread, sequence);
		if (stack)
			assert_int_equal(stack, stack_of(thread, sequence));
		nr_found += stack != 0;
	}
	for (i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	for (i = 0; i < 16; i++) {
		thread = 1 + i % 2;
		sequence = sequence_at(thread, i / 2);
		stack = vt_torch_forward_find(thread, sequence);
		assert_true(!stack || stack == stack_of(thread, sequence));
		nr_found += stack != 0;
	}
	assert_true(nr_found > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(node_gives_its_stack, start),
		cmocka_unit_test_setup(newest_takes_the_place, start),
		cmocka_unit_test_setup(node_without_a_stack_has_none, start),
		cmocka_unit_test_setup(another_recording_starts_anew, start),
		cmocka_unit_test_setup(what_cannot_be_told_apart_is_not_kept, start),
		cmocka_unit_test_setup(writers_that_meet_leave_nothing_wrong, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
