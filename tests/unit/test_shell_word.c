/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "common/shell_word.h"

static void check(const char *name, const char *expected)
{
	char word[256];

	assert_true(sizeof(word) >= VT_SHELL_WORD_SIZE(strlen(name)));
	assert_string_equal(vt_shell_word_write(word, sizeof(word), name), expected);
}

static void what_means_nothing_to_a_shell_stays_as_it_is(void **state)
{
	(void)state;
	check("vtrace-python3.11.4242.db", "vtrace-python3.11.4242.db");
	check("/data/a_b/run@3,x+y=1%.db", "/data/a_b/run@3,x+y=1%.db");
	check("gr\xc3\xb6\xc3\x9f" "e.db", "gr\xc3\xb6\xc3\x9f" "e.db");
}

static void what_means_something_is_quoted(void **state)
{
	(void)state;
	check("", "''");
	check("my run.db", "'my run.db'");
	check("$HOME;rm *", "'$HOME;rm *'");
	check("~x", "'~x'");
	check("it's", "'it'\\''s'");
}

static void no_name_is_taken_for_an_option(void **state)
{
	(void)state;
	check("-rf.db", "./-rf.db");
	check("--help me", "./'--help me'");
	check("a-b", "a-b");
}

static void no_name_drives_the_terminal(void **state)
{
	(void)state;
	check("a\nb", "$'a\\012b'");
	check("\033[2J'\\", "$'\\033[2J\\'\\\\'");
	check("\xc2\x9b" "31m", "$'\\302\\23331m'");
	check("\x7f", "$'\\177'");
	/* From right to left; a line of Unicode's; no UTF-8, alone and behind what is. */
	check("a\xe2\x80\xae" "bd.z", "$'a\\342\\200\\256bd.z'");
	check("\xe2\x80\xa8", "$'\\342\\200\\250'");
	check("\xff", "$'\\377'");
	check("\xc3\xb6\xc3", "$'\xc3\xb6\\303'");
}

/* What a shell makes of it is the name again. */
static void a_shell_reads_the_name(void **state)
{
	static const char *const names[] = { "a b", "it's", "$x `y` \"z\" \\ !", "-n",
					     "\n\t'\033", "~", "\xff\xe2\x80\xae\xc3\xb6" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char word[256], read[256] = "", expected[256];
		FILE *script = fopen("shell_word.sh", "we"), *shell;

		assert_non_null(script);
		fprintf(script, "printf %%s %s\n",
			vt_shell_word_write(word, sizeof(word), names[i]));
		fclose(script);
		shell = popen("bash shell_word.sh", "r");
		assert_non_null(shell);
		assert_true(fread(read, 1, sizeof(read) - 1, shell) > 0);
		assert_int_equal(pclose(shell), 0);
		snprintf(expected, sizeof(expected), "%s%s", names[i][0] == '-' ? "./" : "",
			 names[i]);
		assert_string_equal(read, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_means_nothing_to_a_shell_stays_as_it_is),
		cmocka_unit_test(what_means_something_is_quoted),
		cmocka_unit_test(no_name_is_taken_for_an_option),
		cmocka_unit_test(no_name_drives_the_terminal),
		cmocka_unit_test(a_shell_reads_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
