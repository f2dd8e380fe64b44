/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_UTF8_H
#define VT_PRELOAD_UTF8_H

/* Code points as UTF-8, by hand: the C library's converters depend on the program's locale. */

#include <stddef.h>
#include <stdint.h>

/*
 * Writes one code point to out if it fits into size bytes.  Returns the number of bytes (1 to 4),
 * or 0 where there is no room.  What is no character (a surrogate, above U+10FFFF) becomes U+FFFD.
 */
static inline size_t vt_utf8_encode(uint32_t point, char *out, size_t size)
{
	size_t nr, i;

	if ((point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff)
		point = 0xfffd;
	nr = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	if (nr > size)
		return 0;
	if (nr == 1) {
		out[0] = (char)point;
		return 1;
	}
	for (i = nr - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (point & 0x3f));
		point >>= 6;
	}
	/* 110xxxxx, 1110xxxx, 11110xxx */
	out[0] = (char)((0xf00u >> nr & 0xf0) | point);
	return nr;
}

#endif
