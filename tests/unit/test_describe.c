/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/model/describe.h"
#include "analyzer/attribution/calls/operators.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define VENV "/opt/u/venv/lib/python3.11"

static void the_framework_is_told_from_the_program(void **state)
{
	static const struct {
		const char *file;
		int is_framework;
	} cases[] = {
		{ "/opt/u/train.py", 0 },
		{ VENV "/site-packages/torch/nn/modules/module.py", 1 },
		{ "/usr/lib/python3/dist-packages/torch/optim/adam.py", 1 },
		{ VENV "/site-packages/transformers/models/x.py", 0 },
		{ VENV "/site-packages/torchvision/x.py", 0 },
		{ VENV "/contextlib.py", 1 },
		{ "/usr/lib/python3.13t/runpy.py", 1 },
		{ "<frozen runpy>", 1 },
		{ "<vtrace-simulator>", 1 },
		{ "<string>", 0 },
		{ "/opt/u/torch/train.py", 0 },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++)
		if (vt_describe_is_framework(cases[i].file) != cases[i].is_framework)
			fail_msg("%s", cases[i].file);
}

/* The lines of the only allocation in a database, joined by newlines. */
static char *lines_of(const char *python, const char *native, int has_all_frames)
{
	struct builder_db *b;
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;
	struct vt_model model;
	struct vt_describe describe;
	struct vt_lines lines;
	struct vt_buffer text;

	remove("run.db");
	b = build_open("run.db");
	build_run(b, "cwd", "/opt/u/work");
	build_alloc(b, &(struct build_event){ .size = 1, .python = python, .native = native });
	build_close(b);
	assert_int_equal(vt_db_open(&db, "run.db", VT_DB_READ, &diag), 0);
	assert_int_equal(vt_model_load(&model, db, &diag), 0);
	vt_describe_init(&describe, &model, has_all_frames);
	lines = python ? vt_describe_python(&describe,
					    model.allocations[0].common->made->python_stack)
		       : vt_describe_native(&describe,
					    model.allocations[0].common->made->native_stack);
	vt_buffer_init(&text);
	for (unsigned i = 0; i < lines.nr; i++)
		vt_buffer_printf(&text, "%s\n", lines.text[i]);
	vt_lines_free(&lines);
	vt_describe_release(&describe);
	vt_model_release(&model);
	vt_db_close(db);
	return vt_buffer_detach(&text);
}

static void stacks_are_innermost_first_and_folded(void **state)
{
	static const struct {
		const char *python, *native;
		int has_all_frames;
		const char *expected;
	} cases[] = {
		{ VENV "/site-packages/torch/nn/functional.py:7 linear < /opt/u/work/net.py:3 "
		       "Net.forward Net@1 < " VENV
		       "/site-packages/transformers/x.py:2 f < /opt/u/lib/y.py:1 <module>",
		  NULL, 0,
		  "net.py:3 Net.forward\ntransformers/x.py:2 f\n/opt/u/lib/y.py:1 <module>\n" },
		{ VENV "/site-packages/torch/nn/functional.py:7 linear < /opt/u/work/net.py:3 f",
		  NULL, 1, "torch/nn/functional.py:7 linear\nnet.py:3 f\n" },
		{ VENV "/site-packages/torch/a.py:7 inner < " VENV
		       "/site-packages/torch/b.py:1 outer",
		  NULL, 0, "torch/a.py:7 inner\n" },
		{ NULL,
		  "libc10_cuda.so!c10::cuda::malloc(long) < "
		  "libtorch_cpu.so!at::_ops::add::call(at::Tensor const&)"
		  " < python3.11!_PyEval_EvalFrameDefault < app!main",
		  0, "libtorch_cpu.so!at::_ops::add::call+0x10\napp!main+0x10\n" },
		{ NULL,
		  "libx.so! < libx.so!ns::(anonymous namespace)::f<int>(std::pair<int, int>)"
		  " < libx.so!g<a::very::long_name::that_goes_on_and_on<int>, b>::operator()(int) "
		  "const",
		  0,
		  "libx.so+0x0\nlibx.so!ns::(anonymous "
		  "namespace)::f<int>+0x10\nlibx.so!g<...>::operator()+0x10\n" },
		{ NULL, "libc10.so!f", 0, "libc10.so!f+0x10\n" },
		{ NULL, "libx.so!grad < libvtrace.so!evaluate < app!main", 0,
		  "libx.so!grad+0x10\napp!main+0x10\n" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		char *text = lines_of(cases[i].python, cases[i].native, cases[i].has_all_frames);
		/*
		 * Where there is no symbol the offset is the address, which the builder counts up.
		 */
		char *unnamed = strstr(text, ".so+0x");

		if (unnamed)
			unnamed[6] = '0';
		assert_string_equal(text, cases[i].expected);
		free(text);
	}
}

static void node_classes_lose_their_mangling(void **state)
{
	static const struct {
		const char *rtti, *name;
	} cases[] = {
		{ "N5torch8autograd9generated14AddmmBackward0E", "AddmmBackward0" },
		{ "N5torch8autograd6PyNodeE", "PyNode" },
		{ "N5torch8autograd7CppNodeIN2at4MineEEE", "CppNode" },
		{ "*N5torch8autograd14AccumulateGradE", "AccumulateGrad" },
		{ "8PlainOne", "PlainOne" },
		{ "torch::autograd::generated::MmBackward0", "MmBackward0" },
		{ "N999torch", "N999torch" },
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		char *name = vt_operators_short_class(cases[i].rtti);

		assert_string_equal(name, cases[i].name);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_framework_is_told_from_the_program),
		cmocka_unit_test_setup_teardown(stacks_are_innermost_first_and_folded, unit_enter,
						unit_leave),
		cmocka_unit_test(node_classes_lose_their_mangling),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
