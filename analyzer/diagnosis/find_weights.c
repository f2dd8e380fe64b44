/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_weights.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/units.h"
#include "analyzer/diagnosis/module_runs.h"
#include "analyzer/model/variables.h"
#include "common/journal_format.h"

/* Made while a file of tensors was read. */
static int is_loaded(const struct vt_finding_context *context, uint32_t stack)
{
	static const char *const readers[] = { "torch/serialization.py", "safetensors/torch.py" };
	const struct vt_frames *frames = &context->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);

	for (unsigned k = 0; k < nr; k++)
		for (size_t r = 0; r < VT_ARRAY_SIZE(readers); r++)
			if (strstr(vt_frames_code(frames, ids[k])->file, readers[r]))
				return 1;
	return 0;
}

/* The names of what the modules and optimizers have: shapes and types are compared, too. */
static void collect_names(const struct vt_finding_context *context, struct vt_map *names)
{
	const uint32_t roles = 1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER |
			       1u << VT_ROLE_OPTIMIZER;

	for (uint32_t i = 0; i < context->model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &context->model->tensors[i];
		struct vt_key key = vt_finding_context_name_key(context, tensor);

		if (!(1u << tensor->role & roles))
			continue;
		key.c = (uint64_t)tensor->shape << 32 | tensor->dtype;
		vt_map_put(names, key, 1);
		/* Of a checkpoint of an optimizer, whose keys are numbers. */
		if (tensor->role == VT_ROLE_OPTIMIZER)
			vt_map_put(names, (struct vt_key){ 0, 0, key.c }, 1);
	}
}

/* "checkpoint.model.3.weight" where there is a parameter "3.weight" of that shape and type. */
static int is_copy_of_named(const struct vt_finding_context *context, const struct vt_map *names,
			    const struct vt_tensor *tensor)
{
	const char *name = vt_model_text(context->model, tensor->name);
	uint64_t like = (uint64_t)tensor->shape << 32 | tensor->dtype;

	while (name && *name) {
		struct vt_key key = vt_map_text_key(name, strlen(name));

		key.c = like;
		if (vt_map_find(names, key))
			return 1;
		name = strchr(name, '.');
		name += name != NULL;
	}
	return 0;
}

static int is_optimizer_s(const struct vt_finding_context *context, const struct vt_map *names,
			  const struct vt_tensor *tensor)
{
	const char *name = vt_model_text(context->model, tensor->name);

	return name && strstr(name, ".state.") &&
	       vt_map_find(names, (struct vt_key){
					  0, 0, (uint64_t)tensor->shape << 32 | tensor->dtype });
}

/* Of a module that was loaded as one, never ran, and has what another that ran has. */
static int is_of_idle_copy(const struct vt_finding_context *context,
			   const struct vt_module_runs *runs, uint32_t i)
{
	const struct vt_tensor *row = vt_module_runs_row(context, i);

	return row && runs->is_known && !vt_module_runs_has(runs, row->holder, "", 0) &&
	       vt_module_runs_is_like(runs, context->model, row);
}

struct loaded {
	struct vt_map known; /* names of what modules and optimizers have */
	struct vt_module_runs runs;
};

/* Whether a variable has it beside the weights that are used; as a weight, or a state of one. */
static int is_second(const struct vt_finding_context *context, const struct loaded *loaded,
		     uint32_t i, int *is_weight)
{
	const uint32_t used = 1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER |
			      1u << VT_ROLE_ATTRIBUTE | 1u << VT_ROLE_OPTIMIZER |
			      1u << VT_ROLE_MASTER | 1u << VT_ROLE_INPUT | 1u << VT_ROLE_CACHE;
	const struct vt_names *names = &context->facts->names;
	const struct vt_tensor *seen = vt_variables_row(names, i);

	*is_weight = is_of_idle_copy(context, &loaded->runs, i);
	if (*is_weight)
		return 1;
	if (!seen || vt_names_roles(names, i) & used)
		return 0;
	*is_weight = is_copy_of_named(context, &loaded->known, seen);
	return *is_weight || is_optimizer_s(context, &loaded->known, seen);
}

static char *variable_of(const struct vt_finding_context *context, uint32_t i)
{
	const struct vt_tensor *seen = vt_variables_row(&context->facts->names, i);
	const struct vt_tensor *row = vt_module_runs_row(context, i);
	const char *variable = row ? vt_module_runs_variable(context->model, row->holder) : NULL;

	if (seen)
		return vt_variables_root(&context->facts->names, seen);
	return variable ? vt_xstrdup(variable) : NULL;
}

void vt_find_weights_detect(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	struct loaded loaded = { 0 };
	uint32_t first = VT_NO_INDEX, weights = 0;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX], *variable;

	collect_names(context, &loaded.known);
	vt_module_runs_init(&loaded.runs, context);
	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];
		const struct vt_allocation *a = &context->model->allocations[i];
		int is_weight;

		if (!is_second(context, &loaded, i, &is_weight) ||
		    !is_loaded(context, a->common->made->python_stack))
			continue;
		first = first == VT_NO_INDEX ? i : first;
		weights += is_weight;
		bytes += a->common->size_bytes;
		vt_savings_add(&savings, a, a->common->size_bytes);
	}
	vt_map_release(&loaded.known);
	vt_module_runs_release(&loaded.runs);
	if (!weights) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	variable = variable_of(context, first);
	vt_finding_context_add(context, VT_FINDING_WEIGHTS_TWICE, &savings, first,
		     vt_xasprintf("%s in %zu blocks%s%s", all, savings.len, variable ? " of " : "",
				  variable ? variable : ""));
	free(variable);
}
