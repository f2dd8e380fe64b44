/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/keepers.h"

#include <string.h>

#include "analyzer/base/owner_path.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

#define TEXT(name, text) text,
const char *const vt_keepers_words[VT_NR_KEEPERS] = { VT_KEEPERS(TEXT) };

/* Modules that a node is placed by: its own, and the one around it. */
#define MODULES_SHOWN 2

/* Owners whose role is to be held by something, whatever frees them at the end. */
static const struct {
	const char *owner; /* a path; what is below it, too */
	enum vt_keeper keeper;
} roles[] = {
	{ "weights/cast", VT_NR_KEEPERS }, /* as long as somebody needs it */
	{ "weights", VT_KEEPER_WEIGHTS },
	{ "buffers", VT_KEEPER_WEIGHTS },
	{ "gradients", VT_KEEPER_GRADIENTS },
	{ "optimizer", VT_KEEPER_OPTIMIZER },
	{ "kv cache", VT_KEEPER_CACHE },
	{ "user", VT_KEEPER_VARIABLE },
	{ "workspace/cublas", VT_KEEPER_LIBRARY },
	{ "workspace/cudnn", VT_KEEPER_LIBRARY },
	{ "communication", VT_KEEPER_LIBRARY },
};

static int is_below(const char *owner, const char *path)
{
	return vt_owner_path_is_below(owner, path, strlen(path));
}

static enum vt_keeper role_of(const char *owner)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(roles); i++)
		if (is_below(owner, roles[i].owner))
			return roles[i].keeper;
	return VT_NR_KEEPERS;
}

static void add_modules(struct vt_buffer *text, const struct vt_facts *facts, uint32_t stack)
{
	uint32_t nr;
	const struct vt_module_link *links =
		vt_module_stacks_get(&facts->stages->module_stacks, stack, &nr);

	for (uint32_t i = 0; i < nr && i < MODULES_SHOWN; i++)
		vt_buffer_printf(text, "%s%s", i ? " < " : " in ",
				 vt_model_text(facts->model, links[i].type));
}

/* The innermost line of the program's own; NULL: none. */
static char *line_of(const struct vt_describe *describe, uint32_t python_stack)
{
	struct vt_lines lines = vt_describe_python(describe, python_stack);
	char *line = lines.nr ? vt_xstrdup(lines.text[0]) : NULL;

	vt_lines_free(&lines);
	return line;
}

/* "AddmmBackward0 in Linear < Attention"; outside of modules the line. */
static char *describe_node(struct vt_facts *facts, const struct vt_describe *describe,
			   uint32_t class, uint32_t forward_stack)
{
	struct vt_buffer text;
	size_t len;
	char *line;

	vt_buffer_init(&text);
	vt_buffer_puts(&text, vt_operators_class(&facts->operators, class));
	len = text.len;
	add_modules(&text, facts, forward_stack);
	if (text.len == len) {
		line = line_of(describe, forward_stack);
		if (line)
			vt_buffer_printf(&text, " at %s", line);
		free(line);
	}
	return vt_buffer_detach(&text);
}

static int is_bit(uint32_t bits, unsigned bit)
{
	return (bits & 1u << bit) != 0;
}

/* A node released it: it was saved for the node, or it was the gradient that came in. */
static enum vt_keeper find_node(struct vt_facts *facts, const struct vt_describe *describe,
				const struct vt_allocation *a, const char *owner,
				char **detail)
{
	const char *class = vt_operators_class(&facts->operators, a->common->freed->node_class);
	const struct vt_span *span = vt_facts_span(facts, a);
	uint32_t lifetimes = vt_facts_lifetimes(facts, a), nr;
	int is_gradient;

	if (is_bit(lifetimes, VT_LIFETIME_OPERATION))
		return VT_KEEPER_OPERATION;
	/* Made in the pass, of no recomputed forward, and taken in the same pass. */
	vt_module_stacks_get(&facts->stages->module_stacks, a->common->made->python_stack, &nr);
	is_gradient =
		(a->common->made->node_class || (span && span->stage == VT_STAGE_BACKWARD)) &&
		(!nr || vt_producer_stack(facts->model, a) != a->common->made->python_stack) &&
		!is_bit(lifetimes, VT_LIFETIME_AFTER_BACKWARD);
	if (strcmp(class, "AccumulateGrad") == 0)
		return VT_KEEPER_ENGINE;
	*detail = describe_node(facts, describe, a->common->freed->node_class,
				a->common->freed->forward_python_stack);
	if (is_gradient)
		return VT_KEEPER_ENGINE;
	return is_below(owner, "activations/checkpoint") ? VT_KEEPER_CHECKPOINT : VT_KEEPER_NODE;
}

enum vt_keeper vt_keepers_find(struct vt_attribution *attribution,
			       const struct vt_describe *describe, uint32_t allocation,
			       char **detail)
{
	struct vt_facts *facts = attribution->facts;
	const struct vt_allocation *a = &facts->model->allocations[allocation];
	struct vt_verdict verdict = vt_attribution_judge(attribution, allocation);
	const char *owner = vt_attribution_owner(attribution, verdict.owner);
	enum vt_keeper role = role_of(owner);
	uint32_t lifetimes = vt_facts_lifetimes(facts, a);

	*detail = NULL;
	/* No .grad is let go by a node: a result of autograd.grad() is, or what a loss made. */
	if (role != VT_NR_KEEPERS && !(role == VT_KEEPER_GRADIENTS && a->common->freed->node_class))
		return role;
	if (a->common->freed->node_class)
		return find_node(facts, describe, a, owner, detail);
	if (is_bit(lifetimes, VT_LIFETIME_OPERATION) ||
	    (a->common->made->python_stack &&
	     a->common->made->python_stack == a->common->freed->python_stack))
		return VT_KEEPER_OPERATION;
	if (!a->common->freed->python_stack)
		return VT_KEEPER_UNKNOWN;
	*detail = line_of(describe, a->common->freed->python_stack);
	return VT_KEEPER_VARIABLE;
}

char *vt_keepers_text(enum vt_keeper keeper, const char *detail)
{
	if (!detail)
		return vt_xstrdup(vt_keepers_words[keeper]);
	if (keeper == VT_KEEPER_NODE)
		return vt_xasprintf("saved for %s", detail);
	if (keeper == VT_KEEPER_CHECKPOINT)
		return vt_xasprintf("checkpoint, until %s had run again", detail);
	if (keeper == VT_KEEPER_ENGINE)
		return vt_xasprintf("gradient for %s", detail);
	return vt_xasprintf("%s, until %s", vt_keepers_words[keeper], detail);
}
