/* SPDX-License-Identifier: MIT */
#include "analyzer/export/gzip.h"

#include <errno.h>
#include <zlib.h>

#include "analyzer/base/util.h"

#define WINDOW_GZIP (15 + 16)
#define MEMORY_LEVEL 8
#define PIECE_BYTES (1 << 16)
#define MOST_AT_ONCE ((size_t)1 << 30)

struct gzip {
	z_stream stream;
	FILE *below;
	unsigned char piece[PIECE_BYTES];
};

/* 0, or -1 with errno where `below` cannot be written. */
static int deflate_into(struct gzip *gzip, int flush)
{
	do {
		gzip->stream.next_out = gzip->piece;
		gzip->stream.avail_out = PIECE_BYTES;
		if (deflate(&gzip->stream, flush) == Z_STREAM_ERROR) {
			errno = EIO;
			return -1;
		}
		fwrite(gzip->piece, 1, PIECE_BYTES - gzip->stream.avail_out, gzip->below);
	} while (!gzip->stream.avail_out);
	return ferror(gzip->below) ? -1 : 0;
}

static ssize_t write_piece(void *cookie, const char *bytes, size_t len)
{
	struct gzip *gzip = cookie;

	/* What is not taken is given again: a stream's buffer may be larger than zlib's numbers. */
	if (len > MOST_AT_ONCE)
		len = MOST_AT_ONCE;
	gzip->stream.next_in = (unsigned char *)bytes;
	gzip->stream.avail_in = (unsigned)len;
	return deflate_into(gzip, Z_NO_FLUSH) ? 0 : (ssize_t)len;
}

static int close_stream(void *cookie)
{
	struct gzip *gzip = cookie;
	int rc = deflate_into(gzip, Z_FINISH);

	deflateEnd(&gzip->stream);
	free(gzip);
	return rc;
}

FILE *vt_gzip_open(FILE *below)
{
	const cookie_io_functions_t functions = { .write = write_piece, .close = close_stream };
	struct gzip *gzip = vt_xcalloc(1, sizeof(*gzip));
	FILE *file;

	gzip->below = below;
	file = fopencookie(gzip, "w", functions);
	if (!file || deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP,
				  MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		abort(); /* no memory */
	return file;
}
