/* SPDX-License-Identifier: MIT */
#include "analyzer/html/pack.h"

#include <stdarg.h>
#include <string.h>
#include <zlib.h>

/* Above this the last tenth of size takes as long as all of the rest. */
#define MANY_BYTES  ((size_t)8 << 20)
#define LINE_BYTES  72 /* before base64; a multiple of 3 */
#define CHUNK_BYTES (LINE_BYTES * 512)

void vt_pack_init(struct vt_pack *pack)
{
	memset(pack, 0, sizeof(*pack));
	vt_buffer_init(&pack->bytes);
	pack->columns = json_object();
}

void vt_pack_release(struct vt_pack *pack)
{
	vt_buffer_release(&pack->bytes);
	json_decref(pack->columns);
	memset(pack, 0, sizeof(*pack));
}

void vt_pack_begin(struct vt_pack *pack, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(pack->column_name, sizeof(pack->column_name), format, arguments);
	va_end(arguments);
	pack->column_offset = pack->bytes.len;
	pack->column_nr = 0;
	pack->last = 0;
}

void vt_pack_put(struct vt_pack *pack, int64_t value)
{
	int64_t change = (int64_t)((uint64_t)value - (uint64_t)pack->last);
	uint64_t zigzag = (uint64_t)change << 1 ^ (change < 0 ? UINT64_MAX : 0);
	unsigned char bytes[10];
	size_t nr = 0;

	do {
		bytes[nr] = (unsigned char)(zigzag & 0x7f);
		zigzag >>= 7;
		bytes[nr++] |= zigzag ? 0x80 : 0;
	} while (zigzag);
	vt_buffer_append(&pack->bytes, bytes, nr);
	pack->last = value;
	pack->column_nr++;
}

void vt_pack_end(struct vt_pack *pack)
{
	json_object_set_new(pack->columns, pack->column_name,
			    json_pack("[I,I,I]", (json_int_t)pack->column_offset,
				      (json_int_t)(pack->bytes.len - pack->column_offset),
				      (json_int_t)pack->column_nr));
}

/* Base64 of what comes in pieces; all but the last are whole lines. */
struct base64 {
	unsigned char rest[LINE_BYTES];
	size_t nr_rest;
	FILE *out;
};

static void put_line(const unsigned char *bytes, size_t nr, FILE *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[LINE_BYTES / 3 * 4 + 1];
	size_t len = 0;

	for (size_t i = 0; i < nr; i += 3) {
		uint32_t word = (uint32_t)bytes[i] << 16;

		word |= i + 1 < nr ? (uint32_t)bytes[i + 1] << 8 : 0;
		word |= i + 2 < nr ? bytes[i + 2] : 0;
		line[len++] = digits[word >> 18];
		line[len++] = digits[word >> 12 & 63];
		line[len++] = i + 1 < nr ? digits[word >> 6 & 63] : '=';
		line[len++] = i + 2 < nr ? digits[word & 63] : '=';
	}
	line[len++] = '\n';
	fwrite(line, 1, len, out);
}

static void put_base64(struct base64 *base64, const unsigned char *bytes, size_t nr)
{
	while (nr) {
		size_t left = LINE_BYTES - base64->nr_rest, taken = nr < left ? nr : left;

		memcpy(base64->rest + base64->nr_rest, bytes, taken);
		base64->nr_rest += taken;
		bytes += taken;
		nr -= taken;
		if (base64->nr_rest == LINE_BYTES) {
			put_line(base64->rest, LINE_BYTES, base64->out);
			base64->nr_rest = 0;
		}
	}
}

static void compress_piece(z_stream *stream, struct base64 *base64, const void *bytes, size_t nr,
			   int flush)
{
	unsigned char chunk[CHUNK_BYTES];

	stream->next_in = (unsigned char *)bytes;
	stream->avail_in = (unsigned)nr;
	do {
		stream->next_out = chunk;
		stream->avail_out = sizeof(chunk);
		deflate(stream, flush);
		put_base64(base64, chunk, sizeof(chunk) - stream->avail_out);
	} while (!stream->avail_out);
}

int vt_pack_write(struct vt_pack *pack, json_t *object, FILE *out)
{
	struct base64 base64 = { .out = out };
	z_stream stream = { 0 };
	unsigned char head[4];
	char *text;
	size_t len;

	json_object_set(object, "columns", pack->columns);
	text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(object);
	len = text ? strlen(text) : 0;
	for (unsigned i = 0; i < sizeof(head); i++)
		head[i] = (unsigned char)(len >> 8 * i);
	if (!text || deflateInit(&stream, len + pack->bytes.len > MANY_BYTES ? 4 : 6) != Z_OK) {
		free(text);
		return -1;
	}
	compress_piece(&stream, &base64, head, sizeof(head), Z_NO_FLUSH);
	compress_piece(&stream, &base64, text, len, Z_NO_FLUSH);
	compress_piece(&stream, &base64, pack->bytes.data, pack->bytes.len, Z_FINISH);
	deflateEnd(&stream);
	put_line(base64.rest, base64.nr_rest, out);
	free(text);
	return ferror(out) ? -1 : 0;
}
