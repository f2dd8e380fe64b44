/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/changes.h"

#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

#define WORD(name, text) text,
static const char *const words[VT_NR_CHANGES_BY] = { VT_CHANGES_BY(WORD) };
#undef WORD

/* The live bytes of one place of one side. */
struct entry {
	uint64_t place;
	uint64_t functions; /* the place without its lines */
	const struct vt_changes_block *block;
	uint8_t side;
	uint8_t is_taken;
};

VT_VECTOR_DECLARE(entries, struct entry);
VT_VECTOR_DECLARE(change_list, struct vt_change);

int vt_changes_parse(const char *word, enum vt_changes_by *by)
{
	for (int i = 0; i < VT_NR_CHANGES_BY; i++)
		if (strcmp(word, words[i]) == 0) {
			*by = (enum vt_changes_by)i;
			return 0;
		}
	return -1;
}

const char *vt_changes_word(enum vt_changes_by by)
{
	return words[by];
}

/* new - base */
static int64_t delta_of(const struct vt_change *change)
{
	return (int64_t)(change->bytes[VT_DIFF_NEW] - change->bytes[VT_DIFF_BASE]);
}

/* Tells the backward of a line from the line, and native stacks from both. */
enum { OF_FORWARD = 1, OF_BACKWARD, OF_NATIVE };

static void find_place(struct entry *entry, const struct vt_changes_side *side,
		       const struct vt_alignment *alignment, const struct vt_allocation *a)
{
	const struct vt_model *model = &side->analysis->model;
	uint32_t ids[VT_FRAMES_MAX], stack = vt_producer_stack(model, a);
	unsigned nr = vt_describe_visible(side->describe, stack, ids);

	entry->place = entry->functions =
		vt_hash_mix(nr, stack == a->made->python_stack ? OF_FORWARD : OF_BACKWARD);
	for (unsigned i = 0; i < nr; i++) {
		entry->place = vt_hash_mix(entry->place, alignment->lines[entry->side][ids[i]]);
		entry->functions =
			vt_hash_mix(entry->functions, alignment->functions[entry->side][ids[i]]);
	}
	if (nr)
		return;
	nr = vt_frames_native(&model->frames, a->made->native_stack, ids);
	entry->place = vt_hash_mix(nr, OF_NATIVE);
	for (unsigned i = 0; i < nr; i++)
		entry->place = vt_hash_mix(entry->place, alignment->symbols[entry->side][ids[i]]);
	entry->functions = entry->place;
}

static char *module_of(const struct vt_changes_side *side, const struct vt_allocation *a)
{
	char *path = vt_module_path_module(&side->analysis->facts, a), *folded = NULL;

	if (path)
		folded = vt_module_path_fold(path);
	free(path);
	return folded;
}

static char *file_of(const struct vt_changes_side *side, const struct vt_allocation *a)
{
	const struct vt_model *model = &side->analysis->model;
	uint32_t ids[VT_FRAMES_MAX];
	const struct vt_code *code;

	if (!vt_describe_visible(side->describe, vt_producer_stack(model, a), ids))
		return NULL;
	code = vt_frames_code(&model->frames, ids[0]);
	return code->file ? vt_xstrdup(vt_describe_file(side->describe, code->file)) : NULL;
}

void vt_changes_gather(struct vt_changes_live *live, const struct vt_changes_side *side,
		       enum vt_changes_by by)
{
	const struct vt_model *model = &side->analysis->model;
	struct vt_attribution *attribution = &side->analysis->attribution;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct vt_changes_block one = { .bytes = a->size_bytes, .allocation = i };

		if (a->device != side->device || !vt_allocation_is_live(a, side->event) ||
		    !vt_allocation_is_owned(a))
			continue;
		one.owner = vt_attribution_owner(attribution,
						 vt_attribution_judge(attribution, i).owner);
		if (by == VT_CHANGES_BY_MODULE)
			one.name = module_of(side, a);
		else if (by == VT_CHANGES_BY_FILE)
			one.name = file_of(side, a);
		else if (by == VT_CHANGES_BY_OWNER)
			one.name = vt_xstrdup(one.owner);
		vt_vector_push(live, one);
	}
}

void vt_changes_live_release(struct vt_changes_live *live)
{
	for (size_t i = 0; i < live->len; i++)
		free(live->items[i].name);
	vt_vector_release(live);
}

static void add_side(struct entries *all, const struct vt_changes_side *side,
		     const struct vt_changes_live *live, uint8_t number,
		     const struct vt_alignment *alignment, enum vt_changes_by by)
{
	for (size_t i = 0; i < live->len; i++) {
		struct entry one = { .block = &live->items[i], .side = number };

		if (by == VT_CHANGES_BY_STACK)
			find_place(&one, side, alignment,
				   &side->analysis->model.allocations[one.block->allocation]);
		vt_vector_push(all, one);
	}
}

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* What must be equal for two entries to be one row; from the strictest on. */
static int compare_places_and_owners(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_numbers(x->place, y->place);

	if (!order)
		order = compare_texts(x->block->name, y->block->name);
	return order ? order : compare_texts(x->block->owner, y->block->owner);
}

