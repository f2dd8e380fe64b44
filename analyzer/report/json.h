/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_JSON_H
#define VT_ANALYZER_JSON_H

/*
 * What every --json of the command shares.  Bytes and times are integers; keys keep the order in
 * which they were set, and are only ever added.
 */

#include <jansson.h>
#include <stdio.h>

#include "analyzer/model/describe.h"

/*
 * A string, null for NULL.  Text that is no UTF-8 (a file name may be) has its odd bytes replaced
 * by '?'.
 */
json_t *vt_json_text(const char *text);
json_t *vt_json_integer(uint64_t value);
/* Takes the lines. */
json_t *vt_json_lines(struct vt_lines lines);

/* Prints a text as JSON, where a document is too long to be built first. */
void vt_json_put_text(const char *text, FILE *out);
/* Prints with a newline behind it and lets go of `value`. */
void vt_json_print(json_t *value, FILE *out);

#endif
