/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/program_name.h"

#include <jansson.h>
#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"

/* Options of Python whose value is a separate word. */
static int has_value(const char *option)
{
	return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0;
}

/*
 * What a Python runs: the script or the module, or "python -c", whose program is no name.  NULL:
 * its input.
 */
static const char *python_program(json_t *words)
{
	for (size_t i = 1; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));

		if (word && strcmp(word, "-c") == 0)
			return "python -c";
		if (word && strcmp(word, "ipykernel_launcher") == 0)
			return "notebook";
		if (word && has_value(word))
			i++;
		else if (word && (word[0] != '-' || !word[1]))
			return word;
	}
	return NULL;
}

char *vt_program_name(const char *command)
{
	json_t *words = command ? json_loads(command, 0, NULL) : NULL;
	const char *name = json_string_value(json_array_get(words, 0));
	const char *inner = NULL;
	char *text;

	if (name && strncmp(vt_util_base_name(name), "python", 6) == 0)
		inner = python_program(words);
	if (inner)
		name = inner;
	text = vt_printable_copy(name ? vt_util_base_name(name) : "unknown program");
	json_decref(words);
	return text;
}

char *vt_program_name_of(struct vt_db *db)
{
	char *command = vt_db_run_get(db, "command"), *name = NULL;

	if (!command)
		name = vt_printable_make(vt_db_run_get(db, "snapshot"));
	if (!name)
		name = vt_program_name(command);
	free(command);
	return name;
}
