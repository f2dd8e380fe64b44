/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_PACK_H
#define VT_ANALYZER_HTML_PACK_H

/*
 * The data of a page: one JSON object and named columns of numbers, compressed, as text that a
 * browser turns back (analyzer/page/data.ts).
 *
 * Before compression: the length of the JSON text (4 bytes, little endian), the text, the columns
 * one after the other.  A column is a row of differences between neighbours, each a zigzag number
 * of 7 bits per byte, low bits first.  "columns" of the object: name to [offset, bytes, numbers].
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/util.h"

struct vt_pack {
	struct vt_buffer bytes;
	json_t *columns;
	size_t column_offset; /* of the column that is being written */
	uint64_t column_nr;
	int64_t last;
	char column_name[48];
};

void vt_pack_init(struct vt_pack *pack);
void vt_pack_release(struct vt_pack *pack);

/* Columns are written one at a time. */
void vt_pack_begin(struct vt_pack *pack, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void vt_pack_put(struct vt_pack *pack, int64_t value);
void vt_pack_end(struct vt_pack *pack);

/*
 * Writes zlib's format as base64; takes `object`, to which "columns" is added.  0, or -1: it cannot
 * be packed, or `out` has an error.
 */
int vt_pack_write(struct vt_pack *pack, json_t *object, FILE *out);

#endif
