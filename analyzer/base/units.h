/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_UNITS_H
#define VT_ANALYZER_UNITS_H

/*
 * Bytes, times and counts to text.  Bytes are always written in powers of two and say so (GiB);
 * input (vt_size_parse of common/size.h) takes GB and GiB and never confuses them.  Every function
 * returns `buf`.
 */

#include <stddef.h>
#include <stdint.h>

#define VT_UNITS_MAX 32 /* bytes that always suffice for one text */

#define VT_KIB (1024ull)
#define VT_MIB (1024ull * 1024)
#define VT_GIB (1024ull * 1024 * 1024)

/* "0 B", "512 B", "1.50 KiB", "20.00 MiB", "62.97 GiB": two decimals. */
const char *vt_units_bytes(char *buf, size_t size, uint64_t bytes);
/* The same with a sign: "+2.30 GiB", "-20.00 MiB", "0 B". */
const char *vt_units_bytes_signed(char *buf, size_t size, int64_t bytes);
/* "1,204,311" */
const char *vt_units_count(char *buf, size_t size, uint64_t count);
/* "850 ms", "41.2 s", "1 min 12 s", "2 h 5 min" */
const char *vt_units_duration(char *buf, size_t size, uint64_t ns);

#endif