static int compare_places(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_numbers(x->place, y->place);

	return order ? order : compare_texts(x->block->name, y->block->name);
}

static int compare_functions_and_owners(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_numbers(x->functions, y->functions);

	return order ? order : compare_texts(x->block->owner, y->block->owner);
}

static int compare_functions(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return compare_numbers(x->functions, y->functions);
}

typedef int (*compare_fn)(const void *a, const void *b);

static void add_to_change(struct vt_change *change, struct entry *entry)
{
	const struct vt_changes_block *block = entry->block;
	uint8_t side = entry->side;

	change->bytes[side] += block->bytes;
	change->blocks[side]++;
	if (!change->owner[side] || block->bytes > change->largest[side] ||
	    (block->bytes == change->largest[side] &&
	     block->allocation < change->allocation[side])) {
		change->owner[side] = block->owner;
		change->allocation[side] = block->allocation;
		change->largest[side] = block->bytes;
	}
	if (block->name && !change->name)
		change->name = vt_xstrdup(block->name);
	entry->is_taken = 1;
}

/* Entries that are equal in that sense become one row; with `is_pairing` only across the sides. */
static void join(struct entries *all, struct change_list *changes, compare_fn compare,
		 int is_pairing)
{
	if (all->len)
		qsort(all->items, all->len, sizeof(*all->items), compare);
	for (size_t i = 0, end; i < all->len; i = end) {
		struct vt_change change = { .allocation = { VT_NO_INDEX, VT_NO_INDEX } };
		int is_there[VT_DIFF_SIDES] = { 0 };

		for (end = i; end < all->len && !compare(&all->items[i], &all->items[end]); end++)
			if (!all->items[end].is_taken)
				is_there[all->items[end].side] = 1;
		if (is_pairing ? !is_there[0] || !is_there[1] : !is_there[0] && !is_there[1])
			continue;
		for (size_t k = i; k < end; k++)
			if (!all->items[k].is_taken)
				add_to_change(&change, &all->items[k]);
		vt_vector_push(changes, change);
	}
}

static uint64_t magnitude(const struct vt_change *change)
{
	int64_t delta = delta_of(change);

	return delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
}

/* Equal ones: as they were made. */
static int compare_changes(const void *a, const void *b)
{
	const struct vt_change *x = a, *y = b;
	int order = compare_numbers(magnitude(y), magnitude(x));

	if (!order)
		order = compare_numbers(x->allocation[VT_DIFF_NEW], y->allocation[VT_DIFF_NEW]);
	if (!order)
		order = compare_numbers(x->allocation[VT_DIFF_BASE], y->allocation[VT_DIFF_BASE]);
	return order;
}

/* Rows of equal bytes are counted only. */
static void keep_differences(struct vt_changes *changes, struct change_list *all)
{
	uint32_t kept = 0;

	for (size_t i = 0; i < all->len; i++) {
		if (delta_of(&all->items[i]))
			all->items[kept++] = all->items[i];
		else
			free(all->items[i].name);
	}
	changes->nr_equal = (uint32_t)all->len - kept;
	changes->items = all->items;
	changes->nr = kept;
	if (kept)
		qsort(changes->items, kept, sizeof(*changes->items), compare_changes);
}

void vt_changes_init(struct vt_changes *changes, const struct vt_changes_side *sides,
		     const struct vt_changes_live *const *live,
		     const struct vt_alignment *alignment, enum vt_changes_by by, int is_exact)
{
	struct entries all = { 0 };
	struct change_list found = { 0 };

	memset(changes, 0, sizeof(*changes));
	changes->by = by;
	for (uint8_t side = 0; side < VT_DIFF_SIDES; side++)
		add_side(&all, &sides[side], live[side], side, alignment, by);
	if (by == VT_CHANGES_BY_STACK) {
		join(&all, &found, compare_places_and_owners, 1);
		join(&all, &found, compare_places, 1);
	}
	if (by == VT_CHANGES_BY_STACK && !is_exact) {
		join(&all, &found, compare_functions_and_owners, 1);
		join(&all, &found, compare_functions, 1);
	}
	join(&all, &found, by == VT_CHANGES_BY_STACK ? compare_places_and_owners : compare_places,
	     0);
	keep_differences(changes, &found);
	vt_vector_release(&all);
}

void vt_changes_release(struct vt_changes *changes)
{
	for (uint32_t i = 0; i < changes->nr; i++)
		free(changes->items[i].name);
	free(changes->items);
	memset(changes, 0, sizeof(*changes));
}
