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

static struct vt_producer choose(const struct vt_model *model, uint32_t node_class,
				 uint32_t python_stack, uint32_t forward_python_stack,
				 uint32_t native_stack)
{
	struct vt_producer producer = { .python_stack = python_stack,
					.native_stack = native_stack,
					.forward_python_stack =
						node_class ? forward_python_stack : 0 };

	if (node_class && forward_python_stack && is_engine_call(&model->frames, python_stack)) {
		producer.python_stack = forward_python_stack;
		producer.is_backward = forward_python_stack != python_stack;
	}
	return producer;
}

struct vt_producer vt_producer_of(const struct vt_model *model, const struct vt_allocation *a)
{
	return choose(model, a->common->made->node_class, a->common->made->python_stack,
		      a->common->made->forward_python_stack, a->common->made->native_stack);
}

struct vt_producer vt_producer_of_failed(const struct vt_model *model,
					 const struct vt_out_of_memory *oom)
{
	return choose(model, oom->node_class, oom->python_stack, oom->forward_python_stack,
		      oom->native_stack);
}

uint32_t vt_producer_stack(const struct vt_model *model, const struct vt_allocation *a)
{
	return vt_producer_of(model, a).python_stack;
}

/* Takes the line. */
static char *mark_backward(char *line)
{
	char *marked = vt_xasprintf("backward of %s", line);

	free(line);
	return marked;
}

struct vt_own_frame vt_producer_own_frame(const struct vt_describe *describe,
					  const struct vt_producer *producer)
{
	struct vt_own_frame own = { vt_describe_own_frame(describe, producer->python_stack),
				    producer->is_backward };

	if (own.id == VT_NO_INDEX && producer->forward_python_stack) {
		own.id = vt_describe_own_frame(describe, producer->forward_python_stack);
		own.is_backward = 1;
	}
	return own;
}

/* After the frames of a library's own backward, which nothing of the program called. */
static void append_forward(const struct vt_describe *describe, uint32_t stack,
			   struct vt_lines *lines)
{
	struct vt_lines forward = vt_describe_python(describe, stack);

	if (!forward.nr)
		return;
	forward.text[0] = mark_backward(forward.text[0]);
	lines->text = vt_xrealloc(lines->text, (lines->nr + forward.nr) * sizeof(char *));
	memcpy(lines->text + lines->nr, forward.text, forward.nr * sizeof(char *));
	lines->nr += forward.nr;
	free(forward.text);
}

struct vt_lines vt_producer_python(const struct vt_describe *describe,
				   const struct vt_producer *producer)
{
	struct vt_lines lines = vt_describe_python(describe, producer->python_stack);
	struct vt_own_frame own = vt_producer_own_frame(describe, producer);

	if (lines.nr && producer->is_backward)
		lines.text[0] = mark_backward(lines.text[0]);
	else if (lines.nr && own.is_backward && own.id != VT_NO_INDEX)
		append_forward(describe, producer->forward_python_stack, &lines);
	return lines;
}

static struct vt_lines lines_of(const struct vt_describe *describe,
				const struct vt_producer *producer)
{
	struct vt_lines lines = vt_producer_python(describe, producer);

	if (lines.nr)
		return lines;
	vt_lines_free(&lines);
	return vt_describe_native(describe, producer->native_stack);
}

struct vt_lines vt_producer_lines(const struct vt_describe *describe, const struct vt_allocation *a)
{
	struct vt_producer producer = vt_producer_of(describe->model, a);

	return lines_of(describe, &producer);
}

char *vt_producer_first_line(const struct vt_describe *describe, const struct vt_producer *producer)
{
	struct vt_lines lines = lines_of(describe, producer);
	char *line = lines.nr ? vt_xstrdup(lines.text[0]) : NULL;

	vt_lines_free(&lines);
	return line;
}

char *vt_producer_own_line(const struct vt_describe *describe, const struct vt_producer *producer)
{
	struct vt_own_frame own = vt_producer_own_frame(describe, producer);
	char *line = own.id == VT_NO_INDEX ? NULL : vt_describe_frame(describe, own.id);

	return line && own.is_backward ? mark_backward(line) : line;
}

char *vt_producer_caller(const struct vt_describe *describe, const struct vt_producer *producer)
{
	struct vt_own_frame own = vt_producer_own_frame(describe, producer);
	uint32_t ids[VT_FRAMES_MAX];

	if (!vt_describe_visible(describe, producer->python_stack, ids) || ids[0] == own.id)
		return NULL;
	return vt_producer_own_line(describe, producer);
}
