/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_GUARDED_H
#define VT_TESTS_GUARDED_H

/*
 * Bytes whose end is the end of their page, with no page after it: a read past them ends the test
 * in every build, not only under a sanitizer.
 */

#include <stddef.h>

/* A copy, not aligned; release with guarded_free() and the same `len`. */
void *guarded_copy(const void *bytes, size_t len);
void guarded_free(void *copy, size_t len);

#endif
