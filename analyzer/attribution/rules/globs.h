/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GLOBS_H
#define VT_ANALYZER_GLOBS_H

/*
 * A list of shell patterns ("*Attention* *MLP"), as rules write them, and whether one of them fits
 * a text, a Python frame or a native frame.
 *
 * Frames are matched as "FILE:FUNCTION" and "LIBRARY!SYMBOL".  A Python function without a dot in
 * the pattern stands for the bare name, so that it also fits interpreters that do not record
 * qualified names.
 */

#include <stddef.h>

#include "analyzer/model/frames.h"

struct vt_globs {
	char **patterns;
	unsigned nr;
};

/* Splits `text` at blanks. */
void vt_globs_init(struct vt_globs *globs, const char *text, size_t len);
void vt_globs_release(struct vt_globs *globs);

/* A NULL text fits only the pattern "-" (nothing there). */
int vt_globs_match(const struct vt_globs *globs, const char *text);
int vt_globs_match_python(const struct vt_globs *globs, const struct vt_code *code);
int vt_globs_match_native(const struct vt_globs *globs, const struct vt_frames *frames,
			  uint32_t frame);

#endif
