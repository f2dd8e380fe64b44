/* SPDX-License-Identifier: MIT */
/* What kernels of generated code read and wrote, by its text and by where its buffers were made. */
#include "tests/lib/unit.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/model/generated_calls.h"
#include "analyzer/model/generated_code.h"
#include "analyzer/model/model.h"
#include "tests/lib/database_builder.h"

#define FILE_NAME "/tmp/torchinductor_me/ab/cab.py"

static const char text[] =
	"9\tdef triton_a(in_out_ptr0, in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr):\n"
	"15\tdef triton_tem_b(arg_A, arg_B, out_ptr0):\n"
	"20\tbuf0 = empty_strided_cuda((8, 64), (64, 1), torch.float32)\n"
	"21\t# Topologically Sorted Source Nodes: [x], Original ATen: [aten.t, aten.addmm]\n"
	"22\textern_kernels.mm(primals_1, primals_2, out=buf0)\n"
	"24\tbuf1 = torch.ops.aten.sdpa.default(reinterpret_tensor(buf0, (8, 8), (8, 1), 0))\n"
	"25\tbuf3 = buf1[1]\n"
	"27\tbuf4 = empty_strided_cuda((8, 64), (64, 1), torch.float32)\n"
	"28\tbuf5 = reinterpret_tensor(buf0, (64, 8), (8, 1), 0); del buf0  # reuse\n"
	"29\t# Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.add, prims.relu]\n"
	"31\ttriton_a.run(buf5, reinterpret_tensor(buf3, (8, 8), (8, 1), 0), primals_3, buf4, 64,"
	" stream=stream0)\n"
	"33\tbuf6 = empty_strided_cuda((8, 64), (64, 1), torch.float32)\n"
	"34\t# Topologically Sorted Source Nodes: [w], Original ATen: [aten.mm]\n"
	"35\ttriton_tem_b.run(buf4, primals_4, buf6, stream=stream0)\n"
	"36\tunknown.run(buf4, buf6, stream=stream0)\n";

static void kernels_are_read(void **state)
{
	struct vt_generated_code code;
	const struct vt_generated_tensor *t;

	(void)state;
	vt_generated_code_read(&code, text);
	/* buf0; what line 24 returned, as a whole and its second; buf4; buf6 */
	assert_int_equal(code.memories.len, 5);
	assert_int_equal(code.memories.items[2].line, 24);
	assert_int_equal(code.memories.items[2].result, 1);
	assert_true(code.memories.items[2].is_result);
	assert_int_equal(code.kernels.len, 2);
	assert_string_equal(code.kernels.items[0].operators, "add relu");
	assert_string_equal(code.kernels.items[1].operators, "template mm");
	assert_int_equal(code.kernels.items[0].line, 31);
	assert_int_equal(code.kernels.items[0].nr_tensors, 3);
	t = &code.tensors.items[code.kernels.items[0].first_tensor];
	assert_true(t[0].memory == 0 && t[0].is_read && t[0].is_written);
	assert_true(t[1].memory == 2 && t[1].is_read && !t[1].is_written);
	assert_true(t[2].memory == 3 && !t[2].is_read && t[2].is_written);
	vt_generated_code_release(&code);
}

/* Higher-order operators have no namespace; the NUL behind the last one stays. */
static void operators_without_a_namespace(void **state)
{
	static const char one[] =
		"9\tdef triton_a(in_out_ptr0, xnumel):\n"
		"20\tbuf0 = empty_strided_cuda((8, 64), (64, 1), torch.float32)\n"
		"29\t# Topologically Sorted Source Nodes: [y], Original ATen: [flex_attention]\n"
		"31\ttriton_a.run(buf0, 64, stream=stream0)\n";
	struct vt_generated_code code;

	(void)state;
	vt_generated_code_read(&code, one);
	assert_int_equal(code.kernels.len, 1);
	assert_string_equal(code.kernels.items[0].operators, "flex_attention");
	vt_generated_code_release(&code);
}

/* A longer text never says less. */
static void damaged_text_is_read_as_far_as_it_goes(void **state)
{
	size_t nr_memories = 0, nr_kernels = 0;
	struct vt_generated_code code;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		char *cut = vt_xstrndup(text, len);

		vt_generated_code_read(&code, cut);
		assert_in_range(code.memories.len, nr_memories, 5);
		assert_in_range(code.kernels.len, nr_kernels, 2);
		for (size_t i = 0; i < code.tensors.len; i++)
			assert_true(code.tensors.items[i].memory < code.memories.len);
		nr_memories = code.memories.len;
		nr_kernels = code.kernels.len;
		vt_generated_code_release(&code);
		free(cut);
	}
	assert_int_equal(nr_memories, 5);
	assert_int_equal(nr_kernels, 2);
}

