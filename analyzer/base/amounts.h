/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_AMOUNTS_H
#define VT_ANALYZER_AMOUNTS_H

/*
 * How much may be taken, as users type it: "2 GiB" and "20%" by themselves, "+64 MiB" and "+5%"
 * more than a base took.  The one grammar of budgets.
 */

#include <stdint.h>

struct vt_amount {
	uint64_t bytes;
	double percent;
	uint8_t is_percent;
	uint8_t is_relative; /* "+": to a base */
};

/* Returns 0, or -1 where `text` is no such thing (negative, unknown unit, trailing text). */
int vt_amounts_parse(const char *text, struct vt_amount *amount);

/* The most that it allows; `base_bytes` only counts where it is relative. */
uint64_t vt_amounts_most(const struct vt_amount *amount, uint64_t base_bytes);

#endif
