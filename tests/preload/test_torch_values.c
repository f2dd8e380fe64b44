/* SPDX-License-Identifier: MIT */
/* Values of an operator's call, laid out as PyTorch 2.11 does and otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Its state is that of a process: each test starts it anew. */
#include "preload/torch_values.c"
#include "tests/lib/platform.h"

#define CUDA 1
#define CPU  0

/* Words of a StorageImpl, a TensorImpl, a value, a list and a call. */
struct storage {
	uint64_t head[2], data, deleter[2], device, bytes;
};
struct tensor {
	uint64_t head[2];
	const struct storage *storage;
};
struct value {
	const void *word;
	uint64_t tag;
};
struct list {
	uint64_t head[2];
	const struct value *begin, *end;
};
struct call {
	uint64_t before[CALL_INPUTS / 8];
	const struct value *inputs;
	uint64_t nr_inputs;
	uint64_t between[(CALL_OUTPUTS - CALL_INPUTS) / 8 - 2];
	const struct value *outputs, *end;
};

static const struct storage on_device = { .data = 0x1000, .device = CUDA };
static const struct storage another = { .data = 0x2000, .device = CUDA };
static const struct storage on_host = { .data = 0x3000, .device = CPU };
static const struct storage of_nothing = { .device = CUDA };
static const struct tensor first = { .storage = &on_device };
static const struct tensor second = { .storage = &another };
static const struct tensor host = { .storage = &on_host };
static const struct tensor empty = { .storage = &of_nothing };
static const struct tensor undefined;

static int start(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	return 0;
}

static struct call call_of(const struct value *inputs, size_t nr_inputs,
			   const struct value *outputs, size_t nr_outputs)
{
	return (struct call){ .inputs = inputs,
			      .nr_inputs = nr_inputs,
			      .outputs = outputs,
			      .end = outputs + nr_outputs };
}

static void prove(void)
{
	const struct value value = { &first, TAG_TENSOR };
	struct call call = call_of(&value, 1, &value, 1);

	vt_torch_values_try_outputs(&call, 0x1000);
	assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_UNPROVEN);
	vt_torch_values_try_inputs(&call, 1);
	vt_torch_values_try_outputs(&call, 0x1000);
	assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_PROVEN);
}

static void tensors_on_the_device_are_found(void **state)
{
	const struct value items[] = { { &second, TAG_TENSOR },
				       { NULL, 0 },
				       { &first, TAG_TENSOR } };
	const struct list list = { .begin = items, .end = items + 3 };
	const struct value inputs[] = { { &first, TAG_TENSOR }, { (void *)7, 5 },
					{ &host, TAG_TENSOR },	{ &empty, TAG_TENSOR },
					{ &undefined, TAG_TENSOR }, { NULL, 0 },
					{ &list, TAG_LIST },	{ &second, TAG_TENSOR } };
	const struct value outputs[] = { { &second, TAG_TENSOR }, { &list, TAG_LIST } };
	struct call call = call_of(inputs, 8, outputs, 2);
	struct vt_operator_address found[8];

	(void)state;
	skip_without_checked_reads();
	prove();
	assert_int_equal(vt_torch_values_inputs(&call, NULL, 100), 4);
	assert_int_equal(vt_torch_values_inputs(&call, found, 8), 4);
	assert_true(found[0].address == 0x1000 && found[0].position == 0 && !found[0].element);
	assert_true(found[1].address == 0x2000 && found[1].position == 6 && !found[1].element);
	assert_true(found[2].address == 0x1000 && found[2].position == 6);
	assert_int_equal(found[2].element, 2);
	assert_true(found[3].address == 0x2000 && found[3].position == 7);
	assert_int_equal(vt_torch_values_inputs(&call, found, 3), 3);
	assert_int_equal(vt_torch_values_outputs(&call, found, 8), 3);
	assert_true(found[0].address == 0x2000 && found[2].position == 1);
}

/* Whatever is read there: it is not followed into memory that is none, and comes to an end. */
static void another_layout_is_refused(void **state)
{
	static const uint64_t words[] = { 0, 1, 16, 0xdead, UINT64_MAX, 1ull << 47 };
	struct call call;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		start(NULL);
		for (size_t at = 0; at < sizeof(call) / 8; at++)
			memcpy((char *)&call + at * 8, &words[i], 8);
		for (uint32_t n = 0; n < MOST_TRIES; n++) {
			vt_torch_values_try_inputs(&call, 2);
			vt_torch_values_try_outputs(&call, 0x1000);
		}
		assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_OTHER);
	}
}

/* Plausible, and wrong: of inputs or of outputs what is read is no block that was reported. */
static void addresses_that_are_no_blocks_are_refused(void **state)
{
	const struct value values[] = { { &second, TAG_TENSOR }, { &first, TAG_TENSOR } };
	struct call right_inputs = call_of(values, 2, values, 1);
	struct call right_outputs = call_of(values, 1, values + 1, 1);
	struct call *calls[] = { &right_inputs, &right_outputs };

	(void)state;
	skip_without_checked_reads();
	for (int i = 0; i < 2; i++) {
		start(NULL);
		for (uint32_t n = 1; n < MOST_TRIES; n++) {
			vt_torch_values_try_inputs(calls[i], calls[i]->nr_inputs);
			vt_torch_values_try_outputs(calls[i], 0x1000);
			assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_UNPROVEN);
		}
		vt_torch_values_try_outputs(calls[i], 0x1000);
		assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_OTHER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tensors_on_the_device_are_found, start),
		cmocka_unit_test_setup(another_layout_is_refused, start),
		cmocka_unit_test_setup(addresses_that_are_no_blocks_are_refused, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