static int64_t make(struct builder_db *b, enum vt_kind kind, const char *line)
{
	/* A mode that sees operators may be between. */
	const char *mode = strcmp(line, "24") == 0 ? "torch/_ops.py:1 __call__ < " : "";
	char *stack = vt_xasprintf("%s" FILE_NAME ":%s Runner.call < train.py:3 main", mode, line);
	int64_t event = build_alloc(
		b, &(struct build_event){ .size = 512, .python = stack, .kind = kind });

	free(stack);
	return event;
}

static void check_call(const struct vt_model *model, uint32_t index, const char *name,
		       const char *tensors)
{
	const struct vt_operator_call *call = &model->calls.items[index];
	char *got = vt_xstrdup("");

	for (uint32_t i = 0; i < call->nr_tensors; i++) {
		const struct vt_call_tensor *t = &model->calls.tensors[call->first_tensor + i];
		char *more = vt_xasprintf("%s%s%lld", got, t->is_output ? " >" : " ",
					  (long long)model->allocations[t->allocation].event);

		free(got);
		got = more;
	}
	assert_string_equal(vt_model_text(model, call->name), name);
	assert_string_equal(got, tensors);
	free(got);
}

/* Two runs of the file: what operators returned to its lines is known of the observed one. */
static void kernels_are_among_the_operators(void **state)
{
	static const char sql[] =
		"INSERT INTO string VALUES (9001, 'aten::mm'), (9002, 'aten::sdpa');"
		"INSERT INTO operator VALUES"
		" (1, 2, 2, 100, NULL, 9001, NULL, NULL, NULL,"
		"  (SELECT python_stack FROM allocation WHERE id = 1), NULL),"
		" (2, 2, 3, 100, NULL, 9002, NULL, NULL, NULL,"
		"  (SELECT python_stack FROM allocation WHERE id = 3), NULL),"
		" (3, 3, 3, 100, 2, 9002, NULL, NULL, NULL,"
		"  (SELECT python_stack FROM allocation WHERE id = 3), NULL),"
		" (4, 6, 6, 100, NULL, 9001, NULL, NULL, NULL,"
		"  (SELECT python_stack FROM allocation WHERE id = 7), NULL);"
		"INSERT INTO operator_tensor VALUES (1, 0, 2, 0, 2), (1, 1, 0, 0, 2),"
		" (2, 0, 0, 0, 2), (2, 1, 1, 0, 3), (4, 0, 0, 0, 6)";
	struct builder_db *b = build_open("generated.db");
	struct vt_diag diag = { 0 };
	struct vt_model model;
	struct vt_db *db = NULL;
	char *insert = vt_xasprintf("INSERT INTO python_source VALUES ('%s', 2, 0, '%s')",
				    FILE_NAME, text);

	(void)state;
	make(b, VT_KIND_BLOCK, "22");
	make(b, VT_KIND_BLOCK, "20");
	make(b, VT_KIND_BLOCK, "24");
	make(b, VT_KIND_BLOCK, "27");
	/* The allocator asks the driver first. */
	make(b, VT_KIND_SEGMENT, "33");
	make(b, VT_KIND_BLOCK, "33");
	build_alloc(b, &(struct build_event){ .size = 512, .python = "train.py:4 main" });
	for (unsigned i = 0; i < 3; i++)
		make(b, VT_KIND_BLOCK, i == 0 ? "20" : i == 1 ? "27" : "33");
	build_close(b);
	assert_int_equal(vt_db_open(&db, "generated.db", VT_DB_WRITE, &diag), 0);
	assert_int_equal(vt_db_exec(db, sql), 0);
	assert_int_equal(vt_db_exec(db, insert), 0);
	assert_int_equal(vt_model_load(&model, db, &diag), 0);
	assert_int_equal(model.calls.nr, 6);
	check_call(&model, 0, "aten::mm", " 2 >2");
	check_call(&model, 1, "aten::sdpa", " 2 >3");
	check_call(&model, 2, "aten::sdpa", "");
	assert_int_equal(model.calls.items[2].parent, 1);
	check_call(&model, 3, "inductor::add relu", " 2 3 >2 >4");
	check_call(&model, 4, "inductor::template mm", " 4 >6");
	check_call(&model, 5, "aten::mm", " 6");
	vt_model_release(&model);
	vt_db_close(db);
	free(insert);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_are_read),
		cmocka_unit_test(operators_without_a_namespace),
		cmocka_unit_test(damaged_text_is_read_as_far_as_it_goes),
		cmocka_unit_test(kernels_are_among_the_operators),
	};

	return cmocka_run_group_tests_name("generated calls", tests, unit_enter, unit_leave);
}
