/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/util.h"
#include "analyzer/model/allocation_times.h"

/* Of more rows than share a base. */
#define MANY 3000

#define SECONDS(n) ((int64_t)(n)*1000 * 1000 * 1000)

/* Mostly close to each other; each seventh lives long, each fiftieth comes after a long pause. */
static int64_t made(uint32_t row)
{
	return (int64_t)row * 700 + SECONDS(10) * (row / 50);
}

static int64_t freed(uint32_t row)
{
	return made(row) + (row % 7 ? 90 + row : SECONDS(3600));
}

static void add(struct vt_allocation_times *times, uint32_t first, uint32_t end)
{
	for (uint32_t row = first; row < end; row++)
		vt_allocation_times_add(times, made(row), freed(row));
}

static void assert_all(const struct vt_allocation_times *times)
{
	assert_int_equal(times->made.len, MANY);
	for (uint32_t row = 0; row < MANY; row++) {
		assert_int_equal(vt_allocation_times_made(times, row), made(row));
		assert_int_equal(vt_allocation_times_freed(times, row), freed(row));
	}
}

static void times_near_and_far_are_exact(void **state)
{
	struct vt_allocation_times times = { 0 };

	(void)state;
	add(&times, 0, MANY);
	assert_all(&times);
	vt_allocation_times_release(&times);
}

/* The largest that is near, and those that are not: after it, and before the base. */
static void edges_are_exact(void **state)
{
	static const int64_t all[] = {
		5000, 5000 + UINT32_MAX - 1L, 5000 + (int64_t)UINT32_MAX, 4999, 0, INT64_MAX
	};
	struct vt_allocation_times times = { 0 };

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(all); i++)
		vt_allocation_times_add(&times, all[i], 0);
	for (uint32_t row = 0; row < VT_ARRAY_SIZE(all); row++) {
		assert_int_equal(vt_allocation_times_made(&times, row), all[row]);
		assert_int_equal(vt_allocation_times_freed(&times, row), 0);
	}
	vt_allocation_times_release(&times);
}

static void parts_follow_each_other(void **state)
{
	struct vt_allocation_times times = { 0 }, part = { 0 };

	(void)state;
	for (uint32_t row = 0; row < MANY; row += 100) {
		add(&part, row, row + 100);
		vt_allocation_times_append(&times, &part);
		assert_int_equal(part.made.len, 0);
	}
	assert_all(&times);
	vt_allocation_times_release(&times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_near_and_far_are_exact),
		cmocka_unit_test(edges_are_exact),
		cmocka_unit_test(parts_follow_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
