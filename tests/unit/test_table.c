/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/output/table.h"

static void assert_prints(const struct vt_table *table, unsigned indent, const char *expected)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	vt_table_print(table, out, indent);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void columns_are_as_wide_as_their_cells(void **state)
{
	static const struct vt_column columns[] = { { "owner", 0 },
						    { "GiB", 1 },
						    { "known by", 0 } };
	const char *first[] = { "weights", "12.50", "frames" }, *second[] = { "a", "0.00", NULL };
	const char *third[] = { "", NULL, "last" };
	struct vt_table table;

	(void)state;
	vt_table_init(&table, columns, 3);
	vt_table_add(&table, first);
	vt_table_add(&table, second);
	vt_table_add_line(&table);
	vt_table_add(&table, third);

	assert_prints(&table, 2,
		      "  owner      GiB  known by\n"
		      "  weights  12.50  frames\n"
		      "  a         0.00\n"
		      "  --------------\n"
		      "                  last\n");
	vt_table_release(&table);
}

static void without_titles_there_is_no_title_line(void **state)
{
	static const struct vt_column columns[] = { { NULL, 1 }, { NULL, 0 } };
	const char *cells[] = { "1", "x" };
	struct vt_table table;

	(void)state;
	vt_table_init(&table, columns, 2);
	assert_prints(&table, 0, "");
	vt_table_add(&table, cells);
	assert_prints(&table, 0, "1  x\n");
	vt_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_cells),
		cmocka_unit_test(without_titles_there_is_no_title_line),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
