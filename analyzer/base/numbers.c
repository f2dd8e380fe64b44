/* SPDX-License-Identifier: MIT */
#include "analyzer/base/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

int vt_numbers_parse(const char *text, int64_t max, int64_t *number)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || value > max)
		return -1;
	*number = value;
	return 0;
}
