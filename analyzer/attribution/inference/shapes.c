/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/inference/shapes.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/* Distinct values of one dimension; a run with more of them (ragged batches) has no table. */
#define VALUES_MAX 32

struct values {
	uint64_t items[VALUES_MAX];
	unsigned nr;
	int is_full;
};

/* A batch: b rows of T tokens. */
struct batches {
	uint64_t rows[VALUES_MAX];
	uint64_t tokens[VALUES_MAX];
	unsigned nr;
	int is_full;
};

struct dimensions {
	struct values hidden;
	struct values vocabulary;
	struct values tables; /* rows of all embeddings */
	struct values inner; /* other sides of matrices with a hidden side */
	struct batches batches;
};

static void add_value(struct values *values, uint64_t value)
{
	for (unsigned i = 0; i < values->nr; i++)
		if (values->items[i] == value)
			return;
	if (values->nr == VALUES_MAX)
		values->is_full = 1;
	else
		values->items[values->nr++] = value;
}

static int has_value(const struct values *values, uint64_t value)
{
	for (unsigned i = 0; i < values->nr; i++)
		if (values->items[i] == value)
			return 1;
	return 0;
}

/* "4096,11008" */
static int read_matrix(const char *shape, uint64_t *rows, uint64_t *columns)
{
	unsigned long long x, y;
	char rest;

	if (!shape || sscanf(shape, "%llu,%llu%c", &x, &y, &rest) != 2 || !x || !y)
		return 0;
	/* What no device holds is no shape, and would overflow products. */
	if (x > UINT32_MAX || y > UINT32_MAX)
		return 0;
	*rows = x;
	*columns = y;
	return 1;
}

static int is_weight_of(const char *tensor, const char *module)
{
	size_t len = module ? strlen(module) : 0;

	return tensor && len && strncmp(tensor, module, len) == 0 &&
	       strcmp(tensor + len, ".weight") == 0;
}

/* The matrix of an embedding. */
struct table {
	const char *module;
	uint64_t rows;
	uint64_t columns;
};

typedef VT_VECTOR(struct table) table_vector;

static void find_table(table_vector *tables, const struct vt_model *model, const char *module)
{
	struct table table = { module, 0, 0 };

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];

		if (tensor->role == VT_ROLE_PARAMETER &&
		    is_weight_of(vt_model_text(model, tensor->name), module) &&
		    read_matrix(vt_model_text(model, tensor->shape), &table.rows, &table.columns)) {
			vt_vector_push(tables, table);
			return;
		}
	}
}

static void find_tables(table_vector *tables, const struct vt_model *model,
			const struct vt_rules *rules)
{
	struct values seen = { 0 };

	for (uint32_t m = 0; m < model->nr_modules; m++) {
		const struct vt_torch_module *module = &model->modules[m];

		/* Equal ones are rows of one table; a few distinct embeddings are enough. */
		if (!vt_globs_match(&rules->token_model,
				    vt_model_text(model, module->class_name)) ||
		    seen.is_full || has_value(&seen, module->name))
			continue;
		add_value(&seen, module->name);
		find_table(tables, model, vt_model_text(model, module->name));
	}
}

static int is_of_table(const table_vector *tables, const char *tensor)
{
	for (size_t i = 0; i < tables->len; i++)
		if (is_weight_of(tensor, tables->items[i].module))
			return 1;
	return 0;
}

/* Whether a matrix that is no embedding has the sides of one: a head that is not tied to it. */
static int has_head(const table_vector *tables, const struct vt_model *model,
		    const struct table *table)
{
	/* As many positions as channels: any square matrix would be one. */
	if (table->rows == table->columns)
		return 0;
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		uint64_t rows, columns;

		if (tensor->role == VT_ROLE_PARAMETER &&
		    read_matrix(vt_model_text(model, tensor->shape), &rows, &columns) &&
		    rows == table->rows && columns == table->columns &&
		    !is_of_table(tables, vt_model_text(model, tensor->name)))
			return 1;
	}
	return 0;
}

