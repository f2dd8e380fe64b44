/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/files.h"

#include <string.h>

#include "analyzer/base/util.h"

/* A function of one recording, and the file it is in. */
struct entry {
	const char *file;
	const char *name;
	uint32_t code;
	uint32_t number; /* of the file */
	uint8_t side;
};

VT_VECTOR_DECLARE(entries, struct entry);

/* A file that only one of the recordings has. */
struct lone {
	const char *path;
	const struct entry *functions; /* by name, each once */
	uint32_t nr_functions;
	uint32_t number;
	int is_paired;
};

VT_VECTOR_DECLARE(lones, struct lone);

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (!order)
		order = (int)x->side - (int)y->side;
	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : x->code < y->code ? -1 : x->code > y->code;
}

static void gather(struct entries *all, const struct vt_describe *describe, uint8_t side,
		   int is_exact)
{
	const struct vt_frames *frames = &describe->model->frames;

	for (uint32_t i = 0; i < frames->nr_codes; i++) {
		const struct vt_code *code = &frames->codes[i];
		struct entry one = { .code = i, .side = side, .name = code->name };

		if (!code->file || !code->name)
			continue;
		one.file = is_exact ? code->file : vt_describe_file(describe, code->file);
		vt_vector_push(all, one);
	}
}

/* Every file has such: "<module>", "<lambda>", "<listcomp>". */
static int is_common_name(const char *name)
{
	return name[0] == '<';
}

/* Both lists are sorted. */
static uint32_t count_shared(const struct lone *a, const struct lone *b)
{
	uint32_t i = 0, k = 0, shared = 0;

	while (i < a->nr_functions && k < b->nr_functions) {
		int order = strcmp(a->functions[i].name, b->functions[k].name);

		shared += !order && !is_common_name(a->functions[i].name);
		i += order <= 0;
		k += order >= 0;
	}
	return shared;
}

static int has_names(const struct lone *file)
{
	for (uint32_t i = 0; i < file->nr_functions; i++)
		if (!is_common_name(file->functions[i].name))
			return 1;
	return 0;
}

/* 0: these are two files. */
static uint32_t likeness(const struct lone *a, const struct lone *b)
{
	uint32_t shared = count_shared(a, b), is_same_name;
	uint32_t fewer = a->nr_functions < b->nr_functions ? a->nr_functions : b->nr_functions;

	is_same_name = !strcmp(vt_util_base_name(a->path), vt_util_base_name(b->path));
	if (2 * shared < fewer && !is_same_name && (has_names(a) || has_names(b)))
		return 0;
	if (!shared && !is_same_name)
		return !has_names(a) && !has_names(b);
	return 4 * shared + 2 * is_same_name;
}

/* The most alike first; what is left has no counterpart. */
static void pair(struct lones *base, struct lones *new)
{
	for (;;) {
		struct lone *best_base = NULL, *best_new = NULL;
		uint32_t best = 0;

		for (size_t i = 0; i < base->len; i++)
			for (size_t k = 0; k < new->len; k++) {
				uint32_t like;

				if (base->items[i].is_paired || new->items[k].is_paired)
					continue;
				like = likeness(&base->items[i], &new->items[k]);
				if (like <= best)
					continue;
				best = like;
				best_base = &base->items[i];
				best_new = &new->items[k];
			}
		if (!best)
			return;
		best_base->is_paired = best_new->is_paired = 1;
		best_new->number = best_base->number;
	}
}

/* The entries of one file stand together, those of the base first. */
static void find_lones(struct entries *all, struct lones *sides)
{
	for (size_t i = 0, k; i < all->len; i = k) {
		struct lone one = { .path = all->items[i].file,
				    .functions = &all->items[i],
				    .number = all->items[i].number };

		for (k = i; k < all->len && all->items[k].number == one.number; k++)
			;
		if (all->items[i].side != all->items[k - 1].side)
			continue;
		one.nr_functions = (uint32_t)(k - i);
		vt_vector_push(&sides[all->items[i].side], one);
	}
}

/* Of the pairs that were found. */
static void renumber(struct entries *all, const struct lones *new)
{
	for (size_t i = 0; i < new->len; i++) {
		size_t first = (size_t)(new->items[i].functions - all->items);

		for (size_t k = 0; k < new->items[i].nr_functions; k++)
			all->items[first + k].number = new->items[i].number;
	}
}

void vt_files_init(struct vt_files *files, const struct vt_describe *const *sides, int is_exact)
{
	struct entries all = { 0 };
	struct lones lones[2] = { { 0 }, { 0 } };

	memset(files, 0, sizeof(*files));
	for (uint8_t side = 0; side < 2; side++) {
		gather(&all, sides[side], side, is_exact);
		files->of_code[side] = vt_xcalloc(sides[side]->model->frames.nr_codes + 1,
						  sizeof(*files->of_code[side]));
	}
	if (all.len)
		qsort(all.items, all.len, sizeof(*all.items), compare_entries);
	for (size_t i = 0; i < all.len; i++) {
		files->nr += !i || strcmp(all.items[i].file, all.items[i - 1].file) != 0;
		all.items[i].number = files->nr;
	}
	if (!is_exact) {
		find_lones(&all, lones);
		pair(&lones[0], &lones[1]);
		renumber(&all, &lones[1]);
	}
	for (size_t i = 0; i < all.len; i++)
		files->of_code[all.items[i].side][all.items[i].code] = all.items[i].number;
	vt_vector_release(&lones[0]);
	vt_vector_release(&lones[1]);
	vt_vector_release(&all);
}

void vt_files_release(struct vt_files *files)
{
	free(files->of_code[0]);
	free(files->of_code[1]);
	memset(files, 0, sizeof(*files));
}
