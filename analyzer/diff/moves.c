/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/moves.h"

#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

static struct vt_change_move *find(struct vt_moves *moves, char *from, char *to)
{
	uint32_t i = 0;

	while (i < moves->nr && (strcmp(moves->items[i].from, from) != 0 ||
					 strcmp(moves->items[i].to, to) != 0))
		i++;
	if (i == moves->nr) {
		moves->items =
			vt_xrealloc(moves->items, (i + 1) * sizeof(*moves->items));
		moves->items[moves->nr++] = (struct vt_change_move){ from, to, 0, 0 };
	} else {
		free(from);
		free(to);
	}
	return &moves->items[i];
}

static char *name_of(const struct vt_describe *describe, uint32_t code)
{
	const struct vt_code *of = &describe->model->frames.codes[code];

	return vt_xasprintf("%s %s", vt_describe_file(describe, of->file), of->name);
}

/* The number of the function is in the block's stack. */
static int goes_through(const struct vt_places *places, const struct vt_entry *entry,
			uint32_t function)
{
	const struct vt_changes_side *side = &places->sides[entry->side];
	const struct vt_model *model = &side->analysis->model;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(
		side->describe,
		vt_producer_stack(model, &model->allocations[entry->block->allocation]), ids);

	for (unsigned i = 0; i < nr; i++)
		if (places->alignment.functions[entry->side][ids[i]] == function)
			return 1;
	return 0;
}

static void add_function(struct vt_moves *moves, const struct vt_places *places,
			 const uint32_t *codes)
{
	struct vt_change_move *move = find(moves, name_of(places->sides[0].describe, codes[0]),
					   name_of(places->sides[1].describe, codes[1]));
	uint32_t function = places->alignment.all.of_code[VT_DIFF_NEW][codes[1]];

	for (size_t i = 0; i < places->entries.len; i++)
		if (places->entries.items[i].side == VT_DIFF_NEW &&
		    goes_through(places, &places->entries.items[i], function)) {
			move->bytes += places->entries.items[i].block->bytes;
			move->blocks++;
		}
}

/* The frames of a block's stack that are to be seen, innermost first. */
struct chain {
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr;
};

static void read_chain(struct chain *chain, const struct vt_changes_side *side,
		       const struct vt_changes_block *block)
{
	const struct vt_model *model = &side->analysis->model;

	chain->nr = vt_describe_visible(
		side->describe, vt_producer_stack(model, &model->allocations[block->allocation]),
		chain->ids);
}

static const struct vt_code *code_of(const struct vt_changes_side *side, uint32_t frame)
{
	return vt_frames_code(&side->describe->model->frames, frame);
}

/* Within a function, as what a decorator puts around another one: it only calls. */
static int is_wrapper(const struct vt_changes_side *side, uint32_t frame)
{
	const char *name = code_of(side, frame)->name;

	return name && strstr(name, ".<locals>.") != NULL;
}

/*
 * Where two stacks part, from the inside: the block is made by another function now, or one has
 * come or gone that makes a call in the place of its caller.  Returns 0 where no code moved.
 */
static int find_parting(const struct vt_places *places, const struct chain *base,
			const struct chain *new, uint32_t *from, uint32_t *to)
{
	unsigned i = 0;

	while (i < base->nr && i < new->nr &&
	       places->alignment.functions[0][base->ids[i]] ==
		       places->alignment.functions[1][new->ids[i]])
		i++;
	if (i == base->nr || i == new->nr)
		return 0;
	*from = base->ids[i];
	*to = new->ids[i];
	return !i ||
	       (!is_wrapper(&places->sides[0], *from) && !is_wrapper(&places->sides[1], *to));
}

static void add_block(struct vt_moves *moves, const struct vt_places *places,
		      const struct vt_entry *entry)
{
	const struct vt_changes_side *base = &places->sides[0], *new = &places->sides[1];
	struct vt_change_move *move;
	struct chain before, after;
	uint32_t from, to;

	read_chain(&before, base, entry->block);
	read_chain(&after, new, entry->moved_with);
	if (!find_parting(places, &before, &after, &from, &to))
		return;
	move = find(moves, name_of(base->describe, base->analysis->model.frames.python[from].code),
		    name_of(new->describe, new->analysis->model.frames.python[to].code));
	move->bytes += entry->block->bytes;
	move->blocks++;
}

static int compare(const void *a, const void *b)
{
	const struct vt_change_move *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->from, y->from);
}

void vt_moves_init(struct vt_moves *moves, const struct vt_places *places)
{
	const struct vt_function_moves *functions = &places->alignment.all.moves;

	for (size_t i = 0; i < functions->len; i++)
		add_function(moves, places, functions->items[i].codes);
	for (size_t i = 0; i < places->entries.len; i++)
		if (places->entries.items[i].is_moved)
			add_block(moves, places, &places->entries.items[i]);
	if (moves->nr)
		qsort(moves->items, moves->nr, sizeof(*moves->items), compare);
}

void vt_moves_release(struct vt_moves *moves)
{
	for (uint32_t i = 0; i < moves->nr; i++) {
		free(moves->items[i].from);
		free(moves->items[i].to);
	}
	free(moves->items);
}
