/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/places.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

/* A block, and the stack that its place is. */
struct clue_block {
	uint32_t stack;
	uint64_t kind;
	const struct vt_changes_block *block;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Tells the backward of a line from the line, and native stacks from both. */
enum { OF_FORWARD = 1, OF_BACKWARD, OF_NATIVE };

static void find_place(struct vt_places *places, struct vt_entry *entry,
		       const struct vt_allocation *a)
{
	const struct vt_changes_side *side = &places->sides[entry->side];
	const struct vt_model *model = &side->analysis->model;
	uint32_t ids[VT_FRAMES_MAX], stack = vt_producer_stack(model, a);
	unsigned nr = vt_describe_visible(side->describe, stack, ids);
	int way = stack == a->common->made->python_stack ? OF_FORWARD : OF_BACKWARD;

	entry->place = entry->functions = vt_hash_mix(nr, (uint64_t)way);
	for (unsigned i = 0; i < nr; i++) {
		uint32_t line = places->alignment.lines[entry->side][ids[i]];
		uint32_t function = places->alignment.functions[entry->side][ids[i]];

		entry->place = vt_hash_mix(entry->place, line);
		entry->functions = vt_hash_mix(entry->functions, function);
	}
	if (nr) {
		entry->line = places->alignment.lines[entry->side][ids[0]];
		return;
	}
	nr = vt_frames_native(&model->frames, a->common->made->native_stack, ids);
	entry->place = vt_hash_mix(nr, OF_NATIVE);
	for (unsigned i = 0; i < nr; i++)
		entry->place =
			vt_hash_mix(entry->place, places->alignment.symbols[entry->side][ids[i]]);
	entry->functions = entry->place;
}

/* That this frame's function has blocks in the side's run. */
static void mark_functions(struct vt_places *places, uint8_t side, const struct vt_allocation *a,
			   uint8_t *is_there)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(
		places->sides[side].describe,
		vt_producer_stack(&places->sides[side].analysis->model, a), ids);

	for (unsigned i = 0; i < nr; i++)
		is_there[places->alignment.functions[side][ids[i]]] |= (uint8_t)(1 << side);
}

static int is_foreign(struct vt_places *places, uint8_t side, const struct vt_allocation *a,
		      const uint8_t *is_there)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(
		places->sides[side].describe,
		vt_producer_stack(&places->sides[side].analysis->model, a), ids);

	for (unsigned i = 0; i < nr; i++)
		if (is_there[places->alignment.functions[side][ids[i]]] != 3)
			return 1;
	return 0;
}

static const struct vt_allocation *allocation_of(const struct vt_places *places,
						 const struct vt_entry *entry)
{
	return &places->sides[entry->side].analysis->model.allocations[entry->block->allocation];
}

static uint64_t hash_owner(const struct vt_changes_block *block)
{
	return vt_hash_text(block->owner, strlen(block->owner));
}

static uint64_t kind_of(const struct vt_changes_block *block)
{
	return vt_hash_mix(vt_hash_mix(block->operator, block->module), hash_owner(block));
}

static void find_places(struct vt_places *places)
{
	uint8_t *is_there = vt_xcalloc((size_t)places->alignment.all.nr + 1, sizeof(*is_there));

	for (size_t i = 0; i < places->entries.len; i++) {
		struct vt_entry *entry = &places->entries.items[i];

		find_place(places, entry, allocation_of(places, entry));
		mark_functions(places, entry->side, allocation_of(places, entry), is_there);
	}
	for (size_t i = 0; i < places->entries.len; i++) {
		struct vt_entry *entry = &places->entries.items[i];

		entry->is_foreign = (uint8_t)is_foreign(places, entry->side,
							allocation_of(places, entry), is_there);
	}
	free(is_there);
}

void vt_places_init_nowhere(struct vt_places *places)
{
	for (uint8_t side = 0; side < VT_DIFF_SIDES; side++)
		for (size_t i = 0; i < places->live[side]->len; i++) {
			const struct vt_changes_block *block = &places->live[side]->items[i];
			struct vt_entry one = { .kind = kind_of(block),
						.part = vt_hash_mix(block->module,
								    hash_owner(block)),
						.bytes = block->asked_bytes,
						.order = block->allocation,
						.side = side,
						.has_module = block->module != 0,
						.block = block };

			vt_vector_push(&places->entries, one);
		}
}

/* Equal blocks of one stack say the same. */
static int compare_clue_blocks(const void *a, const void *b)
{
	const struct clue_block *x = a, *y = b;
	int order = compare_numbers(x->stack, y->stack);

	if (!order)
		order = compare_numbers(x->kind, y->kind);
	return order ? order : compare_numbers(x->block->asked_bytes, y->block->asked_bytes);
}

static void add_clues(struct vt_clues *clues, const struct vt_changes_side *side,
		      const struct clue_block *from)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(side->describe, from->stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		struct vt_clue clue = { .of = { vt_hash_mix(from->kind, from->block->asked_bytes),
						from->kind,
						vt_hash_mix(from->block->operator,
							    from->block->module),
						hash_owner(from->block) },
					.frame = ids[i] };

		vt_vector_push(clues, clue);
	}
}

static void gather_clues(struct vt_clues *clues, const struct vt_changes_side *side,
			 const struct vt_changes_live *live)
{
	struct clue_block *blocks = vt_xmalloc((live->len + 1) * sizeof(*blocks));
	const struct vt_model *model = &side->analysis->model;

	for (size_t i = 0; i < live->len; i++) {
		const struct vt_changes_block *block = &live->items[i];
		const struct vt_allocation *a = &model->allocations[block->allocation];

		blocks[i] =
			(struct clue_block){ vt_producer_stack(model, a), kind_of(block), block };
	}
	if (live->len)
		qsort(blocks, live->len, sizeof(*blocks), compare_clue_blocks);
	for (size_t i = 0; i < live->len; i++)
		if (!i || compare_clue_blocks(&blocks[i - 1], &blocks[i]) != 0)
			add_clues(clues, side, &blocks[i]);
	free(blocks);
}

void vt_places_init(struct vt_places *places, int is_exact)
{
	const struct vt_describe *sides[] = { places->sides[VT_DIFF_BASE].describe,
					      places->sides[VT_DIFF_NEW].describe };
	struct vt_clues clues[VT_DIFF_SIDES] = { { 0 }, { 0 } };
	const struct vt_clues *const both[] = { &clues[0], &clues[1] };

	vt_places_init_nowhere(places);
	for (int side = 0; side < VT_DIFF_SIDES && !is_exact; side++)
		gather_clues(&clues[side], &places->sides[side], places->live[side]);
	vt_alignment_init(&places->alignment, sides, both, is_exact);
	find_places(places);
	if (!is_exact)
		vt_relocation_find(places->entries.items, places->entries.len);
	vt_vector_release(&clues[0]);
	vt_vector_release(&clues[1]);
}

void vt_places_release(struct vt_places *places)
{
	vt_alignment_release(&places->alignment);
	vt_vector_release(&places->entries);
}
