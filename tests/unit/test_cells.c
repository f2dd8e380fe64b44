/* SPDX-License-Identifier: MIT */
/* Cells of notebooks are known by their numbers. */
#include "tests/lib/unit.h"

#include <stdlib.h>

#include "analyzer/model/describe.h"
#include "tests/lib/database_builder.h"

#define STACK                                                                                      \
	"/tmp/ipykernel_7/123.py:5 step < /tmp/ipykernel_7/456.py:2 <module> <"                    \
	" <ipython-input-12-0c2ff8cf1b4e>:3 <module> < <ipython-input>:1 <module> <"               \
	" /v/lib/python3.11/site-packages/IPython/core/interactiveshell.py:3823 run_code <"        \
	" /v/lib/python3.11/site-packages/ipykernel_launcher.py:18 <module>"

static void cells_have_numbers(void **state)
{
	struct builder_db *b = build_open("cells.db");
	struct vt_describe describe;
	struct vt_model model;
	struct vt_diag diag = { 0 };
	struct vt_lines lines;
	struct vt_db *db = NULL;

	(void)state;
	build_alloc(b, &(struct build_event){ .size = 512, .python = STACK });
	build_close(b);
	assert_int_equal(vt_db_open(&db, "cells.db", VT_DB_WRITE, &diag), 0);
	assert_int_equal(vt_db_exec(db, "INSERT INTO python_source VALUES"
					" ('/tmp/ipykernel_7/123.py', 1, 0, '3'),"
					" ('/tmp/ipykernel_7/other.py', 1, 0, '4')"), 0);
	assert_int_equal(vt_model_load(&model, db, &diag), 0);
	vt_describe_init(&describe, &model, 0);
	lines = vt_describe_python(&describe, model.allocations[0].common->made->python_stack);
	assert_int_equal(lines.nr, 4);
	assert_string_equal(lines.text[0], "cell 3, line 5 step");
	/* Which cell it is the program was not asked in time. */
	assert_string_equal(lines.text[1], "/tmp/ipykernel_7/456.py:2 <module>");
	assert_string_equal(lines.text[2], "cell 12, line 3 <module>");
	assert_string_equal(lines.text[3], "<ipython-input>:1 <module>");
	vt_lines_free(&lines);
	vt_describe_release(&describe);
	vt_model_release(&model);
	vt_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_have_numbers),
	};

	return cmocka_run_group_tests_name("cells", tests, unit_enter, unit_leave);
}
