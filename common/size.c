/* SPDX-License-Identifier: MIT */
#include "common/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int find_factor(const char *unit, double *factor)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {
		{ "", 1 },         { "B", 1 },        { "K", 0x1p10 },   { "M", 0x1p20 },
		{ "G", 0x1p30 },   { "T", 0x1p40 },   { "KiB", 0x1p10 }, { "MiB", 0x1p20 },
		{ "GiB", 0x1p30 }, { "TiB", 0x1p40 }, { "KB", 1e3 },     { "MB", 1e6 },
		{ "GB", 1e9 },     { "TB", 1e12 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcasecmp(unit, units[i].name)) {
			*factor = units[i].factor;
			return 0;
		}
	}
	return -1;
}

int vt_size_parse(const char *text, uint64_t *bytes)
{
	double factor, value;
	int before = errno;
	int is_out_of_range;
	char *end;

	/* strtod would also take "inf", "nan", hexadecimal and leading blanks. */
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -1;
	if (strspn(text, "0123456789.") == 1 && (text[1] == 'x' || text[1] == 'X'))
		return -1;
	errno = 0;
	value = strtod(text, &end);
	is_out_of_range = errno != 0;
	errno = before;
	if (end == text || is_out_of_range)
		return -1;
	while (*end == ' ')
		end++;
	if (find_factor(end, &factor))
		return -1;
	value = value * factor + 0.5;
	/* The largest double below 2^63: everything is stored as a signed 64-bit number. */
	if (!(value >= 0 && value < 0x1p63))
		return -1;
	*bytes = (uint64_t)value;
	return 0;
}
