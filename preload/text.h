/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TEXT_H
#define VT_PRELOAD_TEXT_H

/*
 * Builds short texts without stdio or malloc, and says things on standard error.  A text that does
 * not fit is cut and stays NUL-terminated; is_cut says so.
 *
 * Context: hook, any thread (a text belongs to one).
 */

#include <stddef.h>
#include <stdint.h>

struct vt_text {
	char *bytes;
	size_t size;
	size_t len;
	int is_cut;
};

/* An empty text over the caller's buffer of at least one byte. */
void vt_text_init(struct vt_text *text, char *buffer, size_t size);

void vt_text_add(struct vt_text *text, const char *string);
void vt_text_add_bytes(struct vt_text *text, const char *bytes, size_t len);
void vt_text_add_char(struct vt_text *text, char c);
void vt_text_add_number(struct vt_text *text, uint64_t number);	 /* 1204311 */
void vt_text_add_grouped(struct vt_text *text, uint64_t number); /* 1,204,311 */
void vt_text_add_size(struct vt_text *text, uint64_t size_bytes); /* 18.20 MiB */
void vt_text_add_error(struct vt_text *text, int error); /* No space left on device */

/* Remembers which file standard error is now, so that later messages never land in another one. */
void vt_text_remember_stderr(void);

/* Writes the text to standard error in one piece, unless that has become another file since. */
void vt_text_say(const struct vt_text *text);

#endif
