/* SPDX-License-Identifier: MIT */
#include "analyzer/base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "common/character.h"

char *vt_printable_make(char *text)
{
	for (char *c = text; c && *c;) {
		int is_printable;
		unsigned len = vt_character_read(c, &is_printable);

		if (!is_printable)
			memset(c, '?', len);
		c += len;
	}
	return text;
}

void vt_printable_path(const char *path)
{
	char *shown = isatty(STDOUT_FILENO) ? vt_printable_copy(path) : vt_xstrdup(path);

	puts(shown);
	free(shown);
}

char *vt_printable_copy(const char *text)
{
	return text ? vt_printable_make(vt_xstrdup(text)) : NULL;
}
