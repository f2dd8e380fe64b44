/* SPDX-License-Identifier: MIT */
/*
 * Line tables of the interpreters that are here, against what each interpreter itself says of them.
 */
#include "tests/lib/unit.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/import/python_lines.h"
#include "analyzer/base/util.h"
#include "tests/lib/guarded.h"

/*
 * Prints "old" before 3.9. Since then "c MINOR FIRST_LINE TABLE" for each code object of a large
 * module of the standard library and of the constructs that make odd tables, then "i OFFSET LINE"
 * for each instruction; 0 = no line.
 */
static const char script[] =
	"import sys, dis, types, argparse\n"
	"minor = sys.version_info[1]\n"
	"if minor < 9:\n"
	"  print('old')\n"
	"  sys.exit()\n"
	"odd = 'def f(a):\\n' + '\\n' * 300 + '  x = (1 +\\n' + '\\n' * 200 + '   a)\\n  for i in "
	"x:\\n'"
	"    '    try: yield i\\n    except E as e:\\n      pass\\n    finally: a()\\n  with a as "
	"b: return'\n"
	"def lines(code):\n"
	"  if minor >= 10:\n"
	"    for start, end, line in code.co_lines():\n"
	"      for offset in range(start, end, 2): yield offset, line or 0\n"
	"  else:\n"
	"    starts = dict(dis.findlinestarts(code)); line = code.co_firstlineno\n"
	"    for offset in range(0, len(code.co_code), 2):\n"
	"      line = starts.get(offset, line); yield offset, line\n"
	"def walk(code):\n"
	"  table = code.co_linetable if minor >= 10 else code.co_lnotab\n"
	"  print('c', minor, code.co_firstlineno, table.hex() or '-')\n"
	"  for offset, line in lines(code): print('i', offset, line)\n"
	"  for c in code.co_consts:\n"
	"    if isinstance(c, types.CodeType): walk(c)\n"
	"walk(compile(open(argparse.__file__).read(), 'argparse', 'exec'))\n"
	"walk(compile(odd, 'odd', 'exec'))\n";

struct code {
	unsigned int minor, first_line;
	unsigned char *table;
	size_t table_len;
};

static void read_code(struct code *code, char *line)
{
	char *hex = strrchr(line, ' ') + 1;

	assert_int_equal(sscanf(line, "c %u %u", &code->minor, &code->first_line), 2);
	free(code->table);
	code->table_len = *hex == '-' ? 0 : strcspn(hex, "\n") / 2;
	code->table = malloc(code->table_len + 1);
	for (size_t i = 0; i < code->table_len; i++)
		sscanf(hex + 2 * i, "%2hhx", &code->table[i]);
}

static void check_instruction(const struct code *code, const char *line)
{
	uint32_t offset, expected, got;

	assert_int_equal(sscanf(line, "i %" SCNu32 " %" SCNu32, &offset, &expected), 2);
	got = vt_python_lines_find(code->minor, code->table, code->table_len, code->first_line,
				   offset);
	if (got != expected)
		fail_msg("3.%u: code at line %u, offset %u: line %u, expected %u", code->minor,
			 code->first_line, offset, got, expected);
}

/* Returns the minor version, 0 if that is no Python 3.9 or later. What fails in it is shown. */
static unsigned int check_interpreter(const char *python)
{
	char *command = vt_xasprintf("'%s' - <<'END'\n%sEND\n", python, script);
	FILE *pipe = popen(command, "r");
	struct code code = { 0 };
	unsigned int instructions = 0, is_old = 0;
	size_t size = 0;
	char *line = NULL;

	assert_non_null(pipe);
	while (getline(&line, &size, pipe) > 0) {
		if (line[0] == 'o') {
			is_old = 1;
		} else if (line[0] == 'c') {
			read_code(&code, line);
		} else {
			check_instruction(&code, line);
			instructions++;
		}
	}
	if (pclose(pipe) || (!is_old && instructions < 3000))
		fail_msg("%s: no tables, or %u instructions only", python, instructions);
	free(command);
	free(code.table);
	free(line);
	return code.minor;
}

