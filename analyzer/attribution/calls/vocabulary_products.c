/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/vocabulary_products.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"

static const char weight[] = ".weight";

/* Rows of a matrix, "32000,4096"; 0: it is none. */
static uint64_t rows_of(const struct vt_model *model, const struct vt_tensor *tensor)
{
	const char *shape = vt_model_text(model, tensor->shape);
	unsigned long long rows, columns;
	char rest;

	if (tensor->role != VT_ROLE_PARAMETER || !shape ||
	    sscanf(shape, "%llu,%llu%c", &rows, &columns, &rest) != 2)
		return 0;
	return rows;
}

/* A model may come to the device in parts: modules are told once, weights when they are there. */
static int is_of_one_model(const struct vt_tensor *tensor, const struct vt_torch_module *module)
{
	return tensor->probe == module->probe ||
	       (tensor->holder && tensor->holder == module->holder);
}

static int is_weight_of(const struct vt_model *model, const struct vt_tensor *tensor,
			const struct vt_torch_module *module)
{
	const char *name = vt_model_text(model, tensor->name);
	const char *path = vt_model_text(model, module->name);
	size_t len = path ? strlen(path) : 0;

	return name && len && is_of_one_model(tensor, module) && !strncmp(name, path, len) &&
	       !strcmp(name + len, weight);
}

static int is_kind(const struct vt_model *model, const struct vt_torch_module *module,
		   const struct vt_globs *globs)
{
	return vt_globs_match(globs, vt_model_text(model, module->class_name));
}

static const struct vt_tensor *find_weight(const struct vt_model *model,
					   const struct vt_torch_module *module)
{
	for (uint32_t i = 0; i < model->nr_tensors; i++)
		if (model->tensors[i].role == VT_ROLE_PARAMETER &&
		    is_weight_of(model, &model->tensors[i], module))
			return &model->tensors[i];
	return NULL;
}

/* Rows of the largest embedding; *is_shared: one has no weight under its own name. */
static uint64_t find_words(const struct vt_model *model, const struct vt_rules *rules,
			   int *is_shared)
{
	uint64_t most = 0;

	*is_shared = 0;
	for (uint32_t m = 0; m < model->nr_modules; m++) {
		const struct vt_tensor *own;
		uint64_t rows;

		if (!is_kind(model, &model->modules[m], &rules->token_model))
			continue;
		own = find_weight(model, &model->modules[m]);
		rows = own ? rows_of(model, own) : 0;
		*is_shared |= !own;
		if (rows > most)
			most = rows;
	}
	return most;
}

/* Rows of the widest matrix of all. */
static uint64_t find_widest(const struct vt_model *model)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		uint64_t rows = rows_of(model, &model->tensors[i]);

		if (rows > most)
			most = rows;
	}
	return most;
}

/* Of the module that has it as its weight, whatever that one is called, and reads no tokens. */
static uint64_t address_of(const struct vt_model *model, const struct vt_rules *rules,
			   const struct vt_tensor *tensor)
{
	for (uint32_t m = 0; m < model->nr_modules; m++)
		if (!is_kind(model, &model->modules[m], &rules->token_model) &&
		    is_weight_of(model, tensor, &model->modules[m]))
			return model->modules[m].address;
	return 0;
}

uint64_t vt_vocabulary_products_find(const struct vt_model *model, const struct vt_rules *rules)
{
	int is_shared;
	uint64_t words = find_words(model, rules, &is_shared), found = 0;

	if (is_shared)
		words = find_widest(model);
	for (uint32_t i = 0; words && i < model->nr_tensors; i++) {
		uint64_t address;

		if (rows_of(model, &model->tensors[i]) != words)
			continue;
		address = address_of(model, rules, &model->tensors[i]);
		/* As wide as the vocabulary by chance: then it tells nothing. */
		if (address && found && found != address)
			return 0;
		if (address)
			found = address;
	}
	return found;
}
