/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "analyzer/base/util.h"
#include "analyzer/snapshot/zip.h"

#define BUFFER_BYTES ((size_t)64 << 10)

/* windowBits of inflateInit2: a gzip header, none. */
#define GZIP_WINDOW 31
#define RAW_WINDOW  (-15)

struct vt_stream {
	char *path;
	int fd;
	uint64_t at; /* in the file */
	uint64_t end;
	uint64_t file_bytes;
	int is_deflated;
	int is_gzip;
	int is_over;
	z_stream inflater;
	unsigned char buffer[BUFFER_BYTES];
};

enum vt_stream_content vt_stream_content(const unsigned char *bytes, size_t len)
{
	if (len >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5)
		return VT_STREAM_PICKLE;
	if (len >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
		return VT_STREAM_GZIP;
	if (len >= 4 && !memcmp(bytes, "PK\3\4", 4))
		return VT_STREAM_ZIP;
	return VT_STREAM_UNKNOWN;
}

static int begin(struct vt_stream *s, struct vt_diag *diag)
{
	unsigned char head[4];
	ssize_t len = pread(s->fd, head, sizeof(head), 0);
	struct vt_zip_member member;
	int window = GZIP_WINDOW;

	switch (vt_stream_content(head, len < 0 ? 0 : (size_t)len)) {
	case VT_STREAM_GZIP:
		s->is_gzip = s->is_deflated = 1;
		break;
	case VT_STREAM_ZIP:
		if (vt_zip_find(&member, s->fd, s->file_bytes, s->path, diag))
			return -1;
		s->at = member.offset;
		s->end = member.offset + member.stored_bytes;
		s->is_deflated = member.is_deflated;
		window = RAW_WINDOW;
		break;
	default:
		return 0;
	}
	if (s->is_deflated && inflateInit2(&s->inflater, window) != Z_OK) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", s->path, strerror(ENOMEM));
		s->is_deflated = 0;
		return -1;
	}
	return 0;
}

int vt_stream_open(struct vt_stream **stream, const char *path, struct vt_diag *diag)
{
	struct vt_stream *s = vt_xcalloc(1, sizeof(*s));
	struct stat st;

	s->path = vt_xstrdup(path);
	/* Not waiting for the writer of a pipe. */
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0 || fstat(s->fd, &st)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path,
			    S_ISDIR(st.st_mode) ? "is a directory" : "not a regular file");
	} else if (!st.st_size) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: empty", path);
	} else {
		s->end = s->file_bytes = (uint64_t)st.st_size;
		if (!begin(s, diag)) {
			*stream = s;
			return 0;
		}
	}
	vt_stream_close(s);
	return -1;
}

void vt_stream_close(struct vt_stream *s)
{
	if (!s)
		return;
	if (s->is_deflated)
		inflateEnd(&s->inflater);
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s);
}

/* As it is in the file. */
static ptrdiff_t read_stored(struct vt_stream *s, void *bytes, size_t len, struct vt_diag *diag)
{
	uint64_t left = s->end - s->at;
	ssize_t nr;

	do {
		nr = pread(s->fd, bytes, len < left ? len : (size_t)left, (off_t)s->at);
	} while (nr < 0 && errno == EINTR);
	if (nr < 0)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", s->path, strerror(errno));
	else
		s->at += (uint64_t)nr;
	return nr;
}

static ptrdiff_t damaged(struct vt_stream *s, const char *what, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: the compressed data is %s", s->path, what);
	return -1;
}

/* The end of one compressed part; files of gzip may have several, one after the other. */
static void end_part(struct vt_stream *s)
{
	s->is_over = !s->is_gzip || (!s->inflater.avail_in && s->at == s->end) ||
		     inflateReset(&s->inflater) != Z_OK;
}

static ptrdiff_t read_deflated(struct vt_stream *s, void *bytes, size_t len, struct vt_diag *diag)
{
	z_stream *z = &s->inflater;
	uInt room = len > BUFFER_BYTES ? (uInt)BUFFER_BYTES : (uInt)len;

	z->next_out = bytes;
	z->avail_out = room;
	while (!s->is_over && z->avail_out == room) {
		if (!z->avail_in) {
			ptrdiff_t nr = read_stored(s, s->buffer, sizeof(s->buffer), diag);

			if (nr <= 0)
				return nr ? nr : damaged(s, "truncated", diag);
			z->next_in = s->buffer;
			z->avail_in = (uInt)nr;
		}
		switch (inflate(z, Z_NO_FLUSH)) {
		case Z_OK:
		case Z_BUF_ERROR:
			break;
		case Z_STREAM_END:
			end_part(s);
			break;
		default:
			return damaged(s, "damaged", diag);
		}
	}
	return room - z->avail_out;
}

ptrdiff_t vt_stream_read(struct vt_stream *s, void *bytes, size_t len, struct vt_diag *diag)
{
	return s->is_deflated ? read_deflated(s, bytes, len, diag) :
				read_stored(s, bytes, len, diag);
}

uint64_t vt_stream_file_bytes(const struct vt_stream *s)
{
	return s->file_bytes;
}

const char *vt_stream_path(const struct vt_stream *s)
{
	return s->path;
}
