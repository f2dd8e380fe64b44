/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PROTOBUF_H
#define VT_ANALYZER_PROTOBUF_H

/*
 * Messages of Protocol Buffers, written field by field into a buffer.
 *
 * Why not protobuf-c or nanopb: Perfetto and pprof take a dozen messages with some thirty fields,
 * and writing needs two encodings only, numbers and bytes.  A library would need both schemas in
 * the tree (Perfetto's alone is 600 kB), a code generator in the build and all of a message in
 * memory.  The tests read what is written with the schemas' own classes.
 */

#include "analyzer/base/util.h"

/* Negative numbers as ten bytes, which is what int64 fields have. */
void vt_protobuf_number(struct vt_buffer *message, unsigned field, uint64_t value);
/* What is no UTF-8 becomes '?'.  NULL: no field. */
void vt_protobuf_text(struct vt_buffer *message, unsigned field, const char *text);
/* Appends `inner` as a field, and empties it. */
void vt_protobuf_message(struct vt_buffer *message, unsigned field, struct vt_buffer *inner);
/* A repeated number, packed. */
void vt_protobuf_packed(struct vt_buffer *message, unsigned field, const uint64_t *values,
			size_t nr);

#endif
