/* SPDX-License-Identifier: MIT */
#include "analyzer/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *checked(void *p)
{
	if (!p) {
		fputs("vtrace: out of memory\n", stderr);
		exit(3);
	}
	return p;
}

void *vt_xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *vt_xcalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *vt_xzeros(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX;
	return memset(vt_xmalloc(bytes), 0, bytes);
}

void *vt_xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

char *vt_xstrdup(const char *text)
{
	return checked(strdup(text));
}

char *vt_xstrndup(const char *text, size_t len)
{
	return checked(strndup(text, len));
}

char *vt_xasprintf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	return checked(text);
}

int vt_util_has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len > suffix_len && !strcmp(text + len - suffix_len, suffix);
}

const char *vt_util_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void vt_util_hex(char *out, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < len; i++) {
		*out++ = digits[byte[i] >> 4];
		*out++ = digits[byte[i] & 15];
	}
	*out = '\0';
}

int vt_util_open_regular(const char *path)
{
	struct stat st;
	int fd;

	/* Asked twice: opening a device can do something by itself, and the name can change. */
	if (stat(path, &st))
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int vt_util_rename(const char *from, const char *to)
{
	int rc = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

	/* File systems without the flag (NFS, older overlayfs) can still link without replacing. */
	if (rc && (errno == EINVAL || errno == ENOSYS))
		rc = link(from, to) ? -1 : unlink(from);
	return rc;
}

void vt_lines_free(struct vt_lines *lines)
{
	for (unsigned i = 0; i < lines->nr; i++)
		free(lines->text[i]);
	free(lines->text);
	memset(lines, 0, sizeof(*lines));
}

void vt_buffer_init(struct vt_buffer *buffer)
{
	memset(buffer, 0, sizeof(*buffer));
}

void vt_buffer_release(struct vt_buffer *buffer)
{
	free(buffer->data);
	vt_buffer_init(buffer);
}

/* Room for `len` more bytes and the NUL. */
static void make_room(struct vt_buffer *buffer, size_t len)
{
	size_t wanted = buffer->len + len + 1;

	if (wanted <= buffer->capacity)
		return;
	if (wanted < buffer->capacity * 2)
		wanted = buffer->capacity * 2;
	buffer->data = vt_xrealloc(buffer->data, wanted);
	buffer->capacity = wanted;
}

void vt_buffer_append(struct vt_buffer *buffer, const void *bytes, size_t len)
{
	make_room(buffer, len);
	if (len)
		memcpy(buffer->data + buffer->len, bytes, len);
	buffer->len += len;
	buffer->data[buffer->len] = '\0';
}

void vt_buffer_puts(struct vt_buffer *buffer, const char *text)
{
	vt_buffer_append(buffer, text, strlen(text));
}

__attribute__((format(printf, 2, 0))) static void
print_arguments(struct vt_buffer *buffer, const char *fmt, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	if (len > 0) {
		make_room(buffer, (size_t)len);
		vsnprintf(buffer->data + buffer->len, (size_t)len + 1, fmt, again);
		buffer->len += (size_t)len;
	}
	va_end(again);
}

void vt_buffer_printf(struct vt_buffer *buffer, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_arguments(buffer, fmt, args);
	va_end(args);
}

char *vt_buffer_detach(struct vt_buffer *buffer)
{
	char *text = buffer->data ? buffer->data : vt_xstrdup("");

	vt_buffer_init(buffer);
	return text;
}

void *vt_vector_grow(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
	size_t grown = *capacity ? *capacity * 2 : 16;

	if (wanted <= *capacity)
		return items;
	if (grown < wanted)
		grown = wanted;
	*capacity = grown;
	return vt_xrealloc(items, grown * item_size);
}
