/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/attribution/verdicts.h"

#define NR     10u
#define MIDDLE 5u

static const char *const owners[] = { "weights", "activations/mlp", "inputs", "logits" };

static void judge(struct vt_verdicts *verdicts, uint32_t allocation, unsigned owner)
{
	struct vt_verdict verdict = { .rule = (uint16_t)(owner + 1) };

	verdict.owner = vt_verdicts_path(verdicts, vt_xstrdup(owners[owner]));
	vt_narrow_set(&verdicts->of, allocation, vt_verdicts_number(verdicts, verdict));
}

static const char *owner_of(const struct vt_verdicts *verdicts, uint32_t allocation)
{
	uint32_t number = vt_narrow_get(&verdicts->of, allocation);

	return number ? verdicts->paths.items[verdicts->items.items[number - 1].owner] : NULL;
}

/* Two halves that met their owners in another order, and not all of the same. */
static void halves_are_one(void **state)
{
	struct vt_verdicts first, second;

	(void)state;
	vt_verdicts_init(&first, NR);
	vt_verdicts_init(&second, NR);
	for (uint32_t i = 0; i < MIDDLE; i++)
		judge(&first, i, i % 2);
	for (uint32_t i = MIDDLE; i < NR - 1; i++)
		judge(&second, i, 3 - i % 3);
	vt_verdicts_take(&first, &second, MIDDLE, NR);
	vt_verdicts_release(&second);
	for (uint32_t i = 0; i < NR - 1; i++)
		assert_string_equal(owner_of(&first, i), owners[i < MIDDLE ? i % 2 : 3 - i % 3]);
	assert_null(owner_of(&first, NR - 1));
	assert_int_equal(first.items.len, 4);
	assert_int_equal(first.paths.len, 4);
	vt_verdicts_release(&first);
}

/* The first that is asked for is the first, wherever its path was met. */
static void owners_have_numbers_as_they_are_asked_for(void **state)
{
	struct vt_verdicts verdicts;
	uint32_t paths[4];

	(void)state;
	vt_verdicts_init(&verdicts, NR);
	for (unsigned i = 0; i < 4; i++)
		paths[i] = vt_verdicts_path(&verdicts, vt_xstrdup(owners[i]));
	assert_int_equal(vt_verdicts_path(&verdicts, vt_xstrdup(owners[2])), paths[2]);
	assert_int_equal(vt_verdicts_owner(&verdicts, paths[3]), 0);
	assert_int_equal(vt_verdicts_owner(&verdicts, paths[1]), 1);
	assert_int_equal(vt_verdicts_owner(&verdicts, paths[3]), 0);
	assert_int_equal(verdicts.path_of.items[1], paths[1]);
	vt_verdicts_release(&verdicts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_are_one),
		cmocka_unit_test(owners_have_numbers_as_they_are_asked_for),
	};

	return cmocka_run_group_tests_name("verdicts", tests, NULL, NULL);
}
