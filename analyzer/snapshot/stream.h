/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_STREAM_H
#define VT_ANALYZER_STREAM_H

/*
 * The bytes of a pickle, whatever it is wrapped in: a plain file, a file of gzip, or the one pickle
 * in a zip archive (torch.save writes such archives).
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/diag.h"

struct vt_stream;

/* What a file holds, by its first bytes. */
enum vt_stream_content {
	VT_STREAM_UNKNOWN,
	VT_STREAM_PICKLE, /* protocol 2 or later */
	VT_STREAM_GZIP,
	VT_STREAM_ZIP,
};
enum vt_stream_content vt_stream_content(const unsigned char *bytes, size_t len);

/* Returns 0, or -1 with `diag` filled (exit code 3). */
int vt_stream_open(struct vt_stream **stream, const char *path, struct vt_diag *diag);
void vt_stream_close(struct vt_stream *stream);

/* How many bytes were read, 0 at the end, -1 with `diag` filled. */
ptrdiff_t vt_stream_read(struct vt_stream *stream, void *bytes, size_t len, struct vt_diag *diag);

/* Of the file: for progress and bounds. */
uint64_t vt_stream_file_bytes(const struct vt_stream *stream);
const char *vt_stream_path(const struct vt_stream *stream);

#endif
