/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/globs.h"

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

int vt_globs_match(const struct vt_globs *globs, const char *text)
{
	for (unsigned i = 0; i < globs->nr; i++) {
		const char *pattern = globs->patterns[i];

		if (text ? fnmatch(pattern, text, 0) == 0 : strcmp(pattern, "-") == 0)
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

		if (fnmatch(pattern, is_qualified(pattern) ? qualified : bare, 0) == 0)
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
