/* SPDX-License-Identifier: MIT */
#include "analyzer/base/amounts.h"

#include <stdlib.h>
#include <string.h>

#include "common/size.h"

/* Far above anything that is meant, far below what a product with bytes overflows at. */
#define MOST_PERCENT 1e6

static int is_percent(const char *end)
{
	return !strcmp(end, "%") || !strcmp(end, " %");
}

int vt_amounts_parse(const char *text, struct vt_amount *amount)
{
	char *end;

	memset(amount, 0, sizeof(*amount));
	amount->is_relative = *text == '+';
	text += amount->is_relative;
	/* strtod() knows more than numbers: blanks, signs, "inf", "0x1p3". */
	if (!*text || strspn(text, "0123456789.") == 0)
		return -1;
	amount->percent = strtod(text, &end);
	amount->is_percent = is_percent(end);
	if (!amount->is_percent)
		return vt_size_parse(text, &amount->bytes);
	if (strspn(text, "0123456789.") != (size_t)(end - text))
		return -1;
	return amount->percent <= MOST_PERCENT ? 0 : -1;
}

uint64_t vt_amounts_most(const struct vt_amount *amount, uint64_t base_bytes)
{
	uint64_t more = amount->bytes;

	if (!amount->is_relative)
		return amount->bytes;
	if (amount->is_percent) {
		double share = amount->percent / 100 * (double)base_bytes;

		/* 2^64: above it, the conversion is undefined. */
		more = share < 0x1p64 ? (uint64_t)share : UINT64_MAX;
	}
	return more > UINT64_MAX - base_bytes ? UINT64_MAX : base_bytes + more;
}
