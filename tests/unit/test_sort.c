/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/sort.h"

#define MOST 3000

/* Sorted by the key alone; the place says whether equal ones kept their order. */
struct item {
	uint32_t key;
	uint32_t place;
	char rest[5]; /* no multiple of a word */
};

static size_t g_nr_compared;

static int compare_keys(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	g_nr_compared++;
	return x->key < y->key ? -1 : x->key > y->key;
}

static void fill(struct item *items, size_t nr, const uint32_t *keys)
{
	for (size_t i = 0; i < nr; i++)
		items[i] = (struct item){ keys[i], (uint32_t)i, { 'r', 'e', 's', 't', (char)i } };
}

/* In order, each of the items once, equal ones as they came. */
static void assert_sorted(const struct item *items, size_t nr, const uint32_t *keys)
{
	uint8_t is_there[MOST] = { 0 };

	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(items[i].key, keys[items[i].place]);
		assert_int_equal(items[i].rest[4], (char)items[i].place);
		assert_false(is_there[items[i].place]);
		is_there[items[i].place] = 1;
		if (!i)
			continue;
		assert_true(items[i - 1].key <= items[i].key);
		assert_true(items[i - 1].key < items[i].key || items[i - 1].place < items[i].place);
	}
}

/* Returns how many comparisons it took. */
static size_t sort_keys(const uint32_t *keys, size_t nr)
{
	static struct item items[MOST];

	fill(items, nr, keys);
	g_nr_compared = 0;
	vt_sort(items, nr, compare_keys);
	assert_sorted(items, nr, keys);
	return g_nr_compared;
}

static void any_order_is_sorted(void **state)
{
	uint32_t keys[MOST], seed = 1;

	(void)state;
	/* Few different keys, and many; runs up and down of several lengths. */
	for (size_t nr = 0; nr < 300; nr++) {
		for (uint32_t range = 1; range < 5000; range = range * 3 + 1) {
			for (size_t i = 0; i < nr; i++) {
				seed = seed * 1664525 + 1013904223;
				keys[i] = (seed >> 8) % range;
			}
			sort_keys(keys, nr);
		}
		for (size_t run = 1; run < 100; run += 7) {
			for (size_t i = 0; i < nr; i++)
				keys[i] = (uint32_t)(i / run % 2 ? i : 1000 - i);
			sort_keys(keys, nr);
		}
	}
}

static void many_in_no_order_take_few_comparisons(void **state)
{
	uint32_t keys[MOST], seed = 7;

	(void)state;
	for (size_t i = 0; i < MOST; i++) {
		seed = seed * 1664525 + 1013904223;
		keys[i] = seed >> 4;
	}
	/* log2(3000) is 11.6; with qsort() it is 30,900. */
	assert_true(sort_keys(keys, MOST) < 12 * MOST);
}

/* A step's nodes run from the last one to the first, and steps follow each other. */
static void runs_take_about_one_comparison_an_item(void **state)
{
	uint32_t keys[MOST];

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		keys[i] = (uint32_t)i;
	assert_true(sort_keys(keys, MOST) < MOST + 10);
	for (size_t i = 0; i < MOST; i++)
		keys[i] = (uint32_t)(i / 100 * 100 + 99 - i % 100);
	assert_true(sort_keys(keys, MOST) < MOST + 3 * MOST / 100);
}

static void take_lowest_place(void *into, void *from)
{
	struct item *kept = into;
	const struct item *gone = from;

	assert_true(kept->place < gone->place);
	kept->rest[0]++;
}

static void what_is_equal_is_joined(void **state)
{
	static const uint32_t keys[] = { 3, 1, 3, 2, 1, 3 };
	struct item items[6];

	(void)state;
	fill(items, 6, keys);
	assert_int_equal(vt_group(items, 6, compare_keys, take_lowest_place), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(items[i].key, i + 1);
		assert_int_equal(items[i].rest[0], 'r' + (i == 0 ? 1 : i == 1 ? 0 : 2));
	}
	assert_int_equal(vt_group(items, 0, compare_keys, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_is_sorted),
		cmocka_unit_test(many_in_no_order_take_few_comparisons),
		cmocka_unit_test(runs_take_about_one_comparison_an_item),
		cmocka_unit_test(what_is_equal_is_joined),
	};

	return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
