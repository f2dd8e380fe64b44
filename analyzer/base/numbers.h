/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_NUMBERS_H
#define VT_ANALYZER_NUMBERS_H

/*
 * Whole numbers that users type.
 */

#include <stdint.h>

/* Digits only, at most `max`.  Returns 0, or -1 for anything else. */
int vt_numbers_parse(const char *text, int64_t max, int64_t *number);

#endif
