/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/install_path.h"
#include "analyzer/base/util.h"

static void write_script(const char *path, const char *first_line, mode_t mode)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fprintf(file, "%s\nexit 0\n", first_line);
	fclose(file);
	chmod(path, mode);
}

static void commands_are_found_as_execvp_does(void **state)
{
	char *path;

	(void)state;
	mkdir("bin", 0777);
	mkdir("other", 0777);
	write_script("other/tool", "#!/bin/sh", 0755);
	write_script("bin/tool", "#!/bin/sh", 0644);
	setenv("PATH", "bin:other", 1);
	path = vt_install_path_command("tool");
	assert_string_equal(path, "other/tool");
	free(path);
	assert_null(vt_install_path_command("absent"));
	assert_int_equal(errno, ENOENT);
	assert_null(vt_install_path_command("./other"));
	assert_null(vt_install_path_command(""));
	setenv("PATH", "bin", 1);
	errno = 0;
	if (geteuid() != 0) {
		assert_null(vt_install_path_command("tool"));
		assert_int_equal(errno, EACCES);
	}
	path = vt_install_path_command("other/tool");
	assert_string_equal(path, "other/tool");
	free(path);
}

static void the_python_of_a_script_is_found(void **state)
{
	static const struct {
		const char *first_line;
		const char *python;
	} cases[] = {
		{ "#!/opt/py/bin/python3.11 -sE", NULL },
		{ "#!/usr/bin/env python3", "bin/python3" },
		{ "#!/usr/bin/env -S python3 -u", "bin/python3" },
		{ "#!bin/python3", "bin/python3" },
		{ "#!/bin/sh", NULL },
		{ "import sys", NULL },
		{ "#!", NULL },
	};
	char *python = vt_install_path_python("/x/python3.12");

	(void)state;
	assert_string_equal(python, "/x/python3.12");
	free(python);
	assert_null(vt_install_path_python("absent"));
	mkdir("bin", 0777);
	write_script("bin/python3", "#!/bin/sh", 0755);
	setenv("PATH", "bin", 1);
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		write_script("script", cases[i].first_line, 0755);
		python = vt_install_path_python("script");
		if (cases[i].python)
			assert_string_equal(python, cases[i].python);
		else
			assert_null(python);
		free(python);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_found_as_execvp_does),
		cmocka_unit_test(the_python_of_a_script_is_found),
	};

	return cmocka_run_group_tests(tests, unit_enter, unit_leave);
}
