/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/module_stack.h"

#include <string.h>

#include "analyzer/attribution/calls/vocabulary_products.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* What a method with a module for its `self` does; by code object. */
enum method {
	METHOD_OTHER,
	METHOD_FORWARD,
	METHOD_TRAINS, /* is an optimizer's, or runs backward passes or steps around calls */
};

struct methods {
	const struct vt_frames *frames;
	uint8_t *of_code;
};

static uint8_t method_of(const struct methods *methods, uint32_t frame)
{
	uint32_t code = methods->frames->python[frame].code;

	return code < methods->frames->nr_codes ? methods->of_code[code] : METHOD_OTHER;
}

/* The methods around a backward pass or a step, up to a forward that asks for gradients. */
static void mark_training(struct methods *methods, uint32_t stack, const uint8_t *is_training)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(methods->frames, stack, ids);
	int is_around = 0;

	for (unsigned i = 0; i < nr && method_of(methods, ids[i]) != METHOD_FORWARD; i++) {
		uint32_t code = methods->frames->python[ids[i]].code;

		if (code >= methods->frames->nr_codes)
			continue;
		if (is_around && methods->of_code[code] == METHOD_OTHER)
			methods->of_code[code] = METHOD_TRAINS;
		is_around |= is_training[code];
	}
}

static void find_methods(struct methods *methods, const struct vt_frames *frames,
			 const struct vt_rules *rules)
{
	uint8_t *is_training = vt_xcalloc((size_t)frames->nr_codes + 1, 1);

	methods->frames = frames;
	methods->of_code = vt_xcalloc((size_t)frames->nr_codes + 1, 1);
	for (uint32_t c = 0; c < frames->nr_codes; c++)
		for (unsigned r = 0; r < rules->nr_stages && frames->codes[c].file; r++) {
			const struct vt_stage_rule *rule = &rules->stages[r];
			int is_frame = vt_globs_match_python(&rule->frame, &frames->codes[c]);

			if (rule->stage == VT_STAGE_FORWARD &&
			    vt_globs_match_python(&rule->method, &frames->codes[c]))
				methods->of_code[c] = METHOD_FORWARD;
			if (rule->stage == VT_STAGE_OPTIMIZER && is_frame)
				methods->of_code[c] = METHOD_TRAINS;
			if (rule->stage == VT_STAGE_OPTIMIZER || rule->stage == VT_STAGE_BACKWARD)
				is_training[c] |= (uint8_t)is_frame;
		}
	for (uint32_t stack = 0; stack < frames->python_tree.nr_stacks; stack++)
		mark_training(methods, stack, is_training);
	free(is_training);
}

/* Optimizers are recorded as `self` too; they are no modules. */
static int is_module_frame(const struct methods *methods, uint32_t frame)
{
	return methods->frames->python[frame].self_type &&
	       method_of(methods, frame) != METHOD_TRAINS &&
	       !strstr(vt_frames_code(methods->frames, frame)->file, "/torch/optim/");
}

typedef VT_VECTOR(struct vt_module_link) link_vector;

static void add_stack(link_vector *links, const struct methods *methods, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(methods->frames, stack, ids);
	uint64_t last = 0;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_frame_python *frame = &methods->frames->python[ids[i]];
		struct vt_module_link link = { frame->self_type, frame->self_address };

		/* forward, _call_impl and _wrapped_call_impl of one instance are one link. */
		if (!is_module_frame(methods, ids[i]) || frame->self_address == last)
			continue;
		vt_vector_push(links, link);
		last = frame->self_address;
	}
}

/* A sorted set of instances. */
typedef VT_VECTOR(uint64_t) address_set;

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int has_address(const address_set *set, uint64_t address)
{
	return set->len &&
	       bsearch(&address, set->items, set->len, sizeof(address), compare_addresses) != NULL;
}