/*
 * Embeddings tell vocabulary and hidden size.  One of positions or of types has no head: those are
 * vocabularies that have one, and the largest table, to which a head may be tied.
 */
static void find_embeddings(struct dimensions *dimensions, const struct vt_model *model,
			    const struct vt_rules *rules)
{
	table_vector tables = { 0 };
	uint64_t most = 0;

	find_tables(&tables, model, rules);
	for (size_t i = 0; i < tables.len; i++) {
		add_value(&dimensions->hidden, tables.items[i].columns);
		add_value(&dimensions->tables, tables.items[i].rows);
		if (has_head(&tables, model, &tables.items[i]))
			add_value(&dimensions->vocabulary, tables.items[i].rows);
		most = tables.items[i].rows > most ? tables.items[i].rows : most;
	}
	if (most)
		add_value(&dimensions->vocabulary, most);
	vt_vector_release(&tables);
}

static void find_inner(struct dimensions *dimensions, const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		uint64_t rows, columns;

		if (tensor->role != VT_ROLE_PARAMETER ||
		    !read_matrix(vt_model_text(model, tensor->shape), &rows, &columns) ||
		    has_value(&dimensions->tables, rows))
			continue;
		if (has_value(&dimensions->hidden, columns) && rows != columns)
			add_value(&dimensions->inner, rows);
		if (has_value(&dimensions->hidden, rows) && rows != columns)
			add_value(&dimensions->inner, columns);
	}
}

static void add_batch(struct batches *batches, uint64_t rows, uint64_t tokens)
{
	for (unsigned i = 0; i < batches->nr; i++)
		if (batches->rows[i] == rows && batches->tokens[i] == tokens)
			return;
	if (batches->nr == VALUES_MAX) {
		batches->is_full = 1;
		return;
	}
	batches->rows[batches->nr] = rows;
	batches->tokens[batches->nr++] = tokens;
}

/* Matrices of whole numbers that the program hands to a model, or holds. */
static void find_batches(struct dimensions *dimensions, const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		const char *dtype = vt_model_text(model, tensor->dtype);
		uint64_t rows, columns;

		if ((tensor->role == VT_ROLE_INPUT || tensor->role == VT_ROLE_VARIABLE) && dtype &&
		    (strcmp(dtype, "int64") == 0 || strcmp(dtype, "int32") == 0) &&
		    read_matrix(vt_model_text(model, tensor->shape), &rows, &columns))
			add_batch(&dimensions->batches, rows, columns);
	}
}

typedef VT_VECTOR(struct vt_shape_size) size_vector;

static void add_size(size_vector *sizes, uint64_t elements, enum vt_shape_class class)
{
	/* Half and single precision. */
	for (uint64_t width = 2; width <= 4; width += 2) {
		struct vt_shape_size one = { vt_block_rounding_rounded(elements * width),
					     1u << class };

		vt_vector_push(sizes, one);
	}
}

/* Vectors are too small to tell anything. */
static void add_parameter_sizes(size_vector *sizes, const struct vt_model *model)
{
	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		const char *shape = vt_model_text(model, tensor->shape);
		struct vt_shape_size one = { vt_block_rounding_rounded(tensor->size_bytes),
					     1u << VT_SHAPE_PARAMETER };

		if (tensor->role == VT_ROLE_PARAMETER && shape && strchr(shape, ','))
			vt_vector_push(sizes, one);
	}
}

