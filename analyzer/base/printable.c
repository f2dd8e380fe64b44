/* SPDX-License-Identifier: MIT */
#include "analyzer/base/printable.h"

#include "analyzer/base/util.h"

/* U+0080 to U+009F: U+009B begins a sequence as ESC [ does. */
static int is_high_control(const unsigned char *c)
{
	return c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f;
}

char *vt_printable_make(char *text)
{
	for (unsigned char *c = (unsigned char *)text; c && *c; c++) {
		if (is_high_control(c))
			*c++ = '?';
		else if (*c >= ' ' && *c != 0x7f)
			continue;
		*c = '?';
	}
	return text;
}

char *vt_printable_copy(const char *text)
{
	return text ? vt_printable_make(vt_xstrdup(text)) : NULL;
}
