/* SPDX-License-Identifier: MIT */
#include "analyzer/report/program_name.h"

#include <jansson.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"

char *vt_program_name(const char *command)
{
	json_t *words = command ? json_loads(command, 0, NULL) : NULL;
	const char *name = json_string_value(json_array_get(words, 0));
	char *text;

	if (name && strncmp(vt_util_base_name(name), "python", 6) == 0)
		for (size_t i = 1; i < json_array_size(words); i++) {
			const char *word = json_string_value(json_array_get(words, i));

			if (!word || (word[0] == '-' && word[1]))
				continue;
			name = word;
			break;
		}
	text = vt_printable_copy(name ? vt_util_base_name(name) : "unknown program");
	json_decref(words);
	return text;
}
