/* SPDX-License-Identifier: MIT */
/*
 * The lines differ from version to version, their order never did: the last of several is that of
 * the buffers.  Before the first forward there are no gradients that could be mistaken for them, so
 * only what was moved then teaches the line.
 */
#include "analyzer/attribution/inference/module_apply.h"

#include <string.h>

#include "analyzer/base/util.h"

static int is_of_module(const struct vt_code *code)
{
	static const char file[] = "/torch/nn/modules/module.py";
	size_t len = strlen(code->file);

	return len >= sizeof(file) - 1 &&
	       strcmp(code->file + len - (sizeof(file) - 1), file) == 0;
}

/*
 * The line of the innermost Module._apply of a stack, 0: there is none, or it is below that of a
 * class of its own, which is called from the line that goes through the children.
 */
static uint32_t line_of(const struct vt_frames *frames, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);

		if (strcmp(code->short_name, "_apply") == 0)
			return is_of_module(code) ? frames->python[ids[i]].line : 0;
	}
	return 0;
}

static int is_loading(const struct vt_stages *stages, int64_t event)
{
	uint32_t span = vt_stages_span_at(stages, event);

	return span != VT_NO_INDEX && stages->spans[span].stage == VT_STAGE_LOAD;
}

/* The last line at which something was moved while loading; 0: there were not several. */
static uint32_t find_buffer_line(const struct vt_stages *stages, const uint32_t *lines,
				 uint32_t nr_stacks)
{
	const struct vt_model *model = stages->timeline->model;
	uint32_t first = UINT32_MAX, last = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		uint32_t stack = a->common->made->python_stack;
		uint32_t line = stack < nr_stacks ? lines[stack] : 0;

		if (!vt_allocation_is_owned(a) || !line || !is_loading(stages, a->event))
			continue;
		if (line < first)
			first = line;
		if (line > last)
			last = line;
	}
	return first < last ? last : 0;
}

void vt_module_apply_init(struct vt_module_apply *moves, const struct vt_stages *stages)
{
	const struct vt_frames *frames = &stages->timeline->model->frames;
	uint32_t nr = frames->python_tree.nr_stacks, buffer_line;
	uint32_t *lines = vt_xcalloc((size_t)nr + 1, sizeof(*lines));

	for (uint32_t i = 0; i < nr; i++)
		lines[i] = line_of(frames, i);
	buffer_line = find_buffer_line(stages, lines, nr);
	moves->nr_stacks = nr;
	moves->is_buffer = vt_xcalloc((size_t)nr + 1, 1);
	for (uint32_t i = 0; i < nr; i++)
		moves->is_buffer[i] = buffer_line && lines[i] == buffer_line;
	free(lines);
}

void vt_module_apply_release(struct vt_module_apply *moves)
{
	free(moves->is_buffer);
	memset(moves, 0, sizeof(*moves));
}

int vt_module_apply_is_buffer(const struct vt_module_apply *moves, uint32_t python_stack)
{
	return python_stack < moves->nr_stacks && moves->is_buffer[python_stack];
}
