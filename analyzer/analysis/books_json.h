/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BOOKS_JSON_H
#define VT_ANALYZER_BOOKS_JSON_H

/*
 * The balance of a device as keys of a JSON object: totals, and "owners" with their provenance.
 */

#include <jansson.h>

#include "analyzer/analysis/books.h"

void vt_books_json_set(json_t *object, const struct vt_books *books);

#endif
