/* SPDX-License-Identifier: MIT */
#include "analyzer/model/producer.h"

#include <string.h>

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
	if (a->node_class && a->forward_python_stack &&
	    is_engine_call(&model->frames, a->python_stack))
		return a->forward_python_stack;
	return a->python_stack;
}
