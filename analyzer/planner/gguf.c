/* SPDX-License-Identifier: MIT */
/*
 * GGUF: magic, version, two counts, then keys with values, then the tensors' names, shapes and
 * types.  Read through a cursor that never leaves the bytes: after the first short read it gives
 * zeros, and whoever loops asks it.
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/planner/tensor_file.h"
#include "analyzer/base/printable.h"

/* A key or value of a name, and a tensor, are at least that long: bounds the counts. */
#define MIN_KEY_BYTES    (8 + 4 + 1)
#define MIN_TENSOR_BYTES (8 + 4 + 4 + 8)
#define MAX_DIMENSIONS   4 /* GGML_MAX_DIMS */

enum value_type {
	VALUE_U8, VALUE_I8, VALUE_U16, VALUE_I16, VALUE_U32, VALUE_I32, VALUE_F32, VALUE_BOOL,
	VALUE_STRING, VALUE_ARRAY, VALUE_U64, VALUE_I64, VALUE_F64,
};

static const unsigned char value_bytes[] = {
	[VALUE_U8] = 1, [VALUE_I8] = 1,  [VALUE_U16] = 2,  [VALUE_I16] = 2, [VALUE_U32] = 4,
	[VALUE_I32] = 4, [VALUE_F32] = 4, [VALUE_BOOL] = 1, [VALUE_U64] = 8, [VALUE_I64] = 8,
	[VALUE_F64] = 8,
};

/* Bits per element of the types of ggml.h, from their blocks' bytes and elements. */
static const double type_bits[] = {
	[0] = 32,      [1] = 16,      [2] = 4.5,     [3] = 5,       [6] = 5.5,     [7] = 6,
	[8] = 8.5,     [9] = 9,       [10] = 2.625,  [11] = 3.4375, [12] = 4.5,    [13] = 5.5,
	[14] = 6.5625, [15] = 9.125,  [16] = 2.0625, [17] = 2.3125, [18] = 3.0625, [19] = 1.5625,
	[20] = 4.5,    [21] = 3.4375, [22] = 2.5625, [23] = 4.25,   [24] = 8,      [25] = 16,
	[26] = 32,     [27] = 64,     [28] = 64,     [29] = 1.75,   [30] = 16,
};

struct cursor {
	const unsigned char *at;
	size_t left;
	int is_short;
};

static const void *take(struct cursor *c, uint64_t len)
{
	const void *bytes = c->at;

	if (len > c->left) {
		c->is_short = 1;
		c->left = 0;
		return NULL;
	}
	c->at += len;
	c->left -= len;
	return bytes;
}

static uint64_t number(struct cursor *c, unsigned len)
{
	const void *bytes = take(c, len);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, len);
	return value;
}

static void text(struct cursor *c, char *buf, size_t size)
{
	uint64_t len = number(c, 8);
	const char *bytes = take(c, len);

	snprintf(buf, size, "%.*s", bytes && len < size ? (int)len : 0, bytes ? bytes : "");
}

static void skip_array(struct cursor *c)
{
	uint64_t type = number(c, 4), len = number(c, 8), bytes;

	if (type == VALUE_STRING) {
		/* Each string takes eight bytes at least, so this ends with the file. */
		for (uint64_t i = 0; i < len && !c->is_short; i++)
			take(c, number(c, 8));
		return;
	}
	/* Arrays of arrays are in the format but in no file: not followed. */
	if (type >= sizeof(value_bytes) || !value_bytes[type] ||
	    __builtin_mul_overflow(len, (uint64_t)value_bytes[type], &bytes))
		bytes = UINT64_MAX;
	take(c, bytes);
}

/* One value; whole numbers go to *value. */
static void read_value(struct cursor *c, uint64_t *value, char *string, size_t size)
{
	uint64_t type = number(c, 4);

	*value = 0;
	string[0] = '\0';
	if (type == VALUE_STRING)
		text(c, string, size);
	else if (type == VALUE_ARRAY)
		skip_array(c);
	else if (type < sizeof(value_bytes) && value_bytes[type])
		*value = number(c, value_bytes[type]);
	else
		take(c, UINT64_MAX);
}

/* "llama.block_count" and its like, whatever stands before the first point. */
static void take_size(struct vt_stack *s, const char *key, uint64_t value)
{
	const char *name = strchr(key, '.');
	const struct {
		const char *name;
		uint64_t *size;
	} sizes[] = {
		{ ".block_count", &s->layers },
		{ ".context_length", &s->max_tokens },
		{ ".embedding_length", &s->hidden },
		{ ".feed_forward_length", &s->ffn },
		{ ".attention.head_count", &s->heads },
		{ ".attention.head_count_kv", &s->kv_heads },
		{ ".attention.key_length", &s->head_dim },
		{ ".attention.value_length", &s->value_dim },
		{ ".attention.sliding_window", &s->window },
		{ ".vocab_size", &s->vocabulary },
	};

	/* Sizes of models; a larger one is a damaged file and its products would overflow. */
	for (size_t i = 0; name && value <= 100000000 && i < VT_ARRAY_SIZE(sizes); i++)
		if (!strcmp(name, sizes[i].name))
			*sizes[i].size = value;
}

