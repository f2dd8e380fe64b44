/* SPDX-License-Identifier: MIT */
/* Values of an operator's call, laid out as releases of PyTorch do and otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Its state is that of a process: each test starts it anew. */
#include "preload/torch_values.c"
#include "tests/lib/platform.h"

#define CUDA       1
#define CPU        0
#define LIST_TAG   13
#define CALL_BYTES 512

struct value {
	const void *word;
	uint64_t tag;
};

/* Of the layout that a test is about. */
struct objects {
	const struct layout *layout;
	unsigned char storages[4][64], tensors[5][64], list[64], call[CALL_BYTES];
};
enum { FIRST, SECOND, HOST, EMPTY, UNDEFINED };

static void put(unsigned char *object, size_t at, uint64_t word)
{
	memcpy(object + at, &word, sizeof(word));
}

static void put_storage(struct objects *o, int number, uint64_t data, int device)
{
	put(o->storages[number], o->layout->data, data);
	o->storages[number][o->layout->device] = (unsigned char)device;
	put(o->tensors[number], o->layout->storage, (uintptr_t)o->storages[number]);
}

static struct objects objects_of(size_t layout)
{
	return (struct objects){ .layout = &layouts[layout] };
}

/* Addresses in it are those of `o` itself. */
static void fill(struct objects *o)
{
	put_storage(o, FIRST, 0x1000, CUDA);
	put_storage(o, SECOND, 0x2000, CUDA);
	put_storage(o, HOST, 0x3000, CPU);
	put_storage(o, EMPTY, 0, CUDA);
}

static const void *call_of(struct objects *o, const struct value *inputs, size_t nr_inputs,
			   const struct value *outputs, size_t nr_outputs)
{
	put(o->call, o->layout->inputs, (uintptr_t)inputs);
	put(o->call, o->layout->inputs + 8u, nr_inputs);
	put(o->call, o->layout->outputs, (uintptr_t)outputs);
	put(o->call, o->layout->outputs + 8u, (uintptr_t)(outputs + nr_outputs));
	return o->call;
}

static int start(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	return 0;
}

static void prove(struct objects *o)
{
	const struct value value = { o->tensors[FIRST], TAG_TENSOR };
	const void *call = call_of(o, &value, 1, &value, 1);

	vt_torch_values_try_outputs(call, 0x1000);
	assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_UNPROVEN);
	vt_torch_values_try_inputs(call, 1);
	vt_torch_values_try_outputs(call, 0x1000);
	assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_PROVEN);
	assert_ptr_equal(proven_layout(), o->layout);
}

static void find_tensors(struct objects *o)
{
	const struct value items[] = { { o->tensors[SECOND], TAG_TENSOR },
				       { NULL, 0 },
				       { o->tensors[FIRST], TAG_TENSOR } };
	/* Other things have a tag that lists have in other releases. */
	const struct value inputs[] = {
		{ o->tensors[FIRST], TAG_TENSOR },
		{ (void *)7, 5 },
		{ o->tensors[HOST], TAG_TENSOR },
		{ o->tensors[EMPTY], TAG_TENSOR },
		{ o->tensors[UNDEFINED], TAG_TENSOR },
		{ (void *)8, LIST_TAG + 1 },
		{ o->list, LIST_TAG },
		{ o->tensors[SECOND], TAG_TENSOR },
	};
	const struct value outputs[] = { { o->tensors[SECOND], TAG_TENSOR },
					 { o->list, LIST_TAG } };
	const void *call;
	struct vt_operator_address found[8];

	put(o->list, o->layout->values, (uintptr_t)items);
	put(o->list, o->layout->values + 8u, (uintptr_t)(items + 3));
	call = call_of(o, inputs, 8, outputs, 2);
	assert_int_equal(vt_torch_values_inputs(call, NULL, 100), 4);
	assert_int_equal(vt_torch_values_inputs(call, found, 8), 4);
	assert_true(found[0].address == 0x1000 && found[0].position == 0 && !found[0].element);
	assert_true(found[1].address == 0x2000 && found[1].position == 6 && !found[1].element);
	assert_true(found[2].address == 0x1000 && found[2].position == 6);
	assert_int_equal(found[2].element, 2);
	assert_true(found[3].address == 0x2000 && found[3].position == 7);
	assert_int_equal(vt_torch_values_inputs(call, found, 3), 3);
	assert_int_equal(vt_torch_values_outputs(call, found, 8), 3);
	assert_true(found[0].address == 0x2000 && found[2].position == 1);
}

