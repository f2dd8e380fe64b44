/* SPDX-License-Identifier: MIT */
/* Which modules write into caches of a fixed size and compute with them. */
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/attribution/timeline/static_caches.h"
#include "analyzer/base/util.h"

#define MODULE      7
#define FIRST_EVENT 10 /* of the call that is looked at */
#define NR_MAX      8

/* An operator: what it reads first, what it reads besides or VT_NO_INDEX, what it returns. */
struct step {
	const char *name;
	uint32_t first, second, result;
};

enum { KEYS, VALUES, SMALLER, MADE, RESULT };

/* As threads without Python make them. */
static int g_has_no_stacks;

static int has_cache(const struct step *steps, uint32_t nr, int has_autograd)
{
	struct vt_allocation_common commons[RESULT + 1];
	struct vt_allocation allocations[RESULT + 1];
	struct vt_operator_call calls[NR_MAX];
	struct vt_call_tensor tensors[3 * NR_MAX];
	char *texts[NR_MAX + 1] = { NULL };
	struct vt_model model = { .allocations = allocations,
				  .nr_allocations = RESULT + 1,
				  .calls = { .items = calls, .tensors = tensors, .nr = nr },
				  .strings = { .text = texts, .nr = NR_MAX + 1 } };
	struct vt_pass pass = { .module = MODULE,
				.first_event = FIRST_EVENT,
				.end_event = FIRST_EVENT + NR_MAX,
				.has_autograd = (uint8_t)has_autograd };
	struct vt_passes passes = { .passes = &pass, .nr = 1 };
	struct vt_static_caches caches;
	int found;

	struct vt_caller made[RESULT + 1];

	memset(made, 0, sizeof(made));
	memset(allocations, 0, sizeof(allocations));
	memset(calls, 0, sizeof(calls));
	memset(tensors, 0, sizeof(tensors));
	for (uint32_t i = 0; i <= RESULT; i++) {
		commons[i] = (struct vt_allocation_common){ .made = &made[i],
							    .kind = VT_KIND_BLOCK,
							    .size_bytes = 65536 };
		made[i].python_stack = g_has_no_stacks ? 0 : i + 1;
		if (i == SMALLER)
			commons[i].size_bytes = 8192;
		allocations[i].event = i < MADE ? i + 1 : FIRST_EVENT;
		allocations[i].freed_event = VT_NEVER;
		allocations[i].common = &commons[i];
	}
	for (uint32_t i = 0; i < nr; i++) {
		texts[i + 1] = (char *)steps[i].name;
		calls[i].name = i + 1;
		calls[i].event = FIRST_EVENT + i;
		calls[i].first_tensor = 3 * i;
		calls[i].nr_tensors = 3;
		tensors[3 * i].allocation = steps[i].first;
		tensors[3 * i + 1].allocation = steps[i].second;
		tensors[3 * i + 2].allocation = steps[i].result;
		tensors[3 * i + 2].is_output = 1;
	}
	vt_static_caches_init(&caches, &model, &passes);
	found = vt_static_caches_has(&caches, MODULE);
	assert_int_equal(vt_static_caches_is_block(&caches, &allocations[KEYS]),
			 found && !g_has_no_stacks);
	assert_false(vt_static_caches_is_block(&caches, &allocations[SMALLER]));
	vt_static_caches_release(&caches);
	return found;
}

#define HAS(steps) has_cache(steps, VT_ARRAY_SIZE(steps), 0)

static void test_keys_and_values_are_written_and_read(void **state)
{
	const struct step by_index[] = {
		{ "aten::index_copy_", KEYS, MADE, KEYS },
		{ "aten::index_copy_", VALUES, MADE, VALUES },
		{ "aten::matmul", MADE, KEYS, RESULT },
		{ "aten::matmul", MADE, VALUES, RESULT },
	};
	/* Through a view, and read by a copy of what is filled so far. */
	const struct step by_slices[] = {
		{ "aten::slice", KEYS, VT_NO_INDEX, KEYS },
		{ "aten::copy_", KEYS, MADE, KEYS },
		{ "aten::copy_", VALUES, MADE, VALUES },
		{ "aten::index", KEYS, VT_NO_INDEX, RESULT },
		{ "aten::index", VALUES, VT_NO_INDEX, RESULT },
	};

	(void)state;
	assert_true(HAS(by_index));
	assert_true(HAS(by_slices));
	assert_false(has_cache(by_index, VT_ARRAY_SIZE(by_index), 1));
	g_has_no_stacks = 1;
	assert_true(HAS(by_index));
	g_has_no_stacks = 0;
}

