/* SPDX-License-Identifier: MIT */
/* The user's frames in the place of those of generated files. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/model/model.h"
#include "tests/lib/database_builder.h"

#define TORCH " < torch/_inductor/utils.py:9 run"
#define USER  " < model.py:5 Net.forward < train.py:3 main"

/* As text, innermost first. */
static void check_stack(const struct vt_model *model, uint32_t allocation, const char *expected)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(
		&model->frames, model->allocations[allocation].common->made->python_stack, ids);
	char text[512] = "";

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(&model->frames, ids[i]);
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s%s:%u %s", i ? " < " : "", code->file,
			 model->frames.python[ids[i]].line, code->short_name);
	}
	assert_string_equal(text, expected);
}

static void frames_are_replaced(void **state)
{
	static const char *const stacks[] = {
		"/g/ab/cab.py:12 Runner.call" TORCH USER,
		"/g/ab/cab.py:25 partition_0 < /g/ab/cab.py:90 Runner.call" TORCH USER,
		"/g/ab/cab.py:5 Runner.call" TORCH USER,
		"/g/ab/cab.py:30 Runner.call" TORCH USER,
		"/g/ab/cab.py:12 Runner.call",
		"/g/cd/ccd.py:12 Runner.call",
	};
	static const char insert[] =
		"INSERT INTO python_source VALUES ('/g/ab/cab.py', 3, 0, 'model.py\nloss.py\n\n"
		"10\t0:6 forward\t1:7 judge\n20\t0:8 forward\n29\n"
		"30\t9:1 nowhere\t1:x odd\t0:9 cut')";
	struct builder_db *b = build_open("lines.db");
	struct vt_diag diag = { 0 };
	struct vt_model model;
	struct vt_db *db = NULL;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(stacks); i++)
		build_alloc(b, &(struct build_event){ .size = 512, .python = stacks[i] });
	build_close(b);
	assert_int_equal(vt_db_open(&db, "lines.db", VT_DB_WRITE, &diag), 0);
	assert_int_equal(vt_db_exec(db, insert), 0);
	assert_int_equal(vt_model_load(&model, db, &diag), 0);
	/* The function that was compiled is on the stack already. */
	check_stack(&model, 0,
		    "loss.py:7 judge < torch/_inductor/utils.py:9 run < model.py:5 forward <"
		    " train.py:3 main");
	check_stack(&model, 1,
		    "model.py:8 forward < torch/_inductor/utils.py:9 run < model.py:5 forward <"
		    " train.py:3 main");
	check_stack(&model, 2,
		    "loss.py:7 judge < torch/_inductor/utils.py:9 run < model.py:5 forward <"
		    " train.py:3 main");
	check_stack(&model, 3,
		    "model.py:9 cut < torch/_inductor/utils.py:9 run < model.py:5 forward <"
		    " train.py:3 main");
	/* A backward pass has no caller. */
	check_stack(&model, 4, "loss.py:7 judge < model.py:6 forward");
	check_stack(&model, 5, "/g/cd/ccd.py:12 call");
	vt_model_release(&model);
	vt_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_replaced),
	};

	return cmocka_run_group_tests_name("generated lines", tests, unit_enter, unit_leave);
}
