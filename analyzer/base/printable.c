/* SPDX-License-Identifier: MIT */
#include "analyzer/base/printable.h"

#include <string.h>

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

char *vt_printable_copy(const char *text)
{
	return text ? vt_printable_make(vt_xstrdup(text)) : NULL;
}