static void test_other_blocks_that_a_call_writes_are_no_cache(void **state)
{
	/* A log that nothing reads; a view reads nothing. */
	const struct step unread[] = {
		{ "aten::copy_", KEYS, MADE, KEYS },
		{ "aten::copy_", VALUES, MADE, VALUES },
		{ "aten::slice", VALUES, VT_NO_INDEX, VALUES },
		{ "aten::matmul", MADE, KEYS, RESULT },
	};
	/* An average and its count. */
	const struct step unequal[] = {
		{ "aten::copy_", KEYS, MADE, KEYS },
		{ "aten::copy_", SMALLER, MADE, SMALLER },
		{ "aten::matmul", KEYS, SMALLER, RESULT },
	};
	/* A result that the call fills itself. */
	const struct step own[] = {
		{ "aten::copy_", MADE, KEYS, MADE },
		{ "aten::copy_", VALUES, KEYS, VALUES },
		{ "aten::matmul", MADE, VALUES, RESULT },
	};
	/* Computed in place, not copied: running statistics. */
	const struct step computed[] = {
		{ "aten::mul_", KEYS, MADE, KEYS },
		{ "aten::mul_", VALUES, MADE, VALUES },
		{ "aten::matmul", KEYS, VALUES, RESULT },
	};

	(void)state;
	assert_false(HAS(unread));
	assert_false(HAS(unequal));
	assert_false(HAS(own));
	assert_false(HAS(computed));
}

/* More than anybody's program writes. */
#define MANY 500000u

static void test_many_blocks_are_found_at_once(void **state)
{
	struct vt_allocation *allocations = vt_xcalloc(MANY + 1, sizeof(*allocations));
	struct vt_allocation_common *commons = vt_xcalloc(MANY, sizeof(*commons));
	struct vt_operator_call *calls = vt_xcalloc(2 * MANY, sizeof(*calls));
	struct vt_call_tensor *tensors = vt_xcalloc(4 * MANY, sizeof(*tensors));
	struct vt_caller made = { .python_stack = 1 };
	char *texts[] = { NULL, (char *)"aten::copy_", (char *)"aten::matmul" };
	struct vt_model model = { .allocations = allocations,
				  .nr_allocations = MANY + 1,
				  .calls = { .items = calls, .tensors = tensors, .nr = 2 * MANY },
				  .strings = { .text = texts, .nr = VT_ARRAY_SIZE(texts) } };
	struct vt_pass pass = { .module = MODULE, .first_event = 1, .end_event = 2 };
	struct vt_passes passes = { .passes = &pass, .nr = 1 };
	struct vt_static_caches caches;

	(void)state;
	/* All are written, then all are read; only the last two are of one size. */
	for (uint32_t i = 0; i < MANY; i++) {
		commons[i] = (struct vt_allocation_common){ .made = &made,
							    .kind = VT_KIND_BLOCK,
							    .size_bytes = 4096 + i };
		allocations[i].freed_event = VT_NEVER;
		allocations[i].common = &commons[i];
		tensors[2 * i] = (struct vt_call_tensor){ .allocation = i };
		tensors[2 * i + 1] = (struct vt_call_tensor){ .allocation = MANY, .is_output = 1 };
	}
	commons[MANY - 1].size_bytes--;
	for (uint32_t i = 0; i < 2 * MANY; i++)
		calls[i] = (struct vt_operator_call){ .name = i < MANY ? 1 : 2,
						      .event = 1,
						      .first_tensor = i % MANY * 2,
						      .nr_tensors = 2 };
	vt_static_caches_init(&caches, &model, &passes);
	assert_true(vt_static_caches_has(&caches, MODULE));
	assert_true(vt_static_caches_is_block(&caches, &allocations[MANY - 1]));
	assert_false(vt_static_caches_is_block(&caches, &allocations[0]));
	vt_static_caches_release(&caches);
	free(allocations);
	free(commons);
	free(calls);
	free(tensors);
}

