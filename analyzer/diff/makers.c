/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/makers.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

void vt_makers_init(struct vt_makers *makers, const struct vt_describe *describe)
{
	const struct vt_frames *frames = &describe->model->frames;

	makers->describe = describe;
	makers->of_python =
		vt_xcalloc((size_t)frames->python_tree.nr_stacks + 1, sizeof(uint64_t));
	makers->of_native =
		vt_xcalloc((size_t)frames->native_tree.nr_stacks + 1, sizeof(uint64_t));
}

void vt_makers_release(struct vt_makers *makers)
{
	free(makers->of_python);
	free(makers->of_native);
	memset(makers, 0, sizeof(*makers));
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return vt_hash_mix(hash, text ? vt_hash_text(text, strlen(text)) : 0);
}

static int starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Inside of the first frame that is the program's. */
static uint64_t hash_python(const struct vt_describe *describe, uint32_t stack)
{
	const struct vt_frames *frames = &describe->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	uint64_t hash = 1;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);

		if (!vt_describe_is_framework(code->file))
			break;
		hash = mix_text(mix_text(hash, vt_util_base_name(code->file)), code->name);
	}
	return hash;
}

/* Inside of the interpreter, that called it. */
static uint64_t hash_native(const struct vt_frames *frames, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_native(frames, stack, ids);
	uint64_t hash = 1;

	for (unsigned i = 0; i < nr; i++) {
		const char *library = vt_frames_library(frames, ids[i]);

		if (starts_with(library, "libpython") || starts_with(library, "python3"))
			break;
		if (frames->native[ids[i]].symbol)
			hash = mix_text(hash, frames->native[ids[i]].symbol);
	}
	return hash;
}

uint64_t vt_makers_of(struct vt_makers *makers, const struct vt_allocation *a)
{
	const struct vt_model *model = makers->describe->model;
	uint32_t python = vt_producer_stack(model, a), native = a->common->made->native_stack;
	uint64_t hash = vt_hash_mix(a->common->kind, python != a->common->made->python_stack);

	if (python < model->frames.python_tree.nr_stacks) {
		if (!makers->of_python[python])
			makers->of_python[python] = hash_python(makers->describe, python);
		hash = vt_hash_mix(hash, makers->of_python[python]);
	}
	if (native < model->frames.native_tree.nr_stacks) {
		if (!makers->of_native[native])
			makers->of_native[native] = hash_native(&model->frames, native);
		hash = vt_hash_mix(hash, makers->of_native[native]);
	}
	return mix_text(hash, vt_model_text(model, a->common->made->node_class));
}