static void lines_are_those_of_the_interpreter(void **state)
{
	const char *home = getenv("HOME");
	char *installed = vt_xasprintf("%s/.pyenv/versions/3.*/bin/python3", home ? home : "");
	unsigned int checked = 0;
	glob_t found;

	(void)state;
	/* One of each version is enough, and those without a version in their name come first. */
	glob("/usr/bin/python3", 0, NULL, &found);
	glob("/usr/bin/python3.[0-9]*[0-9]", GLOB_APPEND, NULL, &found);
	glob("/usr/local/bin/python3.[0-9]*[0-9]", GLOB_APPEND, NULL, &found);
	glob(installed, GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		unsigned int minor = check_interpreter(found.gl_pathv[i]);

		if (minor && !(checked & 1u << minor))
			print_message("checked Python 3.%u\n", minor);
		checked |= minor ? 1u << minor : 0;
	}
	globfree(&found);
	free(installed);
	if (!checked)
		skip();
}

/*
 * Written by hand from Objects/lnotab_notes.txt and Objects/locations.md, for machines without that
 * version.
 */
static void the_three_formats_by_hand(void **state)
{
	static const unsigned char lnotab[] = { 6, 1, 44, 5, 0, 0x80, 6, 0xfe };
	static const unsigned char lines[] = { 6, 1, 8, 0x80, 2, 5 };
	/*
	 * One unit, no columns, delta +1 (svarint 2); two units, short form; three units without a
	 * line.
	 */
	static const unsigned char locations[] = { 0xe8, 2, 0x81, 0x10, 0xfa };

	(void)state;
	assert_int_equal(vt_python_lines_find(9, lnotab, sizeof(lnotab), 100, 0), 100);
	assert_int_equal(vt_python_lines_find(9, lnotab, sizeof(lnotab), 100, 6), 101);
	assert_int_equal(vt_python_lines_find(9, lnotab, sizeof(lnotab), 300, 50),
			 300 + 1 + 5 - 128);
	assert_int_equal(vt_python_lines_find(9, lnotab, sizeof(lnotab), 300, 60), 300 + 6 - 130);
	assert_int_equal(vt_python_lines_find(10, lines, sizeof(lines), 10, 4), 11);
	assert_int_equal(vt_python_lines_find(10, lines, sizeof(lines), 10, 6), 0);
	assert_int_equal(vt_python_lines_find(10, lines, sizeof(lines), 10, 14), 16);
	assert_int_equal(vt_python_lines_find(12, locations, sizeof(locations), 10, 0), 11);
	assert_int_equal(vt_python_lines_find(12, locations, sizeof(locations), 10, 4), 11);
	assert_int_equal(vt_python_lines_find(12, locations, sizeof(locations), 10, 6), 0);
	/* Behind the end: the table was cut. */
	assert_int_equal(vt_python_lines_find(12, locations, sizeof(locations), 10, 100), 0);
	assert_int_equal(vt_python_lines_find(12, locations, sizeof(locations), 10, UINT32_MAX),
			 10);
	assert_int_equal(vt_python_lines_find(12, NULL, 0, 10, 0), 10);
}

static void any_bytes_are_safe(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)rand_r(&seed) % 40;
		unsigned char bytes[40], *table;

		for (size_t i = 0; i < len; i++)
			bytes[i] = (unsigned char)rand_r(&seed);
		table = guarded_copy(bytes, len);
		vt_python_lines_find(8 + (unsigned int)rand_r(&seed) % 8, table, len,
				     (uint32_t)rand_r(&seed) % 1000, (uint32_t)rand_r(&seed) % 300);
		guarded_free(table, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_the_interpreter),
		cmocka_unit_test(the_three_formats_by_hand),
		cmocka_unit_test(any_bytes_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
