/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_SIZE_H
#define VT_COMMON_SIZE_H

#include <stdint.h>

/*
 * Text to bytes: "24GiB", "24 GB", "1.5g", "4096".  K, M, G, T alone and KiB .. TiB are powers of
 * 1024, KB .. TB powers of 1000.  Returns 0, or -1 for anything else (negative, overflow, trailing
 * text); *bytes is then unchanged.
 */
int vt_size_parse(const char *text, uint64_t *bytes);

/*
 * Bytes to text: "512 B", "20.00 MiB", "62.97 GiB".  Rounded as printf's %.2f does, halves to the
 * even digit; what would be 1024.00 of a unit is 1.00 of the next one.
 */
struct vt_size_parts {
	uint64_t whole;
	unsigned int hundredths; /* 0 of plain bytes, which are written without */
	const char *unit;
};
struct vt_size_parts vt_size_split(uint64_t bytes);

#endif
