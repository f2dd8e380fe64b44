/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/model/model.h"
#include "tests/lib/sample_journal.h"

#define MIB (1ull << 20)

static void begin(struct builder *b, struct vt_operator_record operator,
		  const struct vt_operator_address *inputs)
{
	struct {
		struct vt_operator_record record;
		struct vt_operator_address inputs[8];
	} r = { .record = operator };

	for (uint32_t i = 0; i < operator.nr_tensors; i++)
		r.inputs[i] = inputs[i];
	builder_append(b, VT_RECORD_OPERATOR, &r, sizeof(r));
}

static void end(struct builder *b, uint32_t id, uint64_t next_sequence, uint64_t output)
{
	struct {
		struct vt_operator_end_record record;
		struct vt_operator_address output;
	} r = { .record = { .id = id, .next_sequence = next_sequence, .nr_tensors = output != 0 },
		.output = { .address = output } };

	builder_append(b, VT_RECORD_OPERATOR_END, &r, sizeof(r));
}

/*
 * 1: a product that makes a node and calls 2, which gets the block that 1 makes room for; 3: fails;
 * 4: in the backward pass, and never ends.
 */
static void build(struct builder *b)
{
	const struct vt_operator_address inputs[] = {
		{ .address = 0x1000 },
		{ .address = 0x2000, .position = 1, .element = 3 },
		{ .address = 0x9999, .position = 2 },
	};
	const struct vt_operator_address freed = { .address = 0x1000 };

	builder_init(b);
	builder_string(b, 1, "aten::mm");
	builder_string(b, 2, "aten::mm");
	builder_string(b, 3, "MmBackward0");
	builder_alloc(b, VT_KIND_SEGMENT, 0x1000, 2 * MIB);
	builder_alloc(b, VT_KIND_BLOCK, 0x1000, MIB);
	builder_alloc(b, VT_KIND_SEGMENT, 0x2000, MIB);
	begin(b, (struct vt_operator_record){ .id = 1, .thread = 7, .name = 1, .next_sequence = 40,
					      .nr_tensors = 3, .python_stack = 5 }, inputs);
	builder_free(b, VT_KIND_BLOCK, 0x1000);
	builder_alloc(b, VT_KIND_BLOCK, 0x1000, MIB);
	begin(b, (struct vt_operator_record){ .id = 2, .parent = 1, .thread = 7, .name = 2,
					      .next_sequence = 41, .nr_tensors = 1 }, &freed);
	end(b, 2, 41, 0x1000);
	end(b, 1, 41, 0x1000);
	begin(b, (struct vt_operator_record){ .id = 3, .parent = 3, .thread = 7, .name = 1,
					      .nr_tensors = 1 }, &freed);
	end(b, 3, 0, 0);
	begin(b, (struct vt_operator_record){ .id = 4, .parent = 9, .thread = 8, .name = 1,
					      .node_class = 3, .node_sequence = 40,
					      .forward_python_stack = 5 }, NULL);
}

static void assert_tensor(const struct vt_call_tensor *tensor, int is_output, uint32_t position,
			  uint32_t element, uint32_t allocation)
{
	assert_int_equal(tensor->is_output, is_output);
	assert_int_equal(tensor->position, position);
	assert_int_equal(tensor->element, element);
	assert_int_equal(tensor->allocation, allocation);
}

/* Inputs are what was live at the beginning, results what was at the end. */
static void tensors_are_allocations_of_that_moment(void **state)
{
	const struct vt_call_tensor *tensors;
	struct vt_model model;
	struct builder b;
	struct vt_db *db;

	(void)state;
	build(&b);
	db = unit_import(&b, "operators.db");
	assert_int_equal(vt_model_load(&model, db, NULL), 0);
	assert_int_equal(model.calls.nr, 4);
	assert_int_equal(model.calls.items[0].nr_tensors, 4);
	tensors = &model.calls.tensors[model.calls.items[0].first_tensor];
	assert_tensor(&tensors[0], 0, 0, 0, 1);
	assert_tensor(&tensors[1], 0, 1, 3, 2);
	assert_tensor(&tensors[2], 0, 2, 0, VT_NO_INDEX);
	assert_tensor(&tensors[3], 1, 0, 0, 3);
	tensors = &model.calls.tensors[model.calls.items[1].first_tensor];
	assert_int_equal(model.calls.items[1].nr_tensors, 2);
	assert_tensor(&tensors[0], 0, 0, 0, 3);
	assert_tensor(&tensors[1], 1, 0, 0, 3);
	vt_model_release(&model);
	vt_db_close(db);
	builder_release(&b);
}

static void operators_know_when_and_where_they_ran(void **state)
{
	const struct vt_operator_call *o;
	struct vt_model model;
	struct builder b;
	struct vt_db *db;

	(void)state;
	build(&b);
	db = unit_import(&b, "operators-where.db");
	assert_int_equal(vt_model_load(&model, db, NULL), 0);
	o = model.calls.items;
	assert_true(o[0].event == 3 && o[0].end_event == 5 && o[0].thread == 7);
	assert_true(o[0].sequence == 40 && o[0].python_stack == 5 && !o[0].node_class);
	assert_int_equal(o[0].parent, VT_NO_INDEX);
	assert_true(o[1].event == 5 && o[1].parent == 0 && o[1].sequence == VT_NO_SEQUENCE);
	/* Equal texts have one number. */
	assert_int_equal(o[1].name, o[0].name);
	/* In a damaged file an operator may say that it called itself. */
	assert_int_equal(o[2].parent, VT_NO_INDEX);
	assert_int_equal(o[2].nr_tensors, 1);
	assert_true(o[3].end_event == VT_NEVER && o[3].sequence == VT_NO_SEQUENCE);
	assert_true(o[3].node_class == 3 && o[3].node_sequence == 40);
	assert_int_equal(o[3].forward_python_stack, 5);
	assert_int_equal(vt_db_run_get_int(db, "events", -1), 5);
	vt_model_release(&model);
	vt_db_close(db);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensors_are_allocations_of_that_moment),
		cmocka_unit_test(operators_know_when_and_where_they_ran),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
