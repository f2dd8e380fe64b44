/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_JSON_H
#define VT_ANALYZER_JSON_H

/*
 * What every --json of the command shares.  Bytes and times are integers; keys keep the order in
 * which they were set, and are only ever added.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/base/util.h"

/*
 * A string, null for NULL.  Text that is no UTF-8 (a file name may be) has its odd bytes replaced
 * by '?'.
 */
json_t *vt_json_text(const char *text);
json_t *vt_json_integer(uint64_t value);
/* A figure as a whole number, halves away from zero. */
json_t *vt_json_rounded(double value);
/* Takes the lines. */
json_t *vt_json_lines(struct vt_lines lines);

/*
 * Sets or appends a text (NULL: null), a whole number, a double, or a value that is taken.  Bytes
 * that are held as a double are set with vt_json_rounded(), a condition with json_boolean().
 */
#define vt_json_set(object, key, value)                                                            \
	json_object_set_new((object), (key), VT_JSON_OF(value)(value))
#define vt_json_append(array, value) json_array_append_new((array), VT_JSON_OF(value)(value))
/* null unless `condition` holds; only then is the value computed. */
#define vt_json_set_if(object, key, condition, value)                                              \
	json_object_set_new((object), (key),                                                       \
			    (condition) ? VT_JSON_OF(value)(value) : json_null())

#define VT_JSON_OF(value)                                                                          \
	_Generic((value),                                                                          \
		json_t *: vt_json_taken,                                                           \
		char *: vt_json_text,                                                              \
		const char *: vt_json_text,                                                        \
		double: json_real,                                                                 \
		default: json_integer)
static inline json_t *vt_json_taken(json_t *value)
{
	return value;
}

/* A new object at the end of `array`; borrowed. */
json_t *vt_json_append_object(json_t *array);

/* Prints a text as JSON, where a document is too long to be built first. */
void vt_json_put_text(const char *text, FILE *out);
/*
 * A flag of jansson's: on a terminal all that is not ASCII is escaped, which says the same and
 * drives nothing.
 */
size_t vt_json_escapes(FILE *out);
/* Prints with a newline after it and releases `value`. */
void vt_json_print(json_t *value, FILE *out);

#endif
