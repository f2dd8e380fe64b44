/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/alignment.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/line_match.h"

/* A frame of one side. */
struct line {
	int64_t line; /* behind the first of its function */
	uint32_t function;
	uint32_t frame;
	uint32_t number; /* among the different lines of its side, from 1 */
	uint8_t side;
};

VT_VECTOR_DECLARE(lines, struct line);

struct native {
	const char *library;
	const char *symbol; /* NULL: not known */
	uint64_t offset;    /* where it is not */
	uint32_t frame;
	uint8_t side;
};

VT_VECTOR_DECLARE(natives, struct native);

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void gather_lines(struct lines *all, const struct vt_alignment *alignment,
			 const struct vt_describe *const *sides, int is_exact)
{
	for (uint8_t side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_frames *frames = &sides[side]->model->frames;

		for (uint32_t i = 0; i < frames->nr_python; i++) {
			struct line one = { .line = (int32_t)frames->python[i].line,
					    .function = alignment->functions[side][i],
					    .frame = i,
					    .side = side };

			if (!is_exact && one.line > 0)
				one.line -= vt_frames_code(frames, i)->first_line;
			vt_vector_push(all, one);
		}
	}
	if (all->len)
		qsort(all->items, all->len, sizeof(*all->items), compare_lines);
}

/* The different lines of one side of a function. */
struct distinct {
	struct vt_match_line *lines;
	uint32_t *numbers; /* of the place */
	uint32_t nr;
};

/* `sets`: by number of the line among all lines of its side. */
static void find_distinct(struct distinct *found, const struct line *lines, size_t nr,
			  const struct vt_clue_set *sets)
{
	found->lines = vt_xmalloc((nr + 1) * sizeof(*found->lines));
	found->numbers = vt_xmalloc((nr + 1) * sizeof(*found->numbers));
	found->nr = 0;
	for (size_t i = 0; i < nr; i++)
		if (!i || lines[i].line != lines[i - 1].line)
			found->lines[found->nr++] = (struct vt_match_line){
				lines[i].line, &sets[lines[i].number]
			};
}

static void pair_equal(const struct distinct *base, const struct distinct *new,
		       uint32_t *counterparts)
{
	for (uint32_t i = 0; i < base->nr; i++) {
		counterparts[i] = VT_LINE_MATCH_NONE;
		for (uint32_t k = 0; k < new->nr; k++)
			if (new->lines[k].line == base->lines[i].line)
				counterparts[i] = k;
	}
}

static void give(struct vt_alignment *alignment, const struct line *lines, size_t nr,
		 const struct distinct *distinct)
{
	uint32_t at = 0;

	for (size_t i = 0; i < nr; i++) {
		at += i && lines[i].line != lines[i - 1].line;
		alignment->lines[lines[i].side][lines[i].frame] = distinct->numbers[at];
	}
}

/* One function: `split` of its `nr` lines are of the base.  Returns the next free number. */
static uint32_t number_lines(struct vt_alignment *alignment, const struct line *lines,
			     size_t split, size_t nr, uint32_t next,
			     struct vt_clue_set *const *sets, int is_exact)
{
	struct distinct base, new;
	uint32_t *counterparts;

	find_distinct(&base, lines, split, sets[VT_DIFF_BASE]);
	find_distinct(&new, lines + split, nr - split, sets[VT_DIFF_NEW]);
	counterparts = vt_xmalloc((base.nr + 1) * sizeof(*counterparts));
	if (is_exact)
		pair_equal(&base, &new, counterparts);
	else
		vt_line_match_find(base.lines, base.nr, new.lines, new.nr, counterparts);
	for (uint32_t k = 0; k < new.nr; k++)
		new.numbers[k] = next++;
	for (uint32_t i = 0; i < base.nr; i++)
		base.numbers[i] = counterparts[i] == VT_LINE_MATCH_NONE ?
					  next++ :
					  new.numbers[counterparts[i]];
	give(alignment, lines, split, &base);
	give(alignment, lines + split, nr - split, &new);
	free(base.lines);
	free(base.numbers);
	free(new.lines);
	free(new.numbers);
	free(counterparts);
	return next;
}

