/* SPDX-License-Identifier: MIT */
#include "analyzer/base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void print_bytes(char *buf, size_t size, const char *sign, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(buf, size, "%s%llu B", sign, (unsigned long long)bytes);
		return;
	}
	/* 1023.995 would be printed as 1024.00 of the smaller unit. */
	while (value >= 1023.995 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	snprintf(buf, size, "%s%.2f %s", sign, value, units[i]);
}

const char *vt_units_bytes(char *buf, size_t size, uint64_t bytes)
{
	print_bytes(buf, size, "", bytes);
	return buf;
}

const char *vt_units_bytes_signed(char *buf, size_t size, int64_t bytes)
{
	const char *sign = bytes > 0 ? "+" : bytes < 0 ? "-" : "";

	print_bytes(buf, size, sign, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
	return buf;
}

const char *vt_units_count(char *buf, size_t size, uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t at = 0;

	if (!size)
		return buf;
	for (int i = 0; i < len && at + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *vt_units_duration(char *buf, size_t size, uint64_t ns)
{
	uint64_t seconds = (ns + 500000000) / 1000000000;

	if (ns < 1000000)
		snprintf(buf, size, "%llu us", (unsigned long long)(ns / 1000));
	else if (ns < 1000000000)
		snprintf(buf, size, "%llu ms", (unsigned long long)(ns / 1000000));
	else if (ns < 59950000000) /* above, one decimal would print 60.0 s */
		snprintf(buf, size, "%.1f s", (double)ns / 1e9);
	else if (seconds < 3600)
		snprintf(buf, size, "%llu min %llu s", (unsigned long long)(seconds / 60),
			 (unsigned long long)(seconds % 60));
	else
		snprintf(buf, size, "%llu h %llu min", (unsigned long long)(seconds / 3600),
			 (unsigned long long)(seconds % 3600 / 60));
	return buf;
}

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

int vt_units_parse_bytes(const char *text, uint64_t *bytes)
{
	double factor, value;
	char *end;

	/* strtod would also take "inf", "nan", hexadecimal and leading blanks. */
	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return -1;
	if (strspn(text, "0123456789.") == 1 && (text[1] == 'x' || text[1] == 'X'))
		return -1;
	errno = 0;
	value = strtod(text, &end);
	if (end == text || errno)
		return -1;
	while (*end == ' ')
		end++;
	if (find_factor(end, &factor))
		return -1;
	value = floor(value * factor + 0.5);
	/* The largest double below 2^63: everything is stored as a signed 64-bit number. */
	if (!(value >= 0 && value < 0x1p63))
		return -1;
	*bytes = (uint64_t)value;
	return 0;
}
