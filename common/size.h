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

#endif
