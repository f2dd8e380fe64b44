/* SPDX-License-Identifier: MIT */
#include "analyzer/output/json.h"

#include <math.h>
#include <unistd.h>

#include "analyzer/base/util.h"

json_t *vt_json_text(const char *text)
{
	json_t *value;
	char *copy;

	if (!text)
		return json_null();
	value = json_string(text);
	if (value)
		return value;
	copy = vt_xstrdup(text);
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	value = json_string(copy);
	free(copy);
	return value;
}

json_t *vt_json_integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *vt_json_rounded(double value)
{
	return json_integer(llround(value));
}

json_t *vt_json_append_object(json_t *array)
{
	json_t *object = json_object();

	json_array_append_new(array, object);
	return object;
}

json_t *vt_json_lines(struct vt_lines lines)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < lines.nr; i++)
		vt_json_append(array, lines.text[i]);
	vt_lines_free(&lines);
	return array;
}

void vt_json_put_text(const char *text, FILE *out)
{
	json_t *value = vt_json_text(text);

	json_dumpf(value, out, JSON_ENCODE_ANY);
	json_decref(value);
}

size_t vt_json_escapes(FILE *out)
{
	return isatty(fileno(out)) ? JSON_ENSURE_ASCII : 0;
}

void vt_json_print(json_t *value, FILE *out)
{
	/* Six digits: shares of bytes, nothing finer. */
	json_dumpf(value, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6) | vt_json_escapes(out));
	fputc('\n', out);
	json_decref(value);
}
