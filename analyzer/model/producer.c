/* SPDX-License-Identifier: MIT */
#include "analyzer/model/producer.h"

#include <string.h>

#include "analyzer/base/util.h"

static int ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Nothing but the call of the engine: a node without Python, on the thread that called it. */
static int is_engine_call(const struct vt_frames *frames, uint32_t python_stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	const struct vt_code *code;

	if (!vt_frames_python(frames, python_stack, ids))
		return 1;
	code = vt_frames_code(frames, ids[0]);
	return ends_with(code->file, "/torch/autograd/graph.py") ||
	       ends_with(code->file, "/torch/autograd/__init__.py");
}

uint32_t vt_producer_stack(const struct vt_model *model, const struct vt_allocation *a)
{
	if (a->made->node_class && a->made->forward_python_stack &&
	    is_engine_call(&model->frames, a->made->python_stack))
		return a->made->forward_python_stack;
	return a->made->python_stack;
}

static void mark_backward(struct vt_lines *lines)
{
	char *line = vt_xasprintf("backward of %s", lines->text[0]);

	free(lines->text[0]);
	lines->text[0] = line;
}

struct vt_lines vt_producer_lines(const struct vt_describe *describe, const struct vt_allocation *a)
{
	uint32_t stack = vt_producer_stack(describe->model, a);
	struct vt_lines lines = vt_describe_python(describe, stack);

	if (lines.nr && stack != a->made->python_stack)
		mark_backward(&lines);
	if (lines.nr)
		return lines;
	vt_describe_free(&lines);
	return vt_describe_native(describe, a->made->native_stack);
}