/* Numbers the lines of each side and finds what went through each.  Returns how many there are. */
static uint32_t find_sets(struct lines *all, const struct vt_describe *describe,
			  const struct vt_clues *clues, uint8_t side, struct vt_clue_set **sets)
{
	uint32_t *of_frame = vt_xcalloc(describe->model->frames.nr_python + 1, sizeof(uint32_t));
	uint32_t *groups = vt_xmalloc((clues->len + 1) * sizeof(*groups)), nr = 0;

	for (size_t i = 0; i < all->len; i++) {
		struct line *line = &all->items[i];

		if (line->side != side)
			continue;
		nr += !i || compare_lines(line - 1, line) != 0;
		line->number = nr;
		of_frame[line->frame] = nr;
	}
	for (size_t i = 0; i < clues->len; i++)
		groups[i] = of_frame[clues->items[i].frame];
	*sets = vt_xcalloc((size_t)nr + 1, sizeof(**sets));
	vt_clue_sets_init(*sets, clues, groups);
	free(of_frame);
	free(groups);
	return nr + 1;
}

static void align_lines(struct vt_alignment *alignment, const struct vt_describe *const *sides,
			const struct vt_clues *const *clues, int is_exact)
{
	struct vt_clue_set *sets[VT_DIFF_SIDES];
	uint32_t next = 1, nr_sets[VT_DIFF_SIDES];
	struct lines all = { 0 };

	gather_lines(&all, alignment, sides, is_exact);
	for (uint8_t side = 0; side < VT_DIFF_SIDES; side++)
		nr_sets[side] = find_sets(&all, sides[side], clues[side], side, &sets[side]);
	for (size_t i = 0, split, end; i < all.len; i = end) {
		for (end = i; end < all.len && all.items[end].function == all.items[i].function;)
			end++;
		for (split = i; split < end && all.items[split].side == VT_DIFF_BASE;)
			split++;
		next = number_lines(alignment, &all.items[i], split - i, end - i, next, sets,
				    is_exact);
	}
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		for (uint32_t i = 0; i < nr_sets[side]; i++)
			vt_clue_set_release(&sets[side][i]);
		free(sets[side]);
	}
	vt_vector_release(&all);
}

static int compare_natives(const void *a, const void *b)
{
	const struct native *x = a, *y = b;
	int order = strcmp(x->library, y->library);

	if (!order && (!x->symbol || !y->symbol))
		order = (x->symbol != NULL) - (y->symbol != NULL);
	else if (!order)
		order = strcmp(x->symbol, y->symbol);
	if (order || x->symbol)
		return order;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void align_symbols(struct vt_alignment *alignment, const struct vt_describe *const *sides)
{
	struct natives all = { 0 };
	uint32_t number = 0;

	for (uint8_t side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_frames *frames = &sides[side]->model->frames;

		for (uint32_t i = 0; i < frames->nr_native; i++) {
			struct native one = { .library = vt_frames_library(frames, i),
					      .symbol = frames->native[i].symbol,
					      .offset = frames->native[i].offset,
					      .frame = i,
					      .side = side };

			vt_vector_push(&all, one);
		}
	}
	if (all.len)
		qsort(all.items, all.len, sizeof(*all.items), compare_natives);
	for (size_t i = 0; i < all.len; i++) {
		number += !i || compare_natives(&all.items[i - 1], &all.items[i]) != 0;
		alignment->symbols[all.items[i].side][all.items[i].frame] = number;
	}
	vt_vector_release(&all);
}

static uint32_t *numbers(uint32_t nr)
{
	return vt_xcalloc((size_t)nr + 1, sizeof(uint32_t));
}

void vt_alignment_init(struct vt_alignment *alignment, const struct vt_describe *const *sides,
		       const struct vt_clues *const *clues, int is_exact)
{
	vt_functions_init(&alignment->all, sides, clues, is_exact);
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_frames *frames = &sides[side]->model->frames;

		alignment->lines[side] = numbers(frames->nr_python);
		alignment->functions[side] = numbers(frames->nr_python);
		alignment->symbols[side] = numbers(frames->nr_native);
		for (uint32_t i = 0; i < frames->nr_python; i++)
			if (frames->python[i].code < frames->nr_codes)
				alignment->functions[side][i] =
					alignment->all.of_code[side][frames->python[i].code];
	}
	align_lines(alignment, sides, clues, is_exact);
	align_symbols(alignment, sides);
}

void vt_alignment_release(struct vt_alignment *alignment)
{
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		free(alignment->lines[side]);
		free(alignment->functions[side]);
		free(alignment->symbols[side]);
	}
	vt_functions_release(&alignment->all);
	memset(alignment, 0, sizeof(*alignment));
}
