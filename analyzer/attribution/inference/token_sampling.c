/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/token_sampling.h"

#include <string.h>

#include "analyzer/base/util.h"

/* Scores are in half or single precision, and their copies in the other. */
#define WIDEST_RATIO 2

/* What an operator is for; the same for all blocks of one native stack. */
enum part { PART_UNSEEN, PART_NONE, PART_CHOICE, PART_PRODUCT };

struct search {
	struct vt_token_sampling *choices;
	const struct vt_model *model;
	const struct vt_rules *rules;
	struct vt_operators *operators;
	uint8_t *parts;   /* by native stack: enum part */
	uint64_t most;    /* bytes of the largest product since the last choice */
	uint32_t product; /* the last one; VT_NO_INDEX: none yet */
};

/* How much of a product's result is a row: a choice may be among the last token's scores only. */
static int is_as_long(uint64_t scores, uint64_t size_bytes)
{
	return size_bytes == scores || size_bytes == scores * WIDEST_RATIO ||
	       size_bytes * WIDEST_RATIO == scores;
}

static void choose(struct search *search, uint32_t choice)
{
	const struct vt_allocation *all = search->model->allocations;
	uint32_t product = search->product;

	search->product = VT_NO_INDEX;
	if (product == VT_NO_INDEX || all[product].common->size_bytes < search->most) {
		search->most = 0;
		return;
	}
	search->most = 0;
	search->choices->nr++;
	for (uint32_t i = product; i < choice; i++)
		if (vt_allocation_is_owned(&all[i]) &&
		    all[i].common->made->thread == all[product].common->made->thread &&
		    is_as_long(all[product].common->size_bytes, all[i].common->size_bytes))
			search->choices->is_score[i] = 1;
}

static enum part find_part(const struct search *search, uint32_t native_stack)
{
	const char *name = vt_operators_name(search->operators, native_stack);

	if (name && vt_globs_match(&search->rules->choice, name))
		return PART_CHOICE;
	return name && vt_globs_match(&search->rules->product.op, name) ? PART_PRODUCT : PART_NONE;
}

static enum part part_of(struct search *search, uint32_t native_stack)
{
	if (native_stack >= search->model->frames.native_tree.nr_stacks)
		return PART_NONE;
	if (search->parts[native_stack] == PART_UNSEEN)
		search->parts[native_stack] = (uint8_t)find_part(search, native_stack);
	return (enum part)search->parts[native_stack];
}

static void see(struct search *search, uint32_t index)
{
	const struct vt_allocation *a = &search->model->allocations[index];
	enum part part = PART_NONE;

	if (vt_allocation_is_owned(a))
		part = part_of(search, a->common->made->native_stack);
	if (part == PART_CHOICE) {
		choose(search, index);
	} else if (part == PART_PRODUCT) {
		search->product = index;
		if (a->common->size_bytes > search->most)
			search->most = a->common->size_bytes;
	}
}

void vt_token_sampling_init(struct vt_token_sampling *choices, const struct vt_stages *stages,
		     const struct vt_rules *rules, struct vt_operators *operators)
{
	struct search search = { .choices = choices,
				 .model = stages->timeline->model,
				 .rules = rules,
				 .operators = operators,
				 .product = VT_NO_INDEX };

	choices->nr = 0;
	choices->is_score = vt_xcalloc((size_t)search.model->nr_allocations + 1, 1);
	if (stages->evidence.has_forward || stages->evidence.has_autograd)
		return;
	search.parts = vt_xcalloc((size_t)search.model->frames.native_tree.nr_stacks + 1, 1);
	for (uint32_t i = 0; i < search.model->nr_allocations; i++)
		see(&search, i);
	free(search.parts);
}

void vt_token_sampling_release(struct vt_token_sampling *choices)
{
	free(choices->is_score);
	memset(choices, 0, sizeof(*choices));
}
