/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/module_runs.h"

#include <string.h>


/* The instances whose forward was on some stack. */
static void collect_called(const struct vt_finding_context *context, struct vt_map *called)
{
	const struct vt_frames *frames = &context->model->frames;

	for (uint32_t f = 0; f < frames->nr_python; f++) {
		const struct vt_frame_python *frame = &frames->python[f];
		const char *name = vt_frames_code(frames, f)->short_name;

		if (frame->self_address && (!strcmp(name, "forward") ||
					    strstr(name, "_call_impl")))
			vt_map_put(called, (struct vt_key){ frame->self_address, 0, 0 }, 1);
	}
}

/* Code that runs modules without a Python frame of theirs hides which of them ran. */
static int hides_calls(const struct vt_finding_context *context)
{
	static const char *const hiding[] = { "OptimizedModule", "ScriptModule", "GraphModule" };

	for (uint32_t i = 0; i < context->model->nr_modules; i++) {
		const char *type =
			vt_model_text(context->model, context->model->modules[i].class_name);

		for (size_t k = 0; type && k < VT_ARRAY_SIZE(hiding); k++)
			if (strstr(type, hiding[k]))
				return 1;
	}
	return 0;
}

static struct vt_key key_of_path(uint32_t holder, const char *path, size_t len)
{
	struct vt_key key = vt_map_text_key(path, len);

	key.c = holder;
	return key;
}

static struct vt_key key_of_like(const char *name, uint32_t shape)
{
	struct vt_key key = vt_map_text_key(name, strlen(name));

	key.c = shape;
	return key;
}

static void collect_paths(struct vt_module_runs *runs, const struct vt_finding_context *context)
{
	struct vt_map called = { 0 };

	collect_called(context, &called);
	for (uint32_t m = 0; m < context->model->nr_modules; m++) {
		const struct vt_torch_module *module = &context->model->modules[m];
		const char *path = vt_model_text(context->model, module->name);
		size_t all = path ? strlen(path) : 0;

		if (!vt_map_find(&called, (struct vt_key){ module->address, 0, 0 }))
			continue;
		for (size_t len = 0; len <= all; len++)
			if (!len || len == all || path[len] == '.')
				vt_map_put(&runs->paths,
					   key_of_path(module->holder, path ? path : "", len), 1);
		runs->is_known = 1;
	}
	vt_map_release(&called);
}

static void collect_likes(struct vt_module_runs *runs, const struct vt_finding_context *context)
{
	for (uint32_t k = 0; k < context->nr_live; k++) {
		const struct vt_tensor *row = vt_module_runs_row(context, context->live[k]);
		const char *name = row ? vt_model_text(context->model, row->name) : NULL;

		const char *last = name ? strrchr(name, '.') : NULL;

		if (last && vt_module_runs_has(runs, row->holder, name, (size_t)(last - name)))
			vt_map_put(&runs->likes, key_of_like(name, row->shape), 1);
	}
}

void vt_module_runs_init(struct vt_module_runs *runs, const struct vt_finding_context *context)
{
	memset(runs, 0, sizeof(*runs));
	if (hides_calls(context))
		return;
	collect_paths(runs, context);
	collect_likes(runs, context);
}

void vt_module_runs_release(struct vt_module_runs *runs)
{
	vt_map_release(&runs->paths);
	vt_map_release(&runs->likes);
}

int vt_module_runs_has(const struct vt_module_runs *runs, uint32_t holder, const char *path,
		       size_t len)
{
	return vt_map_find(&runs->paths, key_of_path(holder, path, len)) != NULL;
}

/* A wrapper's names have its own before them: "module.layers.0.weight". */
int vt_module_runs_is_like(const struct vt_module_runs *runs, const struct vt_model *model,
			   const struct vt_tensor *tensor)
{
	const char *name = vt_model_text(model, tensor->name);

	while (name && strchr(name, '.')) {
		if (vt_map_find(&runs->likes, key_of_like(name, tensor->shape)))
			return 1;
		name = strchr(name, '.') + 1;
	}
	return 0;
}

const struct vt_tensor *vt_module_runs_row(const struct vt_finding_context *context,
					   uint32_t allocation)
{
	return vt_names_find(&context->facts->names, allocation,
			     1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER);
}

const char *vt_module_runs_variable(const struct vt_model *model, uint32_t holder)
{
	const char *text = vt_model_text(model, holder);
	const char *variable = text ? strrchr(text, ' ') : NULL;

	return variable ? variable + 1 : text;
}
