/* SPDX-License-Identifier: MIT */
/* The environment of a process that is told where NVTX finds us, and what it does with it then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/nvtx_abi.h"
#include "preload/nvtx_announce.h"
#include "preload/real.h"

static char path[8192];

const char *vt_real_own_path(void)
{
	return path;
}

static void announce(const char *own_path)
{
	snprintf(path, sizeof(path), "%s", own_path);
	vt_nvtx_announce();
}

static size_t count(void)
{
	size_t nr = 0;

	while (environ && environ[nr])
		nr++;
	return nr;
}

static int start_with_one(void **state)
{
	(void)state;
	clearenv();
	setenv("FIRST", "1", 1);
	return 0;
}

static void it_is_added_to_what_is_there(void **state)
{
	(void)state;
	announce("/lib/ours.so");
	assert_string_equal(getenv(VT_NVTX_VARIABLE), "/lib/ours.so");
	assert_string_equal(getenv("FIRST"), "1");
	assert_int_equal(count(), 2);
}

static void a_tool_that_was_named_stays(void **state)
{
	(void)state;
	setenv(VT_NVTX_VARIABLE, "/lib/theirs.so", 1);
	announce("/lib/ours.so");
	assert_string_equal(getenv(VT_NVTX_VARIABLE), "/lib/theirs.so");
	assert_int_equal(count(), 2);
}

static void nothing_is_said_without_a_path(void **state)
{
	(void)state;
	announce("");
	assert_null(getenv(VT_NVTX_VARIABLE));
}

static void an_empty_environment_gets_one(void **state)
{
	(void)state;
	clearenv();
	announce("/lib/ours.so");
	assert_string_equal(getenv(VT_NVTX_VARIABLE), "/lib/ours.so");
	assert_int_equal(count(), 1);
}

static void the_program_changes_it_as_before(void **state)
{
	char text[] = "PUT=2";

	(void)state;
	announce("/lib/ours.so");
	assert_int_equal(unsetenv("FIRST"), 0);
	assert_null(getenv("FIRST"));
	assert_int_equal(setenv(VT_NVTX_VARIABLE, "/lib/another.so", 1), 0);
	assert_string_equal(getenv(VT_NVTX_VARIABLE), "/lib/another.so");
	assert_int_equal(putenv(text), 0);
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "MORE%d", i);
		assert_int_equal(setenv(name, "x", 1), 0);
	}
	assert_string_equal(getenv("PUT"), "2");
	assert_int_equal(count(), 1002);
	clearenv();
	assert_int_equal(count(), 0);
}

/* Around what there is room for without setenv(). */
static void any_number_of_variables_is_kept(void **state)
{
	(void)state;
	for (size_t nr = 1; nr < 300; nr++) {
		char name[16];

		snprintf(name, sizeof(name), "NAME%zu", nr);
		unsetenv(VT_NVTX_VARIABLE);
		setenv(name, "y", 1);
		announce("/lib/ours.so");
		assert_string_equal(getenv(VT_NVTX_VARIABLE), "/lib/ours.so");
		assert_string_equal(getenv("FIRST"), "1");
		assert_string_equal(getenv(name), "y");
		assert_int_equal(count(), nr + 2);
	}
}

static void any_length_of_path_is_kept(void **state)
{
	char longest[4097] = "/";

	(void)state;
	for (size_t len = 1; len < sizeof(longest) - 1; len++) {
		longest[len] = 'p';
		unsetenv(VT_NVTX_VARIABLE);
		announce(longest);
		assert_string_equal(getenv(VT_NVTX_VARIABLE), longest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_is_added_to_what_is_there, start_with_one),
		cmocka_unit_test_setup(a_tool_that_was_named_stays, start_with_one),
		cmocka_unit_test_setup(nothing_is_said_without_a_path, start_with_one),
		cmocka_unit_test_setup(an_empty_environment_gets_one, start_with_one),
		cmocka_unit_test_setup(the_program_changes_it_as_before, start_with_one),
		cmocka_unit_test_setup(any_number_of_variables_is_kept, start_with_one),
		cmocka_unit_test_setup(any_length_of_path_is_kept, start_with_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
