/* SPDX-License-Identifier: MIT */
/* preload/environment.c: a copy that does not change, whatever state the original is in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/environment.h"
#include "tests/lib/platform.h"

#define PAGE 4096u

static char **original;

static void take(char **variables)
{
	environ = variables;
	vt_environment_take();
	environ = original;
}

static unsigned int nr_variables(void)
{
	unsigned int nr = 0;

	while (vt_environment_all()[nr])
		nr++;
	return nr;
}

/* The first test: nothing was taken yet. */
static void before_the_first_take_there_is_none(void **state)
{
	(void)state;
	assert_null(vt_environment_get("PATH"));
	assert_int_equal(nr_variables(), 0);
}

static void names_are_whole_names(void **state)
{
	char *variables[] = { "RANKS=8", "RANK=3", "EMPTY=", "NOVALUE",
			      "PATH=a=b", "RANK=4", NULL };

	(void)state;
	take(variables);
	assert_string_equal(vt_environment_get("RANK"), "3");
	assert_string_equal(vt_environment_get("RANKS"), "8");
	assert_string_equal(vt_environment_get("EMPTY"), "");
	assert_string_equal(vt_environment_get("PATH"), "a=b");
	assert_null(vt_environment_get("NOVALUE"));
	assert_null(vt_environment_get("RAN"));
	assert_int_equal(nr_variables(), 6);
}

static void a_copy_stays_and_the_next_take_is_anew(void **state)
{
	char value[] = "RANK=3", *variables[] = { value, "LOCAL_RANK=1", NULL };

	(void)state;
	take(variables);
	strcpy(value, "RANK=4");
	variables[1] = NULL;
	assert_string_equal(vt_environment_get("RANK"), "3");
	assert_string_equal(vt_environment_get("LOCAL_RANK"), "1");
	take(variables);
	assert_string_equal(vt_environment_get("RANK"), "4");
	assert_null(vt_environment_get("LOCAL_RANK"));
}

static void no_environment_at_all(void **state)
{
	char *none[] = { NULL };

	(void)state;
	take(NULL);
	assert_int_equal(nr_variables(), 0);
	take(none);
	assert_int_equal(nr_variables(), 0);
	assert_null(vt_environment_get("RANK"));
}

/* Two pages, the second of which cannot be read. */
static char *half_readable(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	return pages;
}

static void what_cannot_be_read_is_left_out(void **state)
{
	char *pages = half_readable(), *gone = pages + PAGE;
	char *last = gone - sizeof("RANK=3");
	char *variables[] = { gone, last, "LOCAL_RANK=1", NULL };

	(void)state;
	skip_without_checked_reads();
	/* Its end is the page's. */
	strcpy(last, "RANK=3");
	take(variables);
	assert_string_equal(vt_environment_get("RANK"), "3");
	assert_int_equal(nr_variables(), 2);
	/* Without an end it runs into what cannot be read. */
	gone[-1] = 'x';
	take(variables);
	assert_null(vt_environment_get("RANK"));
	assert_string_equal(vt_environment_get("LOCAL_RANK"), "1");
	assert_int_equal(nr_variables(), 1);
	munmap(pages, 2 * PAGE);
}

static void pointers_that_cannot_be_read_are_no_environment(void **state)
{
	char *pages = half_readable();

	(void)state;
	skip_without_checked_reads();
	take((char **)(void *)(pages + PAGE));
	assert_int_equal(nr_variables(), 0);
	munmap(pages, 2 * PAGE);
}

static void a_long_value_is_whole_and_a_huge_one_is_left_out(void **state)
{
	const size_t longest = 3 * PAGE, huge = 3u << 20;
	char *text = malloc(longest + 1), *more = malloc(huge + 1);
	char *variables[] = { text, more, "RANK=3", NULL };

	(void)state;
	assert_non_null(text);
	assert_non_null(more);
	memset(text, 'x', longest);
	memset(more, 'y', huge);
	memcpy(text, "LONG=", 5);
	memcpy(more, "HUGE=", 5);
	text[longest] = more[huge] = '\0';
	take(variables);
	assert_int_equal(strlen(vt_environment_get("LONG")), longest - 5);
	assert_null(vt_environment_get("HUGE"));
	assert_string_equal(vt_environment_get("RANK"), "3");
	free(text);
	free(more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_first_take_there_is_none),
		cmocka_unit_test(names_are_whole_names),
		cmocka_unit_test(a_copy_stays_and_the_next_take_is_anew),
		cmocka_unit_test(no_environment_at_all),
		cmocka_unit_test(what_cannot_be_read_is_left_out),
		cmocka_unit_test(pointers_that_cannot_be_read_are_no_environment),
		cmocka_unit_test(a_long_value_is_whole_and_a_huge_one_is_left_out),
	};

	original = environ;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
