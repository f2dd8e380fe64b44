/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/alignment.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/files.h"
#include "analyzer/diff/line_shifts.h"

/* A code object of one side. */
struct code {
	const char *name;
	uint32_t file;
	uint32_t first_line;
	uint32_t id;
	uint32_t function; /* its number */
	uint8_t side;
};

VT_VECTOR_DECLARE(codes, struct code);

/* A frame of one side. */
struct line {
	int64_t line; /* behind the first of its function */
	uint32_t function;
	uint32_t frame;
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

static int compare_codes(const void *a, const void *b)
{
	const struct code *x = a, *y = b;
	int order;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = (int)x->side - (int)y->side;
	if (order)
		return order;
	if (x->first_line != y->first_line)
		return x->first_line < y->first_line ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/*
 * Functions of one name in one file (lambdas, methods before Python 3.11): the k-th of the base is
 * the k-th of the new one.
 */
static void number_functions(struct codes *all)
{
	uint32_t next = 0, most = 0, rank = 0;

	for (size_t i = 0; i < all->len; i++) {
		struct code *code = &all->items[i], *last = i ? code - 1 : NULL;

		if (!last || last->file != code->file || strcmp(last->name, code->name) != 0) {
			next += most;
			most = rank = 1;
		} else if (last->side != code->side) {
			rank = 1;
		} else if (last->first_line != code->first_line) {
			rank++;
		}
		most = rank > most ? rank : most;
		code->function = next + rank;
	}
}

static void gather_codes(struct codes *all, const struct vt_describe *const *sides,
			 const struct vt_files *files)
{
	for (uint8_t side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_frames *frames = &sides[side]->model->frames;

		for (uint32_t i = 0; i < frames->nr_codes; i++) {
			struct code one = { .name = frames->codes[i].name,
					    .file = files->of_code[side][i],
					    .first_line = frames->codes[i].first_line,
					    .id = i,
					    .side = side };

			if (one.name && one.file)
				vt_vector_push(all, one);
		}
	}
	if (all->len)
		qsort(all->items, all->len, sizeof(*all->items), compare_codes);
}

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

/* The different lines of one side of a function, and where each begins in the list. */
struct distinct {
	int64_t *lines;
	uint32_t *numbers; /* of the place */
	uint32_t nr;
};

static void find_distinct(struct distinct *found, const struct line *lines, size_t nr)
{
	found->lines = vt_xmalloc((nr + 1) * sizeof(*found->lines));
	found->numbers = vt_xmalloc((nr + 1) * sizeof(*found->numbers));
	found->nr = 0;
	for (size_t i = 0; i < nr; i++)
		if (!i || lines[i].line != lines[i - 1].line)
			found->lines[found->nr++] = lines[i].line;
}

static void pair_equal(const struct distinct *base, const struct distinct *new,
		       uint32_t *counterparts)
{
	for (uint32_t i = 0; i < base->nr; i++) {
		counterparts[i] = VT_LINE_SHIFTS_NONE;
		for (uint32_t k = 0; k < new->nr; k++)
			if (new->lines[k] == base->lines[i])
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
			     size_t split, size_t nr, uint32_t next, int is_exact)
{
	struct distinct base, new;
	uint32_t *counterparts;

	find_distinct(&base, lines, split);
	find_distinct(&new, lines + split, nr - split);
	counterparts = vt_xmalloc((base.nr + 1) * sizeof(*counterparts));
	if (is_exact)
		pair_equal(&base, &new, counterparts);
	else
		vt_line_shifts_find(base.lines, base.nr, new.lines, new.nr, counterparts);
	for (uint32_t k = 0; k < new.nr; k++)
		new.numbers[k] = next++;
	for (uint32_t i = 0; i < base.nr; i++)
		base.numbers[i] = counterparts[i] == VT_LINE_SHIFTS_NONE ?
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

static void align_lines(struct vt_alignment *alignment, const struct vt_describe *const *sides,
			int is_exact)
{
	struct lines all = { 0 };
	uint32_t next = 1;

	gather_lines(&all, alignment, sides, is_exact);
	for (size_t i = 0, split, end; i < all.len; i = end) {
		for (end = i; end < all.len && all.items[end].function == all.items[i].function;)
			end++;
		for (split = i; split < end && all.items[split].side == VT_DIFF_BASE;)
			split++;
		next = number_lines(alignment, &all.items[i], split - i, end - i, next, is_exact);
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
		       int is_exact)
{
	struct vt_files files;
	struct codes codes = { 0 };
	uint32_t *of_code[VT_DIFF_SIDES];

	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_frames *frames = &sides[side]->model->frames;

		alignment->lines[side] = numbers(frames->nr_python);
		alignment->functions[side] = numbers(frames->nr_python);
		alignment->symbols[side] = numbers(frames->nr_native);
		of_code[side] = numbers(frames->nr_codes);
	}
	vt_files_init(&files, sides, is_exact);
	gather_codes(&codes, sides, &files);
	number_functions(&codes);
	for (size_t i = 0; i < codes.len; i++)
		of_code[codes.items[i].side][codes.items[i].id] = codes.items[i].function;
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_frames *frames = &sides[side]->model->frames;

		for (uint32_t i = 0; i < frames->nr_python; i++)
			if (frames->python[i].code < frames->nr_codes)
				alignment->functions[side][i] =
					of_code[side][frames->python[i].code];
		free(of_code[side]);
	}
	align_lines(alignment, sides, is_exact);
	align_symbols(alignment, sides);
	vt_vector_release(&codes);
	vt_files_release(&files);
}

void vt_alignment_release(struct vt_alignment *alignment)
{
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		free(alignment->lines[side]);
		free(alignment->functions[side]);
		free(alignment->symbols[side]);
	}
	memset(alignment, 0, sizeof(*alignment));
}