static void read_keys(struct vt_architecture *model, struct cursor *c, uint64_t count)
{
	char key[96], string[40];
	uint64_t value;

	for (uint64_t i = 0; i < count && !c->is_short; i++) {
		text(c, key, sizeof(key));
		read_value(c, &value, string, sizeof(string));
		if (!strcmp(key, "general.architecture")) {
			free(model->family);
			model->family = vt_printable_copy(string);
		}
		take_size(&model->stacks[VT_PART_TEXT], key, value);
	}
}

static enum vt_tensor_role role_of(const char *name, uint64_t rows)
{
	if (strstr(name, "token_embd"))
		return VT_ROLE_EMBEDDING;
	if (!strncmp(name, "output.", 7))
		return VT_ROLE_HEAD;
	return rows == 1 ? VT_ROLE_NORM : VT_ROLE_LINEAR;
}

/* 0, or -1 for a shape or type that is none. */
static int read_tensor(struct vt_architecture *model, struct cursor *c)
{
	struct vt_tensor_spec spec = { .rows = 1, .columns = 1, .count = 1 };
	char name[64];
	uint64_t dimensions, type;
	size_t before = model->nr_tensors;

	text(c, name, sizeof(name));
	dimensions = number(c, 4);
	for (uint64_t i = 0; i < dimensions && i < MAX_DIMENSIONS; i++) {
		uint64_t size = number(c, 8);

		if (!i)
			spec.columns = size;
		else if (__builtin_mul_overflow(spec.rows, size, &spec.rows))
			return -1;
	}
	type = number(c, 4);
	number(c, 8); /* offset of the data */
	if (dimensions > MAX_DIMENSIONS || type >= VT_ARRAY_SIZE(type_bits) || !type_bits[type])
		return -1;
	spec.role = role_of(name, spec.rows);
	spec.is_in_layer = !strncmp(name, "blk.", 4);
	vt_architecture_add(model, name, &spec);
	if (model->nr_tensors > before)
		model->tensors[before].bits = type_bits[type];
	if (spec.role == VT_ROLE_EMBEDDING)
		model->stacks[VT_PART_TEXT].vocabulary = spec.rows < 100000000 ? spec.rows : 0;
	return 0;
}

/* What the keys leave to be derived; without the sizes of layers only weights are known. */
static void complete(struct vt_architecture *model)
{
	struct vt_stack *s = &model->stacks[VT_PART_TEXT];

	if (!s->kv_heads)
		s->kv_heads = s->heads;
	if (!s->head_dim && s->heads)
		s->head_dim = s->hidden / s->heads;
	if (!s->value_dim)
		s->value_dim = s->head_dim;
	s->norms = 2;
	s->attention_layers = s->mlp_layers = s->layers;
	s->full_layers = s->window ? 0 : s->layers;
	if (s->layers && s->hidden && s->heads && s->ffn && s->vocabulary)
		return;
	model->is_nominal = 1;
	model->note = vt_xstrdup("the header does not give the sizes of layers: weights only");
}

static int refuse(const char *where, const char *why, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", where, why);
	return -1;
}

int vt_gguf_read(struct vt_architecture *model, const void *bytes, size_t len, const char *where,
		 struct vt_diag *diag)
{
	struct cursor c = { bytes, len, 0 };
	uint64_t version, tensors, keys;

	if (len < 4 || memcmp(bytes, "GGUF", 4))
		return refuse(where, "not a GGUF file", diag);
	take(&c, 4);
	version = number(&c, 4);
	tensors = number(&c, 8);
	keys = number(&c, 8);
	if (version < 2 || version > 3)
		return refuse(where, "unsupported GGUF version (2 and 3 are supported)", diag);
	if (tensors > c.left / MIN_TENSOR_BYTES || keys > c.left / MIN_KEY_BYTES)
		return refuse(where, "the GGUF header counts more than the file can hold", diag);
	if (tensors > VT_TENSOR_FILE_MAX)
		return refuse(where, "too many tensors", diag);
	read_keys(model, &c, keys);
	for (uint64_t i = 0; i < tensors && !c.is_short; i++)
		if (read_tensor(model, &c))
			return refuse(where, "a tensor of unknown shape or type", diag);
	if (c.is_short)
		return refuse(where, "the GGUF header is truncated or damaged", diag);
	if (!model->nr_tensors || model->is_too_large)
		return refuse(where, "no tensors, or more parameters than 2^53", diag);
	if (!model->family)
		model->family = vt_xstrdup("gguf");
	complete(model);
	return 0;
}
