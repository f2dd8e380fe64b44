/* SPDX-License-Identifier: MIT */
/*
 * safetensors: eight bytes of length, little-endian, then that much JSON:
 * {"name": {"dtype": "BF16", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {..}}.
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "analyzer/planner/json_cursor.h"
#include "analyzer/planner/tensor_file.h"

/* The format's own limit (MAX_HEADER_SIZE of its tensor.rs). */
#define MAX_HEADER_BYTES 100000000

/* How many of the shapes that came last are asked whether they come again. */
#define REMEMBERED_SHAPES 64

static const struct dtype {
	const char *name;
	unsigned bits;
	const char *config; /* as config.json writes it; NULL: nothing is computed in it */
} dtypes[] = {
	{ "F64", 64, NULL },          { "I64", 64, NULL },
	{ "U64", 64, NULL },          { "C64", 64, NULL },
	{ "F32", 32, "float32" },     { "I32", 32, NULL },
	{ "U32", 32, NULL },          { "BF16", 16, "bfloat16" },
	{ "F16", 16, "float16" },     { "I16", 16, NULL },
	{ "U16", 16, NULL },          { "F8_E4M3", 8, NULL },
	{ "F8_E5M2", 8, NULL },       { "F8_E8M0", 8, NULL },
	{ "F8_E4M3FNUZ", 8, NULL },   { "F8_E5M2FNUZ", 8, NULL },
	{ "I8", 8, NULL },            { "U8", 8, NULL },
	{ "BOOL", 8, NULL },          { "F6_E2M3", 6, NULL },
	{ "F6_E3M2", 6, NULL },       { "F4", 4, NULL },
};

/* One tensor of a header; what it does not say stays impossible. */
struct stored {
	const struct dtype *dtype;
	uint64_t rows, columns; /* columns: the last dimension, rows: all others */
	uint64_t begin, end;
	int has_shape, has_offsets, is_odd; /* a number of them is none that can be */
};

struct header {
	struct vt_json_cursor cursor;
	struct vt_architecture *model;
	uint64_t data_bytes, stored_bytes;
	const char *where;
	struct vt_diag *diag;
};

static const struct dtype *dtype_of(const struct vt_json_text *dtype)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(dtypes); i++)
		if (vt_json_is(dtype, dtypes[i].name))
			return &dtypes[i];
	return NULL;
}

static void read_shape(struct vt_json_cursor *c, struct stored *tensor)
{
	int is_first = 1;

	tensor->rows = tensor->columns = 1;
	tensor->has_shape = vt_json_enter(c, '[');
	if (!tensor->has_shape)
		vt_json_skip(c);
	while (tensor->has_shape && vt_json_next(c, ']', &is_first)) {
		tensor->is_odd |= __builtin_mul_overflow(tensor->rows, tensor->columns,
							 &tensor->rows);
		tensor->is_odd |= vt_json_whole(c, &tensor->columns);
	}
}

static void read_offsets(struct vt_json_cursor *c, struct stored *tensor)
{
	int is_first = 1;

	if (!vt_json_enter(c, '[')) {
		vt_json_skip(c);
		return;
	}
	if (vt_json_next(c, ']', &is_first))
		tensor->is_odd |= vt_json_whole(c, &tensor->begin);
	if (vt_json_next(c, ']', &is_first))
		tensor->is_odd |= vt_json_whole(c, &tensor->end);
	tensor->has_offsets = !vt_json_next(c, ']', &is_first);
}

static struct stored read_tensor(struct vt_json_cursor *c)
{
	struct stored tensor = { .begin = 1 };
	int is_first = 1;

	if (!vt_json_enter(c, '{')) {
		vt_json_skip(c);
		return tensor;
	}
	while (vt_json_next(c, '}', &is_first)) {
		struct vt_json_text key = vt_json_name(c), dtype;

		if (vt_json_is(&key, "dtype")) {
			dtype = vt_json_string(c);
			tensor.dtype = dtype_of(&dtype);
		} else if (vt_json_is(&key, "shape")) {
			read_shape(c, &tensor);
		} else if (vt_json_is(&key, "data_offsets")) {
			read_offsets(c, &tensor);
		} else {
			vt_json_skip(c);
		}
	}
	return tensor;
}

/* Whether the bytes that the offsets span are those of the shape, inside the file. */
static int is_consistent(const struct stored *tensor, uint64_t data_bytes)
{
	uint64_t elements, bits;

	if (!tensor->dtype || !tensor->has_shape || tensor->is_odd || !tensor->has_offsets ||
	    tensor->end < tensor->begin || tensor->end > data_bytes)
		return 0;
	return !__builtin_mul_overflow(tensor->rows, tensor->columns, &elements) &&
	       !__builtin_mul_overflow(elements, tensor->dtype->bits, &bits) && bits % 8 == 0 &&
	       bits / 8 == tensor->end - tensor->begin;
}

static int has_word(const struct vt_json_text *name, const char *word)
{
	return memmem(name->bytes, name->len, word, strlen(word)) != NULL;
}

/* The numbered part of a name, "layers.3.", tells a layer. */
static int is_in_layer(const struct vt_json_text *name)
{
	size_t start = 0;

	for (size_t i = 0; i < name->len; i++) {
		if (name->bytes[i] == '.' && i > start &&
		    strspn(name->bytes + start, "0123456789") == i - start)
			return 1;
		if (name->bytes[i] == '.')
			start = i + 1;
	}
	return 0;
}

static enum vt_part part_of(const struct vt_json_text *name)
{
	if (has_word(name, "projector") || has_word(name, "merger"))
		return VT_PART_PROJECTOR;
	if (has_word(name, "vision") || has_word(name, "visual"))
		return VT_PART_VISION;
	return has_word(name, "encoder.") ? VT_PART_ENCODER : VT_PART_TEXT;
}

