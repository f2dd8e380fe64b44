/* SPDX-License-Identifier: MIT */
#include "common/character.h"

#include <stdint.h>

#define CONTINUES(byte) (((byte)&0xc0) == 0x80)

/* What drives a terminal, or shows other text in another order than it has. */
static int is_control(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* Halves of UTF-16's pairs, and what is behind the last one. */
static int is_no_character(uint32_t c)
{
	return (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff;
}

/* 0: no UTF-8.  Ends at a NUL. */
static unsigned decode(const unsigned char *c, uint32_t *character)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned len = *c < 0x80	     ? 1
		       : (*c & 0xe0) == 0xc0 ? 2
		       : (*c & 0xf0) == 0xe0 ? 3
		       : (*c & 0xf8) == 0xf0 ? 4
					     : 0;

	*character = len > 1 ? *c & (0x7fu >> len) : *c;
	for (unsigned i = 1; i < len; i++) {
		if (!CONTINUES(c[i]))
			return 0;
		*character = *character << 6 | (c[i] & 0x3fu);
	}
	return len && *character >= least[len] && !is_no_character(*character) ? len : 0;
}

unsigned vt_character_read(const char *text, int *is_printable)
{
	uint32_t character;
	unsigned len = decode((const unsigned char *)text, &character);

	*is_printable = len && !is_control(character);
	return len ? len : 1;
}
