/* SPDX-License-Identifier: MIT */
#include "simulator/driver_size.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *unit;
	double factor;
} UNITS[] = {
	{ "", 1 },	    { "B", 1 },	     { "KiB", VTS_KIB }, { "MiB", VTS_MIB },
	{ "GiB", VTS_GIB }, { "KB", 1e3 },   { "MB", 1e6 },	 { "GB", 1e9 },
};

int vts_size_parse(const char *text, uint64_t *size_bytes)
{
	char *end;
	double number;

	if (!isdigit((unsigned char)text[0]))
		return -1;
	number = strtod(text, &end);
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++)
		if (!strcmp(end, UNITS[i].unit) && number * UNITS[i].factor < 1e18) {
			*size_bytes = (uint64_t)(number * UNITS[i].factor);
			return 0;
		}
	return -1;
}
