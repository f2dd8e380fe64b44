/* SPDX-License-Identifier: MIT */
#include "tests/lib/fuzzed_journal.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "common/kinds.h"
#include "tests/lib/sample_journal.h"

/* A record with texts behind it. */
static void append(struct builder *b, enum vt_record_type type, const void *head, size_t bytes,
		   const char *first, const char *second)
{
	struct vt_buffer record;

	vt_buffer_init(&record);
	vt_buffer_append(&record, head, bytes);
	vt_buffer_append(&record, first, strlen(first));
	vt_buffer_append(&record, second, strlen(second));
	builder_append(b, type, record.data, record.len);
	vt_buffer_release(&record);
}

static void append_source(struct builder *b, enum vt_source_text kind, const char *file,
			  const char *text)
{
	struct vt_source_record source = { .kind = kind,
					   .file_len = (uint32_t)strlen(file),
					   .text_len = (uint32_t)strlen(text) };

	append(b, VT_RECORD_SOURCE, &source, sizeof(source), file, text);
}

/* Of code that the program made itself; the other stacks are all of model.py. */
static void append_sources(struct builder *b)
{
	static const char cell[] = "/tmp/ipykernel_7/1234.py", function[] = "<module>";
	static const struct vt_python_frame frames[] = {
		{ .code = 3, .instruction_bytes = VT_PYTHON_NO_INSTRUCTION },
		{ .code = 2, .instruction_bytes = 3 },
	};
	struct vt_python_code_record code = { .id = 3,
					      .first_line = 1,
					      .python_minor = 11,
					      .file_len = sizeof(cell) - 1,
					      .name_len = sizeof(function) - 1 };

	append(b, VT_RECORD_PYTHON_CODE, &code, sizeof(code), cell, function);
	builder_python_stack(b, 6, frames, 2);
	append_source(b, VT_SOURCE_TEXT_CELL, cell, "3");
	append_source(b, VT_SOURCE_TEXT_LINES, "model.py",
		      "train.py\nmodel.py\n\n1\t0:31 main\t1:14 attend\n101\t1:20 f\n");
	append_source(b, VT_SOURCE_TEXT_GENERATED, "model.py",
		      "9\tdef triton_a(in_out_ptr0, in_ptr0, out_ptr0, xnumel):\n"
		      "20\tbuf0 = empty_strided_cuda((8, 64), (64, 1), torch.float32)\n"
		      "21\t# Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]\n"
		      "22\textern_kernels.mm(primals_1, primals_2, out=buf0)\n"
		      "24\tbuf1 = torch.ops.aten.sdpa.default(reinterpret_tensor(buf0, (8, 8), (8, "
		      "1), 0))\n"
		      "25\tbuf3 = buf1[1]\n"
		      "28\tbuf5 = reinterpret_tensor(buf0, (64, 8), (8, 1), 0); del buf0  # reuse\n"
		      "31\ttriton_a.run(buf5, buf3, buf0, 64, stream=stream0)\n");
}

/* What a probe of the program writes. */
static void append_names(struct builder *b)
{
	struct vt_tensor_record tensor = { .probe = 1,
					   .address = 0x10200,
					   .size_bytes = 512,
					   .role = VT_ROLE_PARAMETER,
					   .flags = VT_TENSOR_LEAF,
					   .name = 5,
					   .holder = 6,
					   .dtype = 5,
					   .shape = 6 };
	struct vt_torch_module_record module = { .address = 0xabc,
						 .probe = 1,
						 .class_name = 5,
						 .name = 6,
						 .holder = 5,
						 .root_address = 0xabc };
	struct vt_probe_record probe = { .time_ns = 1000,
					 .duration_ns = 10,
					 .probe = 1,
					 .thread = 1,
					 .reason = 5,
					 .nr_tensors = 1 };

	builder_append(b, VT_RECORD_TENSOR, &tensor, sizeof(tensor));
	builder_append(b, VT_RECORD_TORCH_MODULE, &module, sizeof(module));
	builder_append(b, VT_RECORD_PROBE, &probe, sizeof(probe));
}

void fuzzed_journal(struct builder *b)
{
	builder_init(b);
	sample_journal(b);
	append_names(b);
	append_sources(b);
}
