/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_OWNER_ROWS_H
#define VT_ANALYZER_HTML_OWNER_ROWS_H

/* The table of owners at one or two moments of a device, as HTML that needs no script. */

#include <stdio.h>

#include "analyzer/analysis/books.h"

struct vt_owner_moment {
	const char *title; /* "most allocated" */
	const struct vt_books *books;
};

/* By the first moment's bytes, parents before their leaves, what no owner has below. */
void vt_owner_rows_print(const struct vt_owner_moment *moments, unsigned nr, FILE *out);

/* The largest owner by the first part of its path; NULL: there is none.  *len is that part's. */
const char *vt_owner_rows_largest(const struct vt_books *books, size_t *len, uint64_t *bytes);
/* It as "activations"; as "user (history)" where that part has this one leaf. */
void vt_owner_rows_print_name(const struct vt_books *books, const char *owner, size_t len,
			      FILE *out);
/* What the word means where it is no term of the field: "; tensors that ..."; else nothing. */
void vt_owner_rows_print_meaning(const char *owner, size_t len, FILE *out);

#endif
