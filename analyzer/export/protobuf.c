/* SPDX-License-Identifier: MIT */
#include "analyzer/export/protobuf.h"

#include <jansson.h>

#include "analyzer/output/json.h"

enum wire_type { VARINT = 0, BYTES = 2 };

static void put_varint(struct vt_buffer *message, uint64_t value)
{
	unsigned char bytes[10];
	size_t nr = 0;

	do {
		bytes[nr++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	vt_buffer_append(message, bytes, nr);
}

static void put_bytes(struct vt_buffer *message, unsigned field, const void *bytes, size_t len)
{
	put_varint(message, field << 3 | BYTES);
	put_varint(message, len);
	vt_buffer_append(message, bytes, len);
}

void vt_protobuf_number(struct vt_buffer *message, unsigned field, uint64_t value)
{
	put_varint(message, field << 3 | VARINT);
	put_varint(message, value);
}

void vt_protobuf_text(struct vt_buffer *message, unsigned field, const char *text)
{
	json_t *valid;

	if (!text)
		return;
	valid = vt_json_text(text);
	put_bytes(message, field, json_string_value(valid), json_string_length(valid));
	json_decref(valid);
}

void vt_protobuf_message(struct vt_buffer *message, unsigned field, struct vt_buffer *inner)
{
	put_bytes(message, field, inner->data, inner->len);
	inner->len = 0;
}

void vt_protobuf_packed(struct vt_buffer *message, unsigned field, const uint64_t *values,
			size_t nr)
{
	struct vt_buffer packed;

	vt_buffer_init(&packed);
	for (size_t i = 0; i < nr; i++)
		put_varint(&packed, values[i]);
	vt_protobuf_message(message, field, &packed);
	vt_buffer_release(&packed);
}
