/* SPDX-License-Identifier: MIT */
/* Which blocks of a comparison were made elsewhere before. */
#include "tests/lib/unit.h"

#include "analyzer/base/util.h"
#include "analyzer/diff/relocation.h"

enum { BASE, NEW };

static struct vt_entry entry(uint8_t side, uint64_t place, uint64_t functions, uint64_t kind,
			     uint64_t bytes)
{
	static uint32_t order;

	return (struct vt_entry){ .place = place, .functions = functions, .kind = kind,
				  .part = kind / 10, .bytes = bytes, .side = side,
				  .order = order++ };
}

static const struct vt_entry *find(const struct vt_entry *entries, size_t nr, uint8_t side,
				   uint64_t bytes)
{
	for (size_t i = 0; i < nr; i++)
		if (entries[i].side == side && entries[i].bytes == bytes)
			return &entries[i];
	return NULL;
}

static void a_line_that_was_split(void **state)
{
	struct vt_entry entries[] = { entry(BASE, 1, 9, 10, 64), entry(BASE, 1, 9, 20, 32),
				      entry(NEW, 1, 9, 10, 64), entry(NEW, 2, 9, 20, 32) };

	(void)state;
	vt_relocation_find(entries, 4);
	assert_int_equal(find(entries, 4, BASE, 32)->place, 2);
	assert_int_equal(find(entries, 4, BASE, 64)->place, 1);
	/* In one function: nothing moved. */
	assert_false(find(entries, 4, BASE, 32)->is_moved);
}

/* Another function's block of the same kind is not this one's, if both runs have both. */
static void equal_blocks_of_other_functions(void **state)
{
	struct vt_entry entries[] = { entry(BASE, 1, 8, 10, 64), entry(NEW, 2, 9, 10, 64) };

	(void)state;
	vt_relocation_find(entries, 2);
	assert_int_equal(find(entries, 2, BASE, 64)->place, 1);
	entries[0].is_foreign = 1;
	vt_relocation_find(entries, 2);
	assert_int_equal(find(entries, 2, BASE, 64)->place, 2);
	assert_true(find(entries, 2, BASE, 64)->is_moved);
}

/* The first tensor of a run is made through what sets the library up. */
static void another_way_to_the_same_block(void **state)
{
	struct vt_entry entries[] = { entry(BASE, 1, 9, 11, 64), entry(NEW, 2, 9, 12, 64) };

	(void)state;
	vt_relocation_find(entries, 2);
	assert_int_equal(find(entries, 2, BASE, 64)->place, 2);
}

static void what_stayed_is_not_taken_for_another(void **state)
{
	struct vt_entry entries[] = { entry(BASE, 1, 9, 10, 64), entry(NEW, 2, 9, 10, 64),
				      entry(NEW, 1, 9, 10, 64) };

	(void)state;
	vt_relocation_find(entries, 3);
	assert_int_equal(find(entries, 3, BASE, 64)->place, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_was_split),
		cmocka_unit_test(equal_blocks_of_other_functions),
		cmocka_unit_test(another_way_to_the_same_block),
		cmocka_unit_test(what_stayed_is_not_taken_for_another),
	};

	return cmocka_run_group_tests_name("relocation", tests, NULL, NULL);
}
