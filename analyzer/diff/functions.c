/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/functions.h"

#include <string.h>

#include "analyzer/diff/files.h"

/* Of the blocks through two functions: then they may be one. */
#define LEAST_LIKENESS 0.5
/* Pairs of functions that are weighed; a program that was written anew has no counterparts. */
#define MOST_PAIRS 10000u

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
static uint32_t number_functions(struct codes *all)
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
	return next + most + 1;
}

static void gather(struct codes *all, const struct vt_describe *const *sides,
		   const struct vt_files *files)
{
	for (uint8_t side = 0; side < 2; side++) {
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

/* A function that only one of the recordings has. */
struct lone {
	const struct code *code;
	struct vt_clue_set clues;
	int is_paired;
};

VT_VECTOR_DECLARE(lones, struct lone);

/* Functions that only one side has, with what went through them; not those without blocks. */
static void find_lones(struct lones *found, const struct vt_functions *functions,
		       const struct codes *all, const struct vt_describe *describe,
		       const struct vt_clues *clues, uint8_t side, const uint8_t *is_in,
		       uint32_t nr_functions)
{
	struct vt_clue_set *sets = vt_xcalloc(nr_functions, sizeof(*sets));
	uint32_t *groups = vt_xmalloc((clues->len + 1) * sizeof(*groups));

	for (size_t i = 0; i < clues->len; i++) {
		uint32_t code = describe->model->frames.python[clues->items[i].frame].code;

		groups[i] = code < describe->model->frames.nr_codes ?
				    functions->of_code[side][code] :
				    VT_CLUE_NO_GROUP;
	}
	vt_clue_sets_init(sets, clues, groups);
	for (size_t i = 0; i < all->len; i++) {
		const struct code *code = &all->items[i];
		struct lone one = { code, sets[code->function], 0 };

		if (code->side != side || is_in[code->function] == 3 || !one.clues.all)
			continue;
		vt_vector_push(found, one);
		/* Another code of the function has nothing more to say. */
		memset(&sets[code->function], 0, sizeof(*sets));
	}
	for (uint32_t i = 0; i < nr_functions; i++)
		vt_clue_set_release(&sets[i]);
	free(sets);
	free(groups);
}

static const char *short_name(const struct code *code)
{
	const char *dot = strrchr(code->name, '.');

	return dot ? dot + 1 : code->name;
}

static double likeness(const struct lone *a, const struct lone *b)
{
	double like = vt_clue_set_likeness(&a->clues, &b->clues, VT_CLUE_LOOSE);

	if (like < LEAST_LIKENESS)
		return 0.0;
	like += vt_clue_set_likeness(&a->clues, &b->clues, VT_CLUE_EXACT);
	return like + !strcmp(short_name(a->code), short_name(b->code)) +
	       0.5 * (a->code->file == b->code->file);
}

static void add_move(struct vt_functions *functions, struct lone *base, struct lone *new)
{
	struct vt_function_move move = { { base->code->id, new->code->id } };

	base->is_paired = new->is_paired = 1;
	vt_vector_push(&functions->moves, move);
}

/* The most alike first. */
static void pair(struct vt_functions *functions, struct lones *base, struct lones *new)
{
	size_t nr = base->len * new->len, best;
	double *like = vt_xcalloc(nr + 1, sizeof(*like));

	for (size_t i = 0; i < nr && nr <= MOST_PAIRS; i++)
		like[i] = likeness(&base->items[i / new->len], &new->items[i % new->len]);
	do {
		best = nr; /* where like[] is 0 */
		for (size_t i = 0; i < nr; i++)
			if (like[i] > like[best] && !base->items[i / new->len].is_paired &&
			    !new->items[i % new->len].is_paired)
				best = i;
		if (best < nr)
			add_move(functions, &base->items[best / new->len],
				 &new->items[best % new->len]);
	} while (best < nr);
	free(like);
}

/* All codes of a function that was found again get the number that it has in the base. */
static void renumber(struct vt_functions *functions, uint32_t nr_new_codes)
{
	for (size_t i = 0; i < functions->moves.len; i++) {
		const uint32_t *codes = functions->moves.items[i].codes;
		uint32_t old = functions->of_code[1][codes[1]];

		for (uint32_t k = 0; k < nr_new_codes; k++)
			if (functions->of_code[1][k] == old)
				functions->of_code[1][k] = functions->of_code[0][codes[0]];
	}
}

static void find_moves(struct vt_functions *functions, const struct codes *all,
		       const struct vt_describe *const *sides, const struct vt_clues *const *clues,
		       uint32_t nr_functions)
{
	struct lones lones[2] = { { 0 }, { 0 } };
	uint8_t *is_in = vt_xcalloc(nr_functions, sizeof(*is_in));

	for (size_t i = 0; i < all->len; i++)
		is_in[all->items[i].function] |= (uint8_t)(1 << all->items[i].side);
	for (uint8_t side = 0; side < 2; side++)
		find_lones(&lones[side], functions, all, sides[side], clues[side], side, is_in,
			   nr_functions);
	pair(functions, &lones[0], &lones[1]);
	renumber(functions, sides[1]->model->frames.nr_codes);
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < lones[side].len; i++)
			vt_clue_set_release(&lones[side].items[i].clues);
		vt_vector_release(&lones[side]);
	}
	free(is_in);
}

void vt_functions_init(struct vt_functions *functions, const struct vt_describe *const *sides,
		       const struct vt_clues *const *clues, int is_exact)
{
	struct codes all = { 0 };
	struct vt_files files;
	uint32_t nr_functions;

	memset(functions, 0, sizeof(*functions));
	vt_files_init(&files, sides, is_exact);
	gather(&all, sides, &files);
	nr_functions = number_functions(&all);
	functions->nr = nr_functions;
	for (int side = 0; side < 2; side++)
		functions->of_code[side] = vt_xcalloc(sides[side]->model->frames.nr_codes + 1,
						      sizeof(*functions->of_code[side]));
	for (size_t i = 0; i < all.len; i++)
		functions->of_code[all.items[i].side][all.items[i].id] = all.items[i].function;
	if (!is_exact)
		find_moves(functions, &all, sides, clues, nr_functions);
	vt_vector_release(&all);
	vt_files_release(&files);
}

void vt_functions_release(struct vt_functions *functions)
{
	free(functions->of_code[0]);
	free(functions->of_code[1]);
	vt_vector_release(&functions->moves);
	memset(functions, 0, sizeof(*functions));
}
