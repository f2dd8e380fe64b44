/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_unneeded.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/map.h"
#include "analyzer/base/units.h"
#include "analyzer/model/variables.h"
#include "common/journal_format.h"

/* Complete steps without a gradient; fewer may be an expert that got no tokens. */
#define LEAST_STEPS_FROZEN 3
/* Modules with parameters; one alone may be called by a function that takes its weight. */
#define LEAST_UNUSED_MODULES 2

static struct vt_key key_of_text(const char *text, size_t len)
{
	return (struct vt_key){ vt_hash_text(text, len), len, 0 };
}

static struct vt_key key_of_name(const struct vt_finding_context *context,
				 const struct vt_tensor *tensor)
{
	const char *name = vt_model_text(context->model, tensor->name);

	return key_of_text(name ? name : "", name ? strlen(name) : 0);
}

/* --- a loaded checkpoint --- */

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
		struct vt_key key = key_of_name(context, tensor);

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
		struct vt_key key = key_of_text(name, strlen(name));

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

static void find_loaded_twice(struct vt_finding_context *context)
{
	const uint32_t used = 1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER |
			      1u << VT_ROLE_ATTRIBUTE | 1u << VT_ROLE_OPTIMIZER |
			      1u << VT_ROLE_MASTER | 1u << VT_ROLE_INPUT | 1u << VT_ROLE_CACHE;
	const struct vt_names *names = &context->facts->names;
	struct vt_savings savings = { 0 };
	struct vt_map known = { 0 };
	uint32_t first = VT_NO_INDEX, weights = 0;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX], *variable;

	collect_names(context, &known);
	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_tensor *seen = vt_variables_row(names, i);
		int is_weight = seen && is_copy_of_named(context, &known, seen);

		if (!seen || vt_names_roles(names, i) & used ||
		    !(is_weight || is_optimizer_s(context, &known, seen)) ||
		    !is_loaded(context, a->made->python_stack))
			continue;
		first = first == VT_NO_INDEX ? i : first;
		weights += is_weight;
		bytes += a->size_bytes;
		vt_savings_add(&savings, a, a->size_bytes);
	}
	vt_map_release(&known);
	if (!weights) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	variable = vt_variables_root(names, vt_variables_row(names, first));
	vt_finding_context_add(context, VT_FINDING_WEIGHTS_TWICE, &savings, first,
		     vt_xasprintf("%s in %zu blocks%s%s", all, savings.len, variable ? " of " : "",
				  variable ? variable : ""));
	free(variable);
}

/* --- modules that never ran --- */

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

/* The paths of modules that ran, and of all that they lie in. */
static uint32_t collect_paths(const struct vt_finding_context *context, struct vt_map *paths)
{
	struct vt_map called = { 0 };
	uint32_t nr = 0;

	collect_called(context, &called);
	for (uint32_t m = 0; m < context->model->nr_modules; m++) {
		const struct vt_torch_module *module = &context->model->modules[m];
		const char *path = vt_model_text(context->model, module->name);

		if (!path || !vt_map_find(&called, (struct vt_key){ module->address, 0, 0 }))
			continue;
		for (size_t len = 0; path[len]; len++)
			if (path[len] == '.')
				vt_map_put(paths, key_of_text(path, len), 1);
		vt_map_put(paths, key_of_text(path, strlen(path)), 1);
		nr++;
	}
	vt_map_release(&called);
	return nr;
}

struct unused_tree {
	const char *path;
	size_t len; /* of the path that counts */
	uint32_t first;
	uint32_t nr_modules;
	uint64_t last_module; /* hash of its path */
	uint64_t bytes;
	uint8_t is_used;
};

VT_VECTOR_DECLARE(unused_trees, struct unused_tree);

/* How much of a parameter's name is the largest tree of which nothing ran; 0: its module ran. */
static size_t unused_part(const struct vt_map *paths, const char *name)
{
	const char *last = strrchr(name, '.');

	for (const char *dot = name; last && dot && dot < last;) {
		dot = strchr(dot, '.');
		if (dot && !vt_map_find(paths, key_of_text(name, (size_t)(dot - name))))
			return (size_t)(dot - name);
		dot += dot != NULL;
	}
	return 0;
}

