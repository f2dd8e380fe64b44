/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/config.h"

#include <string.h>

#include "analyzer/base/printable.h"

/* The length of a word of Python for a number that JSON has none for, at the beginning of text. */
static size_t no_number(const char *text, size_t len)
{
	static const char *const words[] = { "-Infinity", "Infinity", "NaN" };

	for (size_t i = 0; i < VT_ARRAY_SIZE(words); i++)
		if (len >= strlen(words[i]) && !memcmp(text, words[i], strlen(words[i])))
			return strlen(words[i]);
	return 0;
}

/*
 * Python's json, and so many a config.json, writes limits without an end as Infinity, which is not
 * JSON: a copy with null in their places, lines and columns as they were.
 */
static char *without_infinities(const char *text, size_t len)
{
	char *copy = vt_xmalloc(len + 1);
	int is_string = 0;

	memcpy(copy, text, len);
	copy[len] = '\0';
	for (size_t i = 0; i < len; i++) {
		size_t word = is_string ? 0 : no_number(copy + i, len - i);

		if (copy[i] == '"')
			is_string = !is_string;
		else if (is_string && copy[i] == '\\')
			i++;
		else if (word == strlen("NaN"))
			memcpy(copy + i, "0.0", word);
		else if (word) {
			memset(copy + i, ' ', word);
			memcpy(copy + i, "null", strlen("null"));
		}
	}
	return copy;
}

int vt_config_read(struct vt_architecture *model, const char *text, size_t len, const char *where,
		   struct vt_diag *diag)
{
	json_error_t error;
	char *copy = without_infinities(text, len);
	json_t *config = json_loadb(copy, len, JSON_REJECT_DUPLICATES, &error);
	int rc;

	free(copy);
	if (!config) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: invalid JSON: line %d: %.120s", where,
			    error.line, vt_printable_make(error.text));
		return -1;
	}
	rc = vt_config_from_json(model, config, where, diag);
	json_decref(config);
	return rc;
}
