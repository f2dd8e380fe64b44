/* SPDX-License-Identifier: MIT */
#include "analyzer/base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/size.h"

static void print_bytes(char *buf, size_t size, const char *sign, uint64_t bytes)
{
	struct vt_size_parts parts = vt_size_split(bytes);

	if (bytes < 1024)
		snprintf(buf, size, "%s%llu B", sign, (unsigned long long)bytes);
	else
		snprintf(buf, size, "%s%llu.%02u %s", sign, (unsigned long long)parts.whole,
			 parts.hundredths, parts.unit);
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