static int ends_with(const struct vt_json_text *name, const char *end)
{
	size_t len = strlen(end);

	return name->len >= len && !memcmp(name->bytes + name->len - len, end, len);
}

/* Older releases stored buffers, too: masks (a bias is a vector), positions, frequencies. */
static int is_buffer(const struct vt_json_text *name, const struct stored *tensor)
{
	return (ends_with(name, ".bias") && tensor->rows > 1) || ends_with(name, ".masked_bias") ||
	       ends_with(name, "position_ids") || ends_with(name, ".inv_freq");
}

static enum vt_tensor_role role_of(const struct vt_json_text *name, const struct stored *tensor)
{
	if (has_word(name, "embed") || has_word(name, "wte"))
		return VT_ROLE_EMBEDDING;
	if (has_word(name, "lm_head"))
		return VT_ROLE_HEAD;
	if (has_word(name, ".experts."))
		return VT_ROLE_EXPERT;
	return tensor->rows == 1 ? VT_ROLE_NORM : VT_ROLE_LINEAR;
}

/* Layers repeat their shapes: one entry for all, so that a million tensors are a few. */
static int is_counted_again(struct vt_architecture *model, const struct vt_tensor_spec *spec,
			    const struct dtype *dtype)
{
	for (size_t i = 0; i < model->nr_tensors && i < REMEMBERED_SHAPES; i++) {
		struct vt_plan_tensor *t = &model->tensors[model->nr_tensors - 1 - i];

		if (t->rows == spec->rows && t->columns == spec->columns &&
		    t->role == spec->role && t->part == spec->part &&
		    t->is_in_layer == spec->is_in_layer && t->bits == dtype->bits &&
		    !strcmp(t->dtype, dtype->config ? dtype->config : "")) {
			vt_architecture_repeat(model, t);
			return 1;
		}
	}
	return 0;
}

static int refuse_tensor(const struct header *h, const struct vt_json_text *name)
{
	char shown[64];

	snprintf(shown, sizeof(shown), "%.*s", (int)(name->len < 60 ? name->len : 60),
		 name->bytes);
	vt_diag_set(h->diag, VT_EXIT_UNREADABLE,
		    "%s: tensor %s: type, shape and offsets do not fit the file", h->where,
		    vt_printable_make(shown));
	return -1;
}

static int add(struct header *h, const struct vt_json_text *name)
{
	struct stored tensor = read_tensor(&h->cursor);
	struct vt_tensor_spec spec = { .rows = tensor.rows, .columns = tensor.columns, .count = 1,
				       .part = part_of(name), .is_in_layer = is_in_layer(name) };
	struct vt_plan_tensor *added;

	if (h->cursor.is_bad)
		return 0; /* told once, by whoever asked for the header */
	if (!is_consistent(&tensor, h->data_bytes))
		return refuse_tensor(h, name);
	/* Tensors do not share bytes: what is told twice is told by a liar. */
	h->stored_bytes += tensor.end - tensor.begin;
	if (h->stored_bytes > h->data_bytes)
		return refuse_tensor(h, name);
	spec.role = role_of(name, &tensor);
	if (!spec.rows || !spec.columns || is_buffer(name, &tensor) ||
	    is_counted_again(h->model, &spec, tensor.dtype))
		return 0;
	vt_architecture_add(h->model, "", &spec);
	if (h->model->is_too_large)
		return 0;
	added = &h->model->tensors[h->model->nr_tensors - 1];
	added->bits = tensor.dtype->bits;
	snprintf(added->dtype, sizeof(added->dtype), "%s",
		 tensor.dtype->config ? tensor.dtype->config : "");
	return 0;
}

static int add_all(struct header *h)
{
	int is_first = 1, is_object = vt_json_enter(&h->cursor, '{');

	while (is_object && vt_json_next(&h->cursor, '}', &is_first)) {
		struct vt_json_text name = vt_json_name(&h->cursor);

		if (vt_json_is(&name, "__metadata__"))
			vt_json_skip(&h->cursor);
		else if (add(h, &name))
			return -1;
	}
	if (!is_object || !vt_json_is_over(&h->cursor))
		vt_diag_set(h->diag, VT_EXIT_UNREADABLE, "%s: the header is not a JSON object",
			    h->where);
	else if (!h->model->nr_tensors || h->model->is_too_large)
		vt_diag_set(h->diag, VT_EXIT_UNREADABLE, "%s: %s", h->where,
			    h->model->nr_tensors ? "more than 2^53 parameters" : "no tensors");
	else
		return 0;
	return -1;
}

int vt_safetensors_read(struct vt_architecture *model, const void *bytes, size_t len,
			uint64_t file_bytes, const char *where, struct vt_diag *diag)
{
	struct header header = { .model = model, .where = where, .diag = diag };
	uint64_t size = 0;

	if (len >= 8)
		memcpy(&size, bytes, sizeof(size));
	if (size < 2 || size > len - 8) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: not a safetensors file, or its header is truncated", where);
		return -1;
	}
	if (size > MAX_HEADER_BYTES) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: a header of %llu bytes, more than the %d that the format allows",
			    where, (unsigned long long)size, MAX_HEADER_BYTES);
		return -1;
	}
	header.cursor.at = (const char *)bytes + 8;
	header.cursor.end = header.cursor.at + size;
	header.data_bytes = file_bytes - 8 - size;
	model->is_nominal = 1;
	if (!model->family)
		model->family = vt_xstrdup("safetensors");
	if (!model->note)
		model->note = vt_xstrdup("a safetensors header has weights only: no activations, "
					 "logits or cache; config.json has the rest");
	return add_all(&header);
}