static struct unused_tree *tree_of(struct unused_trees *trees, const char *name, size_t len,
				   uint32_t allocation)
{
	struct unused_tree fresh = { .path = name, .len = len, .first = allocation };

	for (size_t t = trees->len; t-- > 0;)
		if (trees->items[t].len == len && !strncmp(trees->items[t].path, name, len))
			return &trees->items[t];
	vt_vector_push(trees, fresh);
	return &trees->items[trees->len - 1];
}

static void note_parameter(struct vt_finding_context *context, const struct vt_map *paths,
			   struct unused_trees *trees, uint32_t i)
{
	const struct vt_tensor *tensor =
		vt_names_find(&context->facts->names, i, 1u << VT_ROLE_PARAMETER);
	const char *name = tensor ? vt_model_text(context->model, tensor->name) : NULL;
	size_t len = name ? unused_part(paths, name) : 0;
	struct unused_tree *tree;
	uint64_t module;

	if (!len)
		return;
	tree = tree_of(trees, name, len, i);
	module = key_of_text(name, (size_t)(strrchr(name, '.') - name)).a;
	tree->nr_modules += module != tree->last_module;
	tree->last_module = module;
	tree->bytes += context->model->allocations[i].size_bytes;
}

/* Whoever has a gradient or a copy in another type was used, whatever ran. */
static void exclude_used(const struct vt_finding_context *context, struct unused_trees *trees)
{
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		uint32_t of = context->facts->gradient_of[i] ? context->facts->gradient_of[i] :
							     context->facts->cast_of[i];
		const char *name = of ? vt_model_text(context->model,
						      context->model->tensors[of - 1].name) :
					NULL;

		for (size_t t = 0; name && t < trees->len; t++)
			if (!strncmp(name, trees->items[t].path, trees->items[t].len) &&
			    name[trees->items[t].len] == '.')
				trees->items[t].is_used = 1;
	}
}

static void add_unused(struct vt_finding_context *context, const struct unused_trees *trees)
{
	struct vt_savings savings = { 0 };
	const struct unused_tree *largest = NULL;
	uint64_t bytes = 0;
	uint32_t nr = 0;
	char all[VT_UNITS_MAX];

	for (size_t t = 0; t < trees->len; t++) {
		const struct unused_tree *tree = &trees->items[t];

		if (tree->is_used || tree->nr_modules < LEAST_UNUSED_MODULES)
			continue;
		largest = largest && largest->bytes >= tree->bytes ? largest : tree;
		bytes += tree->bytes;
		nr++;
		for (uint32_t k = 0; k < context->nr_live; k++) {
			const struct vt_allocation *a =
				&context->model->allocations[context->live[k]];
			const struct vt_tensor *tensor = vt_names_find(
				&context->facts->names, context->live[k],
				1u << VT_ROLE_PARAMETER | 1u << VT_ROLE_BUFFER);
			const char *name = tensor ? vt_model_text(context->model, tensor->name) :
						    NULL;

			if (name && !strncmp(name, tree->path, tree->len) &&
			    name[tree->len] == '.')
				vt_savings_add(&savings, a, a->size_bytes);
		}
	}
	if (!largest)
		return;
	vt_units_bytes(all, sizeof(all), bytes);
	vt_finding_context_add(context, VT_FINDING_MODULE_UNUSED, &savings, largest->first,
		     vt_xasprintf("%s of %.*s%s", all, (int)largest->len, largest->path,
				  nr > 1 ? " and others" : ""));
}

static void find_unused_modules(struct vt_finding_context *context)
{
	struct unused_trees trees = { 0 };
	struct vt_map paths = { 0 };

	if (!context->model->nr_ooms && !hides_calls(context) && collect_paths(context, &paths)) {
		for (uint32_t k = 0; k < context->nr_live; k++)
			note_parameter(context, &paths, &trees, context->live[k]);
		exclude_used(context, &trees);
		add_unused(context, &trees);
	}
	vt_map_release(&paths);
	vt_vector_release(&trees);
}