static void add_batch_sizes(size_vector *sizes, const struct dimensions *dimensions, uint64_t rows,
			    uint64_t length)
{
	uint64_t tokens = rows * length;

	for (unsigned i = 0; i < dimensions->vocabulary.nr; i++) {
		add_size(sizes, tokens * dimensions->vocabulary.items[i], VT_SHAPE_LOGITS);
		/* Labels are shifted by one token, before or after the rows are joined. */
		add_size(sizes, (tokens - rows) * dimensions->vocabulary.items[i],
			 VT_SHAPE_LOGITS);
		/* Of the last token of each row, when tokens are made. */
		add_size(sizes, rows * dimensions->vocabulary.items[i], VT_SHAPE_LOGITS);
	}
	for (unsigned i = 0; i < dimensions->hidden.nr; i++)
		add_size(sizes, tokens * dimensions->hidden.items[i], VT_SHAPE_HIDDEN);
	for (unsigned i = 0; i < dimensions->inner.nr; i++)
		add_size(sizes, tokens * dimensions->inner.items[i], VT_SHAPE_INTERMEDIATE);
	/* The number of heads is no side of any parameter; it divides the hidden size. */
	for (unsigned i = 0; i < dimensions->hidden.nr; i++)
		for (uint64_t heads = 1; heads <= 128; heads++)
			if (dimensions->hidden.items[i] % heads == 0)
				add_size(sizes, heads * tokens * length, VT_SHAPE_SCORES);
}

static int compare_sizes(const void *a, const void *b)
{
	const struct vt_shape_size *x = a, *y = b;

	return x->size_bytes < y->size_bytes ? -1 : x->size_bytes > y->size_bytes;
}

static void join_sizes(void *into, void *from)
{
	((struct vt_shape_size *)into)->classes |= ((struct vt_shape_size *)from)->classes;
}

static void merge_sizes(size_vector *sizes)
{
	sizes->len = vt_group(sizes->items, sizes->len, compare_sizes, join_sizes);
}

void vt_shapes_init(struct vt_shapes *shapes, const struct vt_model *model,
		    const struct vt_rules *rules)
{
	struct dimensions dimensions = { 0 };
	size_vector sizes = { 0 };

	memset(shapes, 0, sizeof(*shapes));
	find_embeddings(&dimensions, model, rules);
	find_inner(&dimensions, model);
	find_batches(&dimensions, model);
	add_parameter_sizes(&sizes, model);
	if (dimensions.inner.is_full || dimensions.batches.is_full)
		dimensions.batches.nr = 0;
	for (unsigned i = 0; i < dimensions.batches.nr; i++)
		add_batch_sizes(&sizes, &dimensions, dimensions.batches.rows[i],
				dimensions.batches.tokens[i]);
	merge_sizes(&sizes);
	shapes->sizes = sizes.items;
	shapes->nr = (uint32_t)sizes.len;
}

void vt_shapes_release(struct vt_shapes *shapes)
{
	free(shapes->sizes);
	memset(shapes, 0, sizeof(*shapes));
}

/* Of the one size between two; several say nothing. */
static uint32_t classes_of(const struct vt_shapes *shapes, uint64_t least_bytes,
			   uint64_t most_bytes)
{
	uint32_t low = vt_search_first(i, shapes->nr, shapes->sizes[i].size_bytes < least_bytes);

	if (low == shapes->nr || shapes->sizes[low].size_bytes > most_bytes)
		return 0;
	if (low + 1 < shapes->nr && shapes->sizes[low + 1].size_bytes <= most_bytes)
		return 0;
	return shapes->sizes[low].classes;
}

uint32_t vt_shapes_of_size(const struct vt_shapes *shapes, uint64_t size_bytes)
{
	return classes_of(shapes, size_bytes, size_bytes);
}

uint32_t vt_shapes_classes(const struct vt_shapes *shapes, const struct vt_model *model,
			   const struct vt_allocation *a)
{
	uint32_t classes = vt_shapes_of_size(shapes, vt_block_rounding_block_bytes(a));

	if (classes || a->common->requested_bytes || !vt_block_rounding_can_have(model, a))
		return classes;
	return classes_of(shapes, a->common->size_bytes - VT_SETTINGS_SMALL_MAX,
			  a->common->size_bytes);
}
