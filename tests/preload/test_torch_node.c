/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Its state is that of a process: each test starts it anew. */
#include "preload/torch_node.c"

#define ACCUMULATE "N5torch8autograd14AccumulateGradE"
#define MUL	   "N5torch8autograd9generated12MulBackward0E"

/* type_info: its own table, then the name.  The type information stands before the table. */
static const void *mul_type[] = { NULL, MUL };
static const void *mul_table[] = { mul_type, NULL };

/* The thread that made every node here. */
#define THREAD 3

/* As in 2.14: table, reference counts, number, depth in the graph, flags, thread. */
static const uint64_t *newer(uint64_t sequence)
{
	static uint64_t node[6];

	node[0] = (uintptr_t)&mul_table[1];
	node[1] = 1ull << 32 | 1;
	node[2] = sequence;
	node[3] = 2;
	node[4] = 1;
	node[5] = THREAD;
	return node;
}

/* As in 2.11: table, itself, address of a count block, number, depth in the graph, flag, thread. */
static const uint64_t *older(uint64_t block, uint64_t sequence)
{
	static uint64_t node[7];

	node[0] = (uintptr_t)&mul_table[1];
	node[1] = (uintptr_t)node;
	node[2] = block;
	node[3] = sequence;
	node[4] = 2;
	node[5] = 1;
	node[6] = THREAD;
	return node;
}

static int start(void **state)
{
	(void)state;
	g.offset = 0;
	g.highest = 0;
	return 0;
}

static void note_up_to(uint64_t last)
{
	uint64_t i;

	for (i = 0; i <= last; i++)
		vt_torch_node_note_sequence(i);
}

static void class_is_read_from_type_information(void **state)
{
	const void *local_type[] = { NULL, "*N12_GLOBAL__N_14NodeE" };
	const void *local_table[] = { local_type, NULL };
	const void *nameless_table[] = { NULL, NULL };
	const void *node;

	(void)state;
	assert_string_equal(vt_torch_node_class(newer(1)), MUL);
	node = &local_table[1];
	assert_string_equal(vt_torch_node_class(&node), "N12_GLOBAL__N_14NodeE");
	node = &nameless_table[1];
	assert_string_equal(vt_torch_node_class(&node), "");
}

static void newer_layout_is_found(void **state)
{
	(void)state;
	note_up_to(9);
	assert_int_equal(vt_torch_node_sequence(newer(9), MUL), 9);
	assert_int_equal(vt_torch_node_sequence(newer(UINT64_MAX), ACCUMULATE), UINT64_MAX);
	assert_int_equal(g.offset, OFFSET_NEWER);
	assert_int_equal(vt_torch_node_sequence(newer(70000), MUL), 70000);
	assert_int_equal(vt_torch_node_thread(newer(70000), MUL), THREAD);
}

static void older_layout_is_found(void **state)
{
	(void)state;
	note_up_to(9);
	assert_int_equal(vt_torch_node_sequence(older(0x7f1200001230, 9), MUL), 9);
	/* The heap of a program that is not position-independent begins low. */
	assert_int_equal(vt_torch_node_sequence(older(0x1c3b0a0, 3), MUL), 3);
	assert_int_equal(vt_torch_node_sequence(older(0x1c3b0a0, UINT64_MAX), ACCUMULATE),
			 UINT64_MAX);
	assert_int_equal(g.offset, OFFSET_OLDER);
	assert_int_equal(vt_torch_node_sequence(older(16, 70000), MUL), 70000);
	assert_int_equal(vt_torch_node_thread(older(16, 70000), MUL), THREAD);
}

static void nothing_is_guessed(void **state)
{
	(void)state;
	assert_int_equal(vt_torch_node_sequence(newer(0), MUL), VT_TORCH_NO_SEQUENCE);
	note_up_to(4);
	assert_int_equal(vt_torch_node_sequence(older(0x7f1200001230, 5), MUL),
			 VT_TORCH_NO_SEQUENCE);
	assert_int_equal(vt_torch_node_sequence(older(1, 2), ACCUMULATE), VT_TORCH_NO_SEQUENCE);
	assert_int_equal(vt_torch_node_thread(older(1, 2), ACCUMULATE), 0);
	assert_int_equal(g.offset, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(class_is_read_from_type_information, start),
		cmocka_unit_test_setup(newer_layout_is_found, start),
		cmocka_unit_test_setup(older_layout_is_found, start),
		cmocka_unit_test_setup(nothing_is_guessed, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
