/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_JSON_CURSOR_H
#define VT_ANALYZER_JSON_CURSOR_H

/*
 * JSON read in place, front to back: nothing is kept, so that 100 MB of it take no memory.  The
 * first thing that is no JSON sets is_bad, and everything behind it reads as empty.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_json_cursor {
	const char *at, *end;
	int is_bad;
};

/* A string as it stands between its quotes, escapes and all; not terminated, of the text's life. */
struct vt_json_text {
	const char *bytes;
	size_t len;
};

/* Goes into an object or an array: 1, or 0 where the next value is none. */
int vt_json_enter(struct vt_json_cursor *c, char open);

/*
 * To the next member of what was entered: 1, or 0 behind its last one.  `is_first` starts as 1 and
 * is this function's own from there on.
 */
int vt_json_next(struct vt_json_cursor *c, char close, int *is_first);

/* The name of a member, and the colon behind it. */
struct vt_json_text vt_json_name(struct vt_json_cursor *c);

struct vt_json_text vt_json_string(struct vt_json_cursor *c);

/* A whole number from 0 to 2^63-1: 0, or -1 where the value is another, which is skipped. */
int vt_json_whole(struct vt_json_cursor *c, uint64_t *number);

/* Any value, of up to 64 levels. */
void vt_json_skip(struct vt_json_cursor *c);

/* Whether nothing but space is left. */
int vt_json_is_over(struct vt_json_cursor *c);

int vt_json_is(const struct vt_json_text *text, const char *word);

#endif