static void tensors_on_the_device_are_found(void **state)
{
	(void)state;
	skip_without_checked_reads();
	for (size_t i = 0; i < NR_LAYOUTS; i++) {
		struct objects o = objects_of(i);

		start(NULL);
		fill(&o);
		prove(&o);
		find_tensors(&o);
	}
}

/* A list whose tensors were never seen alone proves no tag, and is not read. */
static void lists_are_read_when_one_was_proven(void **state)
{
	struct objects o = objects_of(0);
	const struct value item = { o.tensors[SECOND], TAG_TENSOR };
	const struct value list = { o.list, LIST_TAG }, alone = { o.tensors[SECOND], TAG_TENSOR };
	const void *call;

	(void)state;
	skip_without_checked_reads();
	fill(&o);
	prove(&o);
	put(o.list, o.layout->values, (uintptr_t)&item);
	put(o.list, o.layout->values + 8u, (uintptr_t)(&item + 1));
	call = call_of(&o, &list, 1, NULL, 0);
	assert_int_equal(vt_torch_values_inputs(call, NULL, 8), 0);
	call = call_of(&o, &alone, 1, NULL, 0);
	assert_int_equal(vt_torch_values_inputs(call, NULL, 8), 1);
	call = call_of(&o, &list, 1, NULL, 0);
	assert_int_equal(vt_torch_values_inputs(call, NULL, 8), 1);
}

/* Whatever is read there: it is not followed into memory that is none, and comes to an end. */
static void another_layout_is_refused(void **state)
{
	static const uint64_t words[] = { 0, 1, 16, 0xdead, UINT64_MAX, 1ull << 47 };
	unsigned char call[CALL_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		start(NULL);
		for (size_t at = 0; at < sizeof(call); at += 8)
			put(call, at, words[i]);
		for (uint32_t n = 0; n < MOST_TRIES; n++) {
			vt_torch_values_try_inputs(call, 2);
			vt_torch_values_try_outputs(call, 0x1000);
		}
		assert_int_equal(vt_torch_values_layout(), VT_TORCH_LAYOUT_OTHER);
	}
}

/* Plausible, and wrong: of inputs or of outputs what is read is no block that was reported. */
static void addresses_that_are_no_blocks_are_refused(void **state)
{
	struct objects right_inputs = objects_of(0), right_outputs = objects_of(0);
	const struct value values[] = { { right_inputs.tensors[SECOND], TAG_TENSOR },
					{ right_inputs.tensors[FIRST], TAG_TENSOR } };
	const void *calls[2];

	(void)state;
	skip_without_checked_reads();
	fill(&right_inputs);
	calls[0] = call_of(&right_inputs, values, 2, values, 1);
	calls[1] = call_of(&right_outputs, values, 1, values + 1, 1);
	for (int i = 0; i < 2; i++) {
		start(NULL);
		for (uint32_t n = 1; n < MOST_TRIES; n++) {
			vt_torch_values_try_inputs(calls[i], 2 - (uint64_t)i);
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
		cmocka_unit_test_setup(lists_are_read_when_one_was_proven, start),
		cmocka_unit_test_setup(another_layout_is_refused, start),
		cmocka_unit_test_setup(addresses_that_are_no_blocks_are_refused, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
