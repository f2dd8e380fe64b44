/* SPDX-License-Identifier: MIT */
/*
 * safetensors: eight bytes of length, little-endian, then that much JSON:
 * {"name": {"dtype": "BF16", "shape": [..], "data_offsets": [begin, end]}, "__metadata__": {..}}.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/planner/tensor_file.h"

/* The format allows 100 MB, of which JSON takes fifteen times that. */
#define MAX_HEADER_BYTES (16 * 1024 * 1024)

static const struct {
	const char *name;
	unsigned bits;
} dtypes[] = {
	{ "F64", 64 },	   { "I64", 64 },     { "U64", 64 }, { "F32", 32 }, { "I32", 32 },
	{ "U32", 32 },	   { "BF16", 16 },    { "F16", 16 }, { "I16", 16 }, { "U16", 16 },
	{ "F8_E4M3", 8 },  { "F8_E5M2", 8 },  { "I8", 8 },   { "U8", 8 },   { "BOOL", 8 },
};

static unsigned bits_of(const char *dtype)
{
	for (size_t i = 0; dtype && i < VT_ARRAY_SIZE(dtypes); i++)
		if (!strcmp(dtypes[i].name, dtype))
			return dtypes[i].bits;
	return 0;
}

/* Elements and the last dimension of a shape; -1 where it is none. */
static int read_shape(const json_t *shape, uint64_t *rows, uint64_t *columns)
{
	const json_t *side;
	size_t i;

	*rows = *columns = 1;
	if (!json_is_array(shape))
		return -1;
	json_array_foreach(shape, i, side)
	{
		json_int_t size = json_integer_value(side);

		if (!json_is_integer(side) || size < 0 ||
		    __builtin_mul_overflow(*rows, *columns, rows))
			return -1;
		*columns = (uint64_t)size;
	}
	return 0;
}

/* Whether the bytes that the offsets span are those of the shape, inside the file. */
static int is_consistent(const json_t *tensor, uint64_t rows, uint64_t columns, unsigned bits,
			 uint64_t data_bytes)
{
	const json_t *offsets = json_object_get(tensor, "data_offsets");
	json_int_t begin = json_integer_value(json_array_get(offsets, 0));
	json_int_t end = json_integer_value(json_array_get(offsets, 1));
	uint64_t elements, size;

	if (json_array_size(offsets) != 2 || begin < 0 || end < begin ||
	    (uint64_t)end > data_bytes)
		return 0;
	return !__builtin_mul_overflow(rows, columns, &elements) &&
	       !__builtin_mul_overflow(elements, bits / 8, &size) &&
	       size == (uint64_t)(end - begin);
}

static int add(struct vt_architecture *model, const char *name, const json_t *tensor,
	       uint64_t data_bytes, const char *where, struct vt_diag *diag)
{
	unsigned bits = bits_of(json_string_value(json_object_get(tensor, "dtype")));
	struct vt_tensor_spec spec = { .role = VT_ROLE_LINEAR, .count = 1 };

	if (!bits ||
	    read_shape(json_object_get(tensor, "shape"), &spec.rows, &spec.columns) ||
	    !is_consistent(tensor, spec.rows, spec.columns, bits, data_bytes)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: tensor %.60s: type, shape and offsets do not fit the file", where,
			    name);
		return -1;
	}
	if (strstr(name, "embed") || strstr(name, "wte"))
		spec.role = VT_ROLE_EMBEDDING;
	else if (strstr(name, "lm_head"))
		spec.role = VT_ROLE_HEAD;
	else if (spec.rows == 1)
		spec.role = VT_ROLE_NORM;
	if (!spec.rows || !spec.columns)
		return 0;
	vt_architecture_add(model, name, &spec);
	if (!model->is_too_large)
		model->tensors[model->nr_tensors - 1].bits = bits;
	return 0;
}

static int add_all(struct vt_architecture *model, json_t *header, uint64_t data_bytes,
		   const char *where, struct vt_diag *diag)
{
	const char *name;
	json_t *tensor;

	if (json_object_size(header) > VT_TENSOR_FILE_MAX) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: more tensors than are read here", where);
		return -1;
	}
	json_object_foreach(header, name, tensor)
		if (strcmp(name, "__metadata__") &&
		    add(model, name, tensor, data_bytes, where, diag))
			return -1;
	if (model->nr_tensors && !model->is_too_large)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", where,
		    model->nr_tensors ? "more than 2^53 parameters" : "no tensors");
	return -1;
}

int vt_safetensors_read(struct vt_architecture *model, const void *bytes, size_t len,
			uint64_t file_bytes, const char *where, struct vt_diag *diag)
{
	uint64_t size = 0;
	json_t *header;
	int rc;

	if (len >= 8)
		memcpy(&size, bytes, sizeof(size));
	if (size < 2 || size > len - 8) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: no safetensors file, or its header is cut off", where);
		return -1;
	}
	if (size > MAX_HEADER_BYTES) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: a header of %llu bytes is more than is read here", where,
			    (unsigned long long)size);
		return -1;
	}
	header = json_loadb((const char *)bytes + 8, size, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(header)) {
		json_decref(header);
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: the header is no JSON object", where);
		return -1;
	}
	model->is_nominal = 1;
	model->family = vt_xstrdup("safetensors");
	model->note = vt_xstrdup("a safetensors header has weights only: no activations, logits or "
				 "cache; config.json has the rest");
	rc = add_all(model, header, file_bytes - 8 - size, where, diag);
	json_decref(header);
	return rc;
}
