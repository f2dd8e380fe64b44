/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdlib.h>

#include "analyzer/base/map.h"

static struct vt_key key(uint64_t a)
{
	return (struct vt_key){ a, a % 7, 0 };
}

static void map_finds_what_was_put(void **state)
{
	struct vt_map map = { 0 };

	(void)state;
	assert_null(vt_map_find(&map, key(1)));
	for (uint64_t i = 0; i < 1000; i++)
		vt_map_put(&map, key(i << 21), i);
	vt_map_put(&map, key(5ull << 21), 77);
	assert_int_equal(map.len, 1000);
	assert_int_equal(*vt_map_find(&map, key(5ull << 21)), 77);
	assert_int_equal(*vt_map_find(&map, key(999ull << 21)), 999);
	assert_null(vt_map_find(&map, (struct vt_key){ 5ull << 21, 1, 0 }));
	vt_map_release(&map);
}

/* Against a plain array, with removals that open holes inside runs of entries. */
static void map_agrees_with_an_array_under_random_use(void **state)
{
	enum { KEYS = 300 };
	int64_t expected[KEYS];
	struct vt_map map = { 0 };

	(void)state;
	srand(7);
	for (int i = 0; i < KEYS; i++)
		expected[i] = -1;
	for (int step = 0; step < 200000; step++) {
		int i = rand() % KEYS;
		uint64_t *found = vt_map_find(&map, key((uint64_t)i << 9));

		assert_int_equal(found ? (int64_t)*found : -1, expected[i]);
		if (rand() % 2) {
			vt_map_put(&map, key((uint64_t)i << 9), (uint64_t)step);
			expected[i] = step;
		} else {
			assert_int_equal(vt_map_remove(&map, key((uint64_t)i << 9)),
					 expected[i] >= 0);
			expected[i] = -1;
		}
	}
	vt_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map_finds_what_was_put),
		cmocka_unit_test(map_agrees_with_an_array_under_random_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
