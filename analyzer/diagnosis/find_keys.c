/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_keys.h"

#include <string.h>

#include "analyzer/attribution/rules/globs.h"
#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/units.h"
#include "common/journal_format.h"

/* Below that, other things are worth more thought than another cache. */
#define CACHE_SHARE 0.2
/* Blocks that one call of an attention module makes before its keys are copied, and then some. */
#define CALL_BLOCKS 64
/* Queries, and an adapter's; where each head has its own keys, keys and values as well. */
#define MOST_QUERIES 2
/* Heads of queries that share one of keys: published models have up to 64 or all of them. */
#define MOST_REPEATS 128

/* What a block may have been asked for. */
struct asked {
	uint64_t least, most;
};

/* What the modules below one made before a block. */
struct sources {
	struct asked products[CALL_BLOCKS];
	unsigned nr;
};

static struct asked asked_for(const struct vt_finding_context *context,
			      const struct vt_allocation *a)
{
	return (struct asked){ vt_block_rounding_least(context->model, a), a->common->size_bytes };
}

static int has_operator(const struct vt_finding_context *context, const struct vt_allocation *a,
			char **patterns, unsigned nr)
{
	const char *name = vt_operators_name(&context->attribution->facts->operators,
					     a->common->made->native_stack);
	const struct vt_globs globs = { patterns, nr };

	return name && vt_globs_match(&globs, name);
}

static int is_copy(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	static char *patterns[] = { "clone", "contiguous", "reshape", "repeat*", "copy*",
				    "index_select", "cat" };

	return has_operator(context, a, patterns, VT_ARRAY_SIZE(patterns));
}

static int is_product(const struct vt_finding_context *context, const struct vt_allocation *a)
{
	static char *patterns[] = { "mm", "addmm", "bmm", "baddbmm", "linear", "*_mm", "matmul",
				    "einsum", "addmm_*" };

	return has_operator(context, a, patterns, VT_ARRAY_SIZE(patterns));
}

/* Whether `path` is `parent` or below it. */
static int is_below(const char *path, const char *parent)
{
	size_t len = strlen(parent);

	return path && !strncmp(path, parent, len) && (!path[len] || path[len] == '.' || !len);
}

/* Blocks of a call stand together, up to the first that another module made. */
static struct sources find_sources(const struct vt_finding_context *context, uint32_t copy,
				   const char *parent)
{
	const struct vt_allocation *all = context->model->allocations;
	struct sources sources = { .nr = 0 };
	unsigned nr = 0;

	for (uint32_t i = copy; i-- > 0 && nr < CALL_BLOCKS;) {
		char *path;
		int is_own;

		if (!vt_allocation_is_owned(&all[i]) || all[i].common->device != context->device ||
		    all[i].common->made->thread != all[copy].common->made->thread)
			continue;
		path = vt_module_path_module(context->facts, &all[i]);
		is_own = is_below(path, parent);
		free(path);
		if (!is_own)
			break;
		nr++;
		if (is_product(context, &all[i]))
			sources.products[sources.nr++] = asked_for(context, &all[i]);
	}
	return sources;
}

/* How many may be as large as `times` / `parts` of what was asked for with the copy. */
static unsigned count_as(const struct sources *sources, struct asked copy, uint64_t times,
			 uint64_t parts)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < sources->nr; i++)
		nr += sources->products[i].least * parts <= copy.most * times &&
		      sources->products[i].most * parts >= copy.least * times;
	return nr;
}

/*
 * How often what was copied is in a copy; 1: it is not repeated.  Keys and values come of two equal
 * products, each a part of the size of the queries', or of one that has all three.
 */
static uint64_t repeats_of(const struct sources *sources, struct asked copy)
{
	unsigned nr_queries = count_as(sources, copy, 1, 1);

	if (nr_queries > MOST_QUERIES)
		return 1;
	for (uint64_t repeats = 2; repeats <= MOST_REPEATS; repeats++)
		if (nr_queries ? count_as(sources, copy, 1, repeats) >= 2
			       : count_as(sources, copy, repeats + 2, repeats) == 1)
			return repeats;
	return 1;
}

static uint64_t find_repeats(struct vt_finding_context *context, uint32_t i)
{
	const struct vt_allocation *a = &context->model->allocations[i];
	struct sources sources;
	char *path;

	if (!vt_finding_context_has(context, i, VT_OWNERS_ATTENTION) || !is_copy(context, a))
		return 1;
	path = vt_module_path_module(context->facts, a);
	if (!path)
		return 1;
	sources = find_sources(context, i, path);
	free(path);
	return repeats_of(&sources, asked_for(context, a));
}

static void find_repeated_keys(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint32_t first = VT_NO_INDEX, blocks = 0;
	uint64_t most = 1;
	char one[VT_UNITS_MAX];

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		uint64_t repeats = find_repeats(context, i);

		if (repeats < 2)
			continue;
		vt_savings_add(&savings, a,
			       a->common->size_bytes - a->common->size_bytes / repeats);
		if (!vt_allocation_is_live(a, context->event))
			continue;
		first = first == VT_NO_INDEX ? i : first;
		most = repeats > most ? repeats : most;
		blocks++;
	}
	if (first == VT_NO_INDEX) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(one, sizeof(one), context->model->allocations[first].common->size_bytes);
	vt_finding_context_add(
		context, VT_FINDING_REPEATED_KEYS, &savings, first,
		vt_xasprintf("%u block%s like this one of %s, %llu times the original", blocks,
			     blocks == 1 ? "" : "s", one, (unsigned long long)most));
}

/* 0: of 8 bits or less, or not seen. */
static unsigned width_of(const struct vt_finding_context *context, uint32_t i)
{
	const uint32_t roles = 1u << VT_ROLE_CACHE | 1u << VT_ROLE_BUFFER |
			       1u << VT_ROLE_ATTRIBUTE | 1u << VT_ROLE_VARIABLE;
	const struct vt_tensor *tensor = vt_names_find(&context->facts->names, i, roles);

	return tensor ? vt_finding_context_width(context, tensor) : 0;
}

static void find_wide_cache(struct vt_finding_context *context)
{
	struct vt_savings savings = { 0 };
	uint32_t first = VT_NO_INDEX;
	uint64_t bytes = 0;
	char all[VT_UNITS_MAX];

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		unsigned width;

		if (!vt_finding_context_has(context, i, VT_OWNERS_KV_CACHE))
			continue;
		width = width_of(context, i);
		if (!width)
			continue;
		vt_savings_add(&savings, a, a->common->size_bytes / width * (width - 1));
		if (!vt_allocation_is_live(a, context->event))
			continue;
		bytes += a->common->size_bytes;
		first = first == VT_NO_INDEX ? i : first;
	}
	if ((double)bytes < CACHE_SHARE * (double)context->peak_bytes) {
		vt_vector_release(&savings);
		return;
	}
	vt_units_bytes(all, sizeof(all), bytes);
	vt_finding_context_add(context, VT_FINDING_WIDE_CACHE, &savings, first,
			       vt_xasprintf("%s at the peak", all));
}

void vt_find_keys_detect(struct vt_finding_context *context)
{
	find_repeated_keys(context);
	if (!context->is_training)
		find_wide_cache(context);
}