/* --- states of what is no longer trained --- */

static uint32_t step_at(const struct vt_finding_context *context, int64_t event)
{
	const struct vt_stages *stages = context->facts->stages;
	uint32_t span = vt_stages_span_at(stages, event);

	return span == VT_NO_INDEX ? 0 : stages->spans[span].step;
}

static uint32_t last_complete(const struct vt_steps *steps)
{
	uint32_t last = steps->nr;

	while (last && !steps->steps[last - 1].is_complete)
		last--;
	return last;
}

/* A gradient that lives on past the next step's zero_grad() is kept, and added to in place. */
static uint32_t last_used_step(const struct vt_finding_context *context,
			       const struct vt_allocation *a)
{
	uint32_t made = step_at(context, a->event), freed = context->facts->stages->steps.nr;

	if (a->freed_event != VT_NEVER)
		freed = step_at(context, a->freed_event);
	return freed > made + 1 ? freed : made;
}

/* By name of a parameter: the last step in which it had a gradient; returns that of all. */
static uint32_t collect_trained(const struct vt_finding_context *context, struct vt_map *last_steps)
{
	uint32_t latest = 0;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		uint32_t of = context->facts->gradient_of[i], step;
		const struct vt_tensor *row =
			vt_names_find(&context->facts->names, i, 1u << VT_ROLE_GRADIENT);
		uint64_t *known;
		struct vt_key key;

		if (!row && !of)
			continue;
		step = last_used_step(context, a);
		key = key_of_name(context, row ? row : &context->model->tensors[of - 1]);
		known = vt_map_find(last_steps, key);
		if (!known || *known < step)
			vt_map_put(last_steps, key, step);
		latest = step > latest ? step : latest;
	}
	return latest;
}

/* The parameter of a state "layers.0.weight.exp_avg"; NULL: it has no such name. */
static uint64_t *last_step_of(const struct vt_finding_context *context,
			      const struct vt_map *last_steps, const struct vt_tensor *state)
{
	const char *name = vt_model_text(context->model, state->name);
	const char *dot = name ? strrchr(name, '.') : NULL;

	return dot ? vt_map_find(last_steps, key_of_text(name, (size_t)(dot - name))) : NULL;
}

static void find_unused_states(struct vt_finding_context *context)
{
	const struct vt_stages *stages = context->facts->stages;
	uint32_t last = last_complete(&stages->steps), latest, first = VT_NO_INDEX;
	struct vt_savings savings = { 0 };
	struct vt_map last_steps = { 0 };
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	latest = collect_trained(context, &last_steps);
	for (uint32_t k = 0; k < context->nr_live; k++) {
		uint32_t i = context->live[k];
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_tensor *state =
			vt_names_find(&context->facts->names, i, 1u << VT_ROLE_OPTIMIZER);
		const uint64_t *step = state ? last_step_of(context, &last_steps, state) : NULL;

		if (!step || *step + LEAST_STEPS_FROZEN > last || *step >= latest)
			continue;
		first = first == VT_NO_INDEX ? i : first;
		bytes += a->size_bytes;
		vt_savings_add_between(
			&savings, a, a->size_bytes,
			stages->spans[stages->steps.steps[*step].first_span].first_event,
			VT_NEVER);
	}
	vt_map_release(&last_steps);
	if (first == VT_NO_INDEX)
		return;
	vt_units_bytes(all, sizeof(all), bytes);
	vt_finding_context_add(context, VT_FINDING_STATES_UNUSED, &savings, first,
		     vt_xasprintf("%s in %zu blocks", all, savings.len));
}

void vt_find_unneeded_detect(struct vt_finding_context *context)
{
	find_loaded_twice(context);
	find_unused_modules(context);
	if (context->is_training)
		find_unused_states(context);
}