/* A call: the size of the first block that it makes, 0: it makes none. */
struct call {
	uint64_t bytes;
	uint64_t module;
	uint8_t has_autograd;
};

/* The end of the row that begins with the call at `position`. */
static uint32_t find_row(const struct call *row, uint32_t nr, uint32_t position)
{
	struct vt_caller made = { .python_stack = 1 };
	struct vt_allocation_common commons[NR_MAX];
	struct vt_allocation allocations[NR_MAX];
	struct vt_pass items[NR_MAX];
	struct vt_model model = { .allocations = allocations, .nr_allocations = nr };
	struct vt_passes passes = { .passes = items, .nr = nr };
	struct vt_carried_tensors carried;
	uint32_t end;

	memset(allocations, 0, sizeof(allocations));
	for (uint32_t i = 0; i < nr; i++) {
		items[i] = (struct vt_pass){ .module = row[i].module,
					     .first_event = i,
					     .end_event = row[i].bytes ? i + 1 : i,
					     .has_autograd = row[i].has_autograd };
		commons[i] = (struct vt_allocation_common){ .made = &made,
							    .kind = VT_KIND_BLOCK,
							    .size_bytes = row[i].bytes };
		allocations[i].common = &commons[i];
		allocations[i].event = i;
	}
	vt_carried_tensors_init(&carried, &passes, &model, NULL);
	end = vt_static_caches_find_row(&carried, position);
	vt_carried_tensors_release(&carried);
	return end;
}

#define CALL(bytes)                                                                                \
	{                                                                                          \
		bytes, MODULE, 0                                                                   \
	}
#define TRAINING(bytes)                                                                            \
	{                                                                                          \
		bytes, MODULE, 1                                                                   \
	}
#define OTHER(bytes)                                                                               \
	{                                                                                          \
		bytes, MODULE + 1, 0                                                               \
	}
#define ROW(position, ...)                                                                         \
	find_row((const struct call[]){ __VA_ARGS__ },                                             \
		 VT_ARRAY_SIZE(((const struct call[]){ __VA_ARGS__ })), position)

static void test_a_row_is_a_prompt_and_tokens_of_one_size(void **state)
{
	(void)state;
	/* The prompt's is the largest; tokens are alike; the next prompt is larger. */
	assert_int_equal(ROW(0, CALL(4096), CALL(512), CALL(512), CALL(512), CALL(2048)), 4);
	assert_int_equal(ROW(4, CALL(4096), CALL(512), CALL(512), CALL(512), CALL(2048)), 5);
	/* A prompt of one token. */
	assert_int_equal(ROW(0, CALL(512), CALL(512), CALL(512)), 3);
	/* No token is larger than the prompt. */
	assert_int_equal(ROW(0, CALL(512), CALL(1024), CALL(1024)), 1);
	/* Nor than another token. */
	assert_int_equal(ROW(0, CALL(4096), CALL(512), CALL(1024), CALL(1024)), 2);
	assert_int_equal(ROW(0, CALL(4096), CALL(1024), CALL(512)), 2);
	/* Tokens that make nothing. */
	assert_int_equal(ROW(0, CALL(4096), CALL(0), CALL(0)), 3);
}

static void test_a_row_ends_before_training_and_another_module(void **state)
{
	(void)state;
	assert_int_equal(ROW(0, CALL(4096), CALL(512), TRAINING(512), CALL(512)), 2);
	assert_int_equal(ROW(0, CALL(4096), CALL(512), OTHER(512)), 2);
	assert_int_equal(ROW(2, CALL(4096), CALL(512), OTHER(512)), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_and_values_are_written_and_read),
		cmocka_unit_test(test_other_blocks_that_a_call_writes_are_no_cache),
		cmocka_unit_test(test_many_blocks_are_found_at_once),
		cmocka_unit_test(test_a_row_is_a_prompt_and_tokens_of_one_size),
		cmocka_unit_test(test_a_row_ends_before_training_and_another_module),
	};

	return cmocka_run_group_tests_name("static_caches", tests, NULL, NULL);
}
