/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/rules/templates.h"

#include <string.h>

#include "analyzer/base/util.h"

static const char *const placeholders[] = { "kind",	    "place", "variable",
					    "parameter", "name",  "holder" };

static int is_placeholder(const char *word, size_t len)
{
	for (size_t i = 0; i < VT_ARRAY_SIZE(placeholders); i++)
		if (strlen(placeholders[i]) == len && !memcmp(placeholders[i], word, len))
			return 1;
	return 0;
}

int vt_templates_is_valid(const char *text)
{
	const char *open = text ? strpbrk(text, "{}") : NULL;
	const char *close = open ? strpbrk(open + 1, "{}") : NULL;

	if (!open)
		return 1;
	return *open == '{' && close && *close == '}' &&
	       is_placeholder(open + 1, (size_t)(close - open - 1)) && !strpbrk(close + 1, "{}");
}
