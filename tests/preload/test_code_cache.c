/* SPDX-License-Identifier: MIT */
/* What walks of Python stacks have learnt of an address: when it still counts, and when not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/code_cache.h"

#define PLACES VT_CODE_CACHE_WAYS /* all lie side by side */

static struct {
	struct vt_cached_code codes[PLACES + 1];
	struct vt_code_cache_head *used[PLACES];
	struct vt_code_cache_head *used_types[1];
	struct vt_code_cache known;
	char objects[PLACES + 1]; /* of which nothing but the address matters */
} g;

static int setup(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	g.known.walk = 1;
	g.known.codes = g.codes;
	g.known.nr_codes = PLACES;
	g.known.frees = g.known.frees_compared = 1;
	g.known.used_codes.heads = g.used;
	g.known.used_types.heads = g.used_types;
	return 0;
}

/* As a walk that meets the object does. */
static struct vt_cached_code *meet(int object)
{
	struct vt_cached_code *code =
		vt_code_cache_look(&g.known, &g.objects[object]);

	code->head.address = &g.objects[object];
	code->head.walk = g.known.walk;
	return code;
}

/* In the walk that compared it, too: another frame may have found something else at the address. */
static void what_was_learnt_anew_is_another_version(void **state)
{
	struct vt_cached_code *code = meet(0);
	uint32_t version = code->head.version;

	(void)state;
	assert_true(vt_code_cache_is_version(&g.known, &code->head, version));
	vt_code_cache_note_change(&g.known, &code->head);
	assert_false(vt_code_cache_is_version(&g.known, &code->head, version));
	assert_true(vt_code_cache_is_version(&g.known, &code->head, code->head.version));
	assert_false(g.known.is_stale);
}

static void a_change_of_what_is_in_use_spoils_the_stack(void **state)
{
	struct vt_cached_code *code = meet(0);

	(void)state;
	vt_code_cache_use(&g.known, &g.known.used_codes, &code->head);
	assert_true(vt_code_cache_is_all_same(&g.known));
	vt_code_cache_note_change(&g.known, &code->head);
	assert_false(vt_code_cache_is_all_same(&g.known));
	vt_code_cache_leave_all(&g.known);
	assert_true(vt_code_cache_is_all_same(&g.known));
}

static void what_finds_no_place_spoils_the_walk(void **state)
{
	struct vt_cached_code *extra;

	(void)state;
	for (unsigned i = 0; i < PLACES; i++)
		vt_code_cache_use(&g.known, &g.known.used_codes, &meet((int)i)->head);
	assert_false(g.known.is_full);
	assert_int_equal(g.known.used_codes.nr, PLACES);
	extra = vt_code_cache_look(&g.known, &g.objects[PLACES]);
	assert_true(g.known.is_full);
	assert_ptr_equal(extra, &g.codes[PLACES]);
	assert_null(extra->head.address);
	/* It is in nobody's list, from which it could not be taken either. */
	vt_code_cache_use(&g.known, &g.known.used_codes, &extra->head);
	vt_code_cache_leave(&g.known, &g.known.used_codes, &extra->head);
	assert_int_equal(extra->head.nr_users, 0);
	assert_int_equal(g.known.used_codes.nr, PLACES);
	vt_code_cache_leave_all(&g.known);
	assert_false(g.known.is_full);
	assert_int_equal(g.codes[0].head.nr_users, 0);
	/* There is room again. */
	assert_ptr_not_equal(vt_code_cache_look(&g.known, &g.objects[PLACES]), extra);
}

/* Not in use, the one that was compared longest ago gives way. */
static void what_is_not_in_use_gives_way(void **state)
{
	struct vt_cached_code *oldest;

	(void)state;
	for (unsigned i = 0; i < PLACES; i++) {
		g.known.walk = 10 + (i + 3) % PLACES;
		meet((int)i);
	}
	oldest = vt_code_cache_look(&g.known, &g.objects[PLACES - 3]);
	assert_ptr_equal(vt_code_cache_look(&g.known, &g.objects[PLACES]), oldest);
	vt_code_cache_use(&g.known, &g.known.used_codes, &oldest->head);
	assert_ptr_not_equal(vt_code_cache_look(&g.known, &g.objects[PLACES]), oldest);
	assert_false(g.known.is_full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_was_learnt_anew_is_another_version, setup),
		cmocka_unit_test_setup(a_change_of_what_is_in_use_spoils_the_stack, setup),
		cmocka_unit_test_setup(what_finds_no_place_spoils_the_walk, setup),
		cmocka_unit_test_setup(what_is_not_in_use_gives_way, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
