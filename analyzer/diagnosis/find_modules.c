/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_modules.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/units.h"
#include "analyzer/diagnosis/module_runs.h"
#include "common/journal_format.h"

/* Modules with parameters; one alone may be called by a function that takes its weight. */
#define LEAST_UNUSED_MODULES 2

struct unused_tree {
	uint32_t holder;
	const char *path;
	size_t len; /* of the path that counts; 0: from its root on */
	uint32_t first;
	uint32_t nr_modules;
	uint64_t last_module; /* hash of its path */
	uint64_t bytes;
	uint64_t used_bytes;
};

VT_VECTOR_DECLARE(unused_trees, struct unused_tree);

/*
 * How much of a parameter's name is the largest tree of which nothing ran; -1: its module ran, or
 * is none.
 */
static int unused_part(const struct vt_module_runs *runs, uint32_t holder, const char *name,
		       size_t *len)
{
	const char *last = strrchr(name, '.');

	*len = 0;
	while (last && vt_module_runs_has(runs, holder, name, *len)) {
		const char *dot = name + *len == last ? NULL : strchr(name + *len + 1, '.');

		if (!dot)
			return -1;
		*len = (size_t)(dot - name);
	}
	return last ? 0 : -1;
}

static int is_below(const struct unused_tree *tree, uint32_t holder, const char *name)
{
	return tree->holder == holder && !strncmp(name, tree->path, tree->len) &&
	       (!tree->len || name[tree->len] == '.');
}

static struct unused_tree *tree_of(struct unused_trees *trees, const struct unused_tree *like)
{
	for (size_t t = trees->len; t-- > 0;)
		if (trees->items[t].len == like->len &&
		    is_below(&trees->items[t], like->holder, like->path))
			return &trees->items[t];
	vt_vector_push(trees, *like);
	return &trees->items[trees->len - 1];
}

/*
 * By allocation: whoever has a gradient or a copy in another type was used, whatever ran.  A small
 * one may only be as large as another's gradient, so the larger part of a tree decides.
 */
static uint8_t *find_used(const struct vt_finding_context *context)
{
	const struct vt_facts *facts = context->facts;
	uint32_t nr = context->model->nr_allocations;
	uint8_t *is_used = vt_xcalloc((size_t)nr + 1, 1);

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t gradient_of = vt_narrow_get(&facts->gradient_of, i);
		uint32_t of = gradient_of ? gradient_of : vt_narrow_get(&facts->cast_of, i);
		uint32_t parameter = of ? facts->names.allocations[of - 1] : VT_NO_INDEX;

		if (parameter != VT_NO_INDEX)
			is_used[parameter] = 1;
	}
	return is_used;
}

static void note_parameter(struct vt_finding_context *context, const struct vt_module_runs *runs,
			   const uint8_t *is_used, struct unused_trees *trees, uint32_t i)
{
	const struct vt_tensor *tensor =
		vt_names_find(&context->facts->names, i, 1u << VT_ROLE_PARAMETER);
	const char *name = tensor ? vt_model_text(context->model, tensor->name) : NULL;
	struct unused_tree *tree, like = { .path = name, .first = i };
	uint64_t module;

	if (!name || unused_part(runs, tensor->holder, name, &like.len) ||
	    vt_module_runs_is_like(runs, context->model, tensor))
		return;
	like.holder = tensor->holder;
	tree = tree_of(trees, &like);
	module = vt_hash_text(name, (size_t)(strrchr(name, '.') - name));
	tree->nr_modules += module != tree->last_module;
	tree->last_module = module;
	tree->bytes += context->model->allocations[i].common->size_bytes;
	tree->used_bytes += is_used[i] ? context->model->allocations[i].common->size_bytes : 0;
}

static void add_tree(const struct vt_finding_context *context, const struct unused_tree *tree,
		     struct vt_savings *savings)
{
	for (uint32_t k = 0; k < context->nr_live; k++) {
		const struct vt_allocation *a = &context->model->allocations[context->live[k]];
		const struct vt_tensor *row = vt_module_runs_row(context, context->live[k]);
		const char *name = row ? vt_model_text(context->model, row->name) : NULL;

		if (name && is_below(tree, row->holder, name))
			vt_savings_add(savings, a, a->common->size_bytes);
	}
}

static void add_unused(struct vt_finding_context *context, const struct unused_trees *trees)
{
	struct vt_savings savings = { 0 };
	const struct unused_tree *largest = NULL;
	const char *path;
	uint64_t bytes = 0;
	uint32_t nr = 0;
	char all[VT_UNITS_MAX];

	for (size_t t = 0; t < trees->len; t++) {
		const struct unused_tree *tree = &trees->items[t];

		if (2 * tree->used_bytes > tree->bytes || tree->nr_modules < LEAST_UNUSED_MODULES)
			continue;
		largest = largest && largest->bytes >= tree->bytes ? largest : tree;
		bytes += tree->bytes;
		nr++;
		add_tree(context, tree, &savings);
	}
	if (!largest)
		return;
	vt_units_bytes(all, sizeof(all), bytes);
	path = largest->len ? largest->path :
			      vt_module_runs_variable(context->model, largest->holder);
	path = path ? path : "a module";
	vt_finding_context_add(context, VT_FINDING_MODULE_UNUSED, &savings, largest->first,
			       vt_xasprintf("%s of %.*s%s", all,
					    (int)(largest->len ? largest->len : strlen(path)), path,
					    nr > 1 ? " and others" : ""));
}

void vt_find_modules_detect(struct vt_finding_context *context)
{
	struct unused_trees trees = { 0 };
	struct vt_module_runs runs;
	uint8_t *is_used;

	if (context->model->nr_ooms)
		return;
	vt_module_runs_init(&runs, context);
	is_used = find_used(context);
	for (uint32_t k = 0; k < context->nr_live && runs.is_known; k++)
		note_parameter(context, &runs, is_used, &trees, context->live[k]);
	add_unused(context, &trees);
	free(is_used);
	vt_module_runs_release(&runs);
	vt_vector_release(&trees);
}
