/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/interned.h"

/* More than one chunk holds, and than the first table has room for. */
#define MANY 3000

/* Found by its first two members. */
struct word {
	uint64_t text;
	uint32_t length;
	uint32_t number;
};

#define COMPARED offsetof(struct word, number)

static struct word *intern(struct vt_interned *all, uint64_t text, uint32_t length, int *is_new)
{
	const struct word word = { .text = text, .length = length, .number = 7 };

	return vt_interned_add(all, &word, sizeof(word), COMPARED, is_new);
}

static void what_is_compared_decides(void **state)
{
	struct vt_interned all = { 0 };
	struct word *first[MANY];
	int is_new;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		first[i] = intern(&all, i / 2, i % 2, &is_new);
		assert_true(is_new);
		assert_int_equal(first[i]->number, 7);
		first[i]->number = i;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		assert_ptr_equal(intern(&all, i / 2, i % 2, &is_new), first[i]);
		assert_false(is_new);
		assert_int_equal(first[i]->number, i);
	}
	assert_int_equal(all.nr, MANY);
	vt_interned_release(&all);
}

static void adopted_ones_outlive_where_they_were_found(void **state)
{
	struct vt_interned all = { 0 }, other = { 0 };
	struct word *own, *adopted = NULL;
	int is_new;

	(void)state;
	own = intern(&all, 1, 0, &is_new);
	for (uint32_t i = 0; i < MANY; i++)
		adopted = intern(&other, i, 0, &is_new);
	vt_interned_adopt(&all, &other);
	assert_null(other.chunks);
	assert_int_equal(adopted->text, MANY - 1);
	assert_ptr_equal(intern(&all, 1, 0, &is_new), own);
	/* An adopted one is not found. */
	assert_ptr_not_equal(intern(&all, MANY - 1, 0, &is_new), adopted);
	vt_interned_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_compared_decides),
		cmocka_unit_test(adopted_ones_outlive_where_they_were_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