/* Everything that an embedding lies in. */
static void find_token_models(const struct vt_module_stacks *module_stacks,
			      const struct vt_model *model, const struct vt_rules *rules,
			      address_set *set)
{
	for (uint32_t stack = 0; stack < module_stacks->nr_stacks; stack++) {
		uint32_t nr;
		const struct vt_module_link *links =
			vt_module_stacks_get(module_stacks, stack, &nr);

		if (!nr ||
		    !vt_globs_match(&rules->token_model, vt_model_text(model, links[0].type)))
			continue;
		for (uint32_t i = 1; i < nr; i++)
			vt_vector_push(set, links[i].address);
	}
	vt_vector_sort(set, compare_addresses);
}

/* One matrix product that is a direct child of a token model. */
struct candidate {
	uint64_t parent;
	uint64_t child;
	uint32_t stack;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->child < y->child ? -1 : x->child > y->child;
}

static void find_heads(struct vt_module_stacks *module_stacks, const struct vt_model *model,
		       const struct vt_rules *rules)
{
	address_set token_models = { 0 };
	VT_VECTOR(struct candidate) found = { 0 };
	size_t end;

	find_token_models(module_stacks, model, rules, &token_models);
	for (uint32_t stack = 0; stack < module_stacks->nr_stacks; stack++) {
		uint32_t nr;
		const struct vt_module_link *links =
			vt_module_stacks_get(module_stacks, stack, &nr);

		if (nr >= 2 && has_address(&token_models, links[1].address) &&
		    vt_globs_match(&rules->product.module, vt_model_text(model, links[0].type))) {
			struct candidate one = { links[1].address, links[0].address, stack };

			vt_vector_push(&found, one);
		}
	}
	vt_vector_sort(&found, compare_candidates);
	/* A parent with several products does not tell which of them is the head. */
	for (size_t i = 0; i < found.len; i = end) {
		for (end = i; end < found.len && found.items[end].parent == found.items[i].parent;)
			end++;
		if (found.items[end - 1].child != found.items[i].child)
			continue;
		for (size_t j = i; j < end; j++)
			module_stacks->is_head[found.items[j].stack] = 1;
	}
	vt_vector_release(&token_models);
	vt_vector_release(&found);
}

/* A script may call the head itself, and some stand deeper than beside the model of tokens. */
static void mark_wide_product(struct vt_module_stacks *module_stacks, const struct vt_model *model,
			      const struct vt_rules *rules)
{
	uint64_t address = vt_vocabulary_products_find(model, rules);

	for (uint32_t stack = 0; address && stack < module_stacks->nr_stacks; stack++) {
		uint32_t nr;
		const struct vt_module_link *links =
			vt_module_stacks_get(module_stacks, stack, &nr);

		if (nr && links[0].address == address)
			module_stacks->is_head[stack] = 1;
	}
}

void vt_module_stacks_init(struct vt_module_stacks *module_stacks, const struct vt_model *model,
			   const struct vt_rules *rules)
{
	link_vector links = { 0 };
	struct methods methods;

	find_methods(&methods, &model->frames, rules);
	module_stacks->nr_stacks = model->frames.python_tree.nr_stacks;
	module_stacks->first =
		vt_xcalloc(module_stacks->nr_stacks + 1, sizeof(*module_stacks->first));
	module_stacks->is_head = vt_xcalloc(module_stacks->nr_stacks + 1, 1);
	for (uint32_t stack = 0; stack < module_stacks->nr_stacks; stack++) {
		module_stacks->first[stack] = (uint32_t)links.len;
		add_stack(&links, &methods, stack);
	}
	free(methods.of_code);
	module_stacks->first[module_stacks->nr_stacks] = (uint32_t)links.len;
	module_stacks->links = links.items;
	find_heads(module_stacks, model, rules);
	mark_wide_product(module_stacks, model, rules);
}

void vt_module_stacks_release(struct vt_module_stacks *module_stacks)
{
	free(module_stacks->links);
	free(module_stacks->first);
	free(module_stacks->is_head);
	memset(module_stacks, 0, sizeof(*module_stacks));
}

const struct vt_module_link *vt_module_stacks_get(const struct vt_module_stacks *module_stacks,
						  uint32_t python_stack, uint32_t *nr)
{
	*nr = 0;
	if (python_stack >= module_stacks->nr_stacks)
		return NULL;
	*nr = module_stacks->first[python_stack + 1] - module_stacks->first[python_stack];
	return module_stacks->links + module_stacks->first[python_stack];
}
