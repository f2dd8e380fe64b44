/* SPDX-License-Identifier: MIT */
/* What a probe need not write again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "preload/probe_known.h"
#include "preload/thread_state.h"

uint32_t vt_thread_newest;

static struct vt_key key_of(uint64_t number)
{
	return vt_ids_key(&number, sizeof(number));
}

/* Every test is a recording of its own. */
static int setup(void **state)
{
	(void)state;
	vt_thread_newest++;
	/* The second look forgets the frees of the test before. */
	vt_probe_known_begin();
	vt_probe_known_end();
	return vt_probe_known_begin();
}

static int teardown(void **state)
{
	(void)state;
	vt_probe_known_end();
	return 0;
}

static void next_look(void)
{
	vt_probe_known_end();
	assert_int_equal(vt_probe_known_begin(), 0);
}

static void test_kept_until_freed(void **state)
{
	const struct vt_key key = key_of(1), other = key_of(2);

	(void)state;
	assert_false(vt_probe_known_has_tensor(0x7000, &key));
	vt_probe_known_keep_tensor(&key);
	next_look();
	assert_true(vt_probe_known_has_tensor(0x7000, &key));
	assert_false(vt_probe_known_has_tensor(0x7000, &other));
	vt_probe_known_note_free(0x7000);
	/* Frees count from the next look on: what this one writes is alive. */
	assert_true(vt_probe_known_has_tensor(0x7000, &key));
	next_look();
	assert_false(vt_probe_known_has_tensor(0x7000, &key));
	vt_probe_known_keep_tensor(&key);
	next_look();
	assert_true(vt_probe_known_has_tensor(0x7000, &key));
}

static void test_free_while_looking_counts_for_the_next(void **state)
{
	const struct vt_key key = key_of(1);

	(void)state;
	vt_probe_known_keep_tensor(&key);
	vt_probe_known_note_free(0x7000);
	next_look();
	assert_false(vt_probe_known_has_tensor(0x7000, &key));
}

static void test_many(void **state)
{
	const uint64_t nr = 100000;

	(void)state;
	for (uint64_t i = 1; i <= nr; i++) {
		const struct vt_key key = key_of(i);

		vt_probe_known_keep_tensor(&key);
	}
	for (uint64_t i = 1; i <= nr; i++) {
		const struct vt_key key = key_of(i);

		assert_true(vt_probe_known_has_tensor(i << 9, &key));
	}
}

static void test_module_is_known_by_its_last_content(void **state)
{
	const struct vt_key first = key_of(1), second = key_of(2);

	(void)state;
	assert_false(vt_probe_known_is_last(0x100, &first));
	assert_false(vt_probe_known_is_last(0x100, &first)); /* it was not written */
	vt_probe_known_keep_last(0x100, &first);
	assert_true(vt_probe_known_is_last(0x100, &first));
	assert_false(vt_probe_known_is_last(0x200, &first));
	vt_probe_known_keep_last(0x100, &second);
	assert_true(vt_probe_known_is_last(0x100, &second));
	assert_false(vt_probe_known_is_last(0x100, &first));
}

static void test_another_recording_knows_nothing(void **state)
{
	const struct vt_key key = key_of(1);

	(void)state;
	vt_probe_known_keep_tensor(&key);
	vt_thread_newest++;
	next_look();
	assert_false(vt_probe_known_has_tensor(0x7000, &key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept_until_freed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_free_while_looking_counts_for_the_next, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_module_is_known_by_its_last_content, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_another_recording_knows_nothing, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("probe_known", tests, NULL, NULL);
}
