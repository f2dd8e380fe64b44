/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/rules/globs.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"

void vt_globs_init(struct vt_globs *globs, const char *text, size_t len)
{
	VT_VECTOR(char *) patterns = { 0 };
	size_t i = 0;

	while (i < len) {
		size_t start;

		while (i < len && (text[i] == ' ' || text[i] == '\t'))
			i++;
		start = i;
		while (i < len && text[i] != ' ' && text[i] != '\t')
			i++;
		if (i > start)
			vt_vector_push(&patterns, vt_xstrndup(text + start, i - start));
	}
	globs->patterns = patterns.items;
	globs->nr = (unsigned)patterns.len;
}

void vt_globs_release(struct vt_globs *globs)
{
	for (unsigned i = 0; i < globs->nr; i++)
		free(globs->patterns[i]);
	free(globs->patterns);
	memset(globs, 0, sizeof(*globs));
}

static int is_special(char c)
{
	return c == '[' || c == '\\';
}

/* Where what follows a star may begin at the earliest; NULL: nowhere. */
static const char *find_start(const char *pattern, const char *text)
{
	if (is_special(*pattern) || *pattern == '?' || *pattern == '*')
		return text;
	return strchr(text, *pattern);
}

/*
 * fnmatch() without flags, but several times faster for what rules are made of: literals, "*" and
 * "?".  What begins with a set or an escape is left to it.
 */
static int fits(const char *pattern, const char *text)
{
	const char *behind_star = NULL, *retry = NULL;

	for (;;) {
		if (*pattern == '*') {
			behind_star = ++pattern;
			if (!*pattern)
				return 1;
			text = retry = find_start(pattern, text);
			if (!text)
				return 0;
		} else if (is_special(*pattern) && fnmatch(pattern, text, 0) == 0) {
			return 1;
		} else if (!is_special(*pattern) && *text &&
			   (*pattern == *text || *pattern == '?')) {
			pattern++;
			text++;
		} else if (!*pattern && !*text) {
			return 1;
		} else {
			/* The last star takes more; those before it need not. */
			if (!behind_star || !*retry)
				return 0;
			pattern = behind_star;
			text = retry = find_start(pattern, retry + 1);
			if (!text)
				return 0;
		}
	}
}

int vt_globs_match(const struct vt_globs *globs, const char *text)
{
	for (unsigned i = 0; i < globs->nr; i++) {
		const char *pattern = globs->patterns[i];

		if (text ? fits(pattern, text) : strcmp(pattern, "-") == 0)
			return 1;
	}
	return 0;
}

static int is_qualified(const char *pattern)
{
	const char *function = strrchr(pattern, ':');

	return strchr(function ? function : pattern, '.') != NULL;
}

int vt_globs_match_python(const struct vt_globs *globs, const struct vt_code *code)
{
	char bare[1024], qualified[1024];

	snprintf(bare, sizeof(bare), "%s:%s", code->file, code->short_name);
	snprintf(qualified, sizeof(qualified), "%s:%s", code->file, code->name);
	for (unsigned i = 0; i < globs->nr; i++) {
		const char *pattern = globs->patterns[i];

		if (fits(pattern, is_qualified(pattern) ? qualified : bare))
			return 1;
	}
	return 0;
}

int vt_globs_match_native(const struct vt_globs *globs, const struct vt_frames *frames,
			  uint32_t frame)
{
	char text[2048];
	const char *symbol = frames->native[frame].symbol;

	snprintf(text, sizeof(text), "%s!%s", vt_frames_library(frames, frame),
		 symbol ? symbol : "");
	return vt_globs_match(globs, text);
}
