/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_UTIL_H
#define VT_ANALYZER_UTIL_H

/*
 * Memory, text and growing arrays for the vtrace command.  Running out of memory ends the command
 * with a message: there is nothing useful that it could still do, and every file it writes survives
 * being killed.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Allocators that never return NULL; what they give is freed with free(). */
void *vt_xmalloc(size_t size);
void *vt_xcalloc(size_t count, size_t size);
/*
 * The same, with every page written at once: for what is read before it is written.  A page of
 * vt_xcalloc's is mapped for the reading and once more for the writing.
 */
void *vt_xzeros(size_t count, size_t size);
void *vt_xrealloc(void *p, size_t size);
char *vt_xstrdup(const char *text);
char *vt_xstrndup(const char *text, size_t len);
char *vt_xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whether `text` ends so and has something before it. */
int vt_util_has_suffix(const char *text, const char *suffix);

/* What follows the last slash; borrowed from `path`. */
const char *vt_util_base_name(const char *path);

/* Bytes as lower-case hexadecimal digits; `out` has room for 2 * len + 1. */
void vt_util_hex(char *out, const void *bytes, size_t len);

/*
 * Opens a regular file for reading, -1 for anything else: a name that comes from a file may mean a
 * pipe, which would be waited for, or a device.
 */
int vt_util_open_regular(const char *path);

/*
 * Renames a file to a name that must be free: EEXIST otherwise.  0, or -1 with errno.
 */
int vt_util_rename(const char *from, const char *to);

/* Lines of text; who gets them frees them with vt_lines_free(). */
struct vt_lines {
	char **text;
	unsigned nr;
};

void vt_lines_free(struct vt_lines *lines);

/* Text that grows.  `data` is always NUL-terminated once anything was appended, NULL before. */
struct vt_buffer {
	char *data;
	size_t len;
	size_t capacity;
};

void vt_buffer_init(struct vt_buffer *buffer);
void vt_buffer_release(struct vt_buffer *buffer);
void vt_buffer_append(struct vt_buffer *buffer, const void *bytes, size_t len);
void vt_buffer_puts(struct vt_buffer *buffer, const char *text);
void vt_buffer_printf(struct vt_buffer *buffer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Gives the text to the caller (free()), never NULL; the buffer is empty afterwards. */
char *vt_buffer_detach(struct vt_buffer *buffer);

/*
 * A growing array of any type: VT_VECTOR(int) v = { 0 };  Elements v.items[0 .. v.len-1] may be
 * used directly; a push may move them.
 */
#define VT_VECTOR(type)                                                                            \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t len;                                                                        \
		size_t capacity;                                                                   \
	}

/* The same with a name, where it is passed between functions: VT_VECTOR_DECLARE(names, char *); */
#define VT_VECTOR_DECLARE(tag, type)                                                               \
	struct tag {                                                                               \
		type *items;                                                                       \
		size_t len;                                                                        \
		size_t capacity;                                                                   \
	}

#define vt_vector_reserve(v, wanted)                                                               \
	((v)->items = vt_vector_grow((v)->items, &(v)->capacity, (wanted), sizeof(*(v)->items)))

#define vt_vector_push(v, item)                                                                    \
	(vt_vector_reserve((v), (v)->len + 1), (void)((v)->items[(v)->len++] = (item)))

#define vt_vector_release(v) (free((v)->items), (v)->items = NULL, (v)->len = (v)->capacity = 0)

void *vt_vector_grow(void *items, size_t *capacity, size_t wanted, size_t item_size);

#endif
