/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_FREES_H
#define VT_PRELOAD_PYTHON_FREES_H

/*
 * Whether code objects have been freed, so that what is known of an address may be of another now.
 * CPython before 3.12 has nothing to ask for that: the word of the type `code` that says how its
 * objects are freed (tp_dealloc) is exchanged, once, for a function that counts and calls the
 * original one.
 *
 * Context: any thread; vt_python_frees_watch one at a time.
 */

#include <stddef.h>
#include <stdint.h>

/* From now on, objects of this type are counted when they are freed; its word lies at `at`. */
void vt_python_frees_watch(const void *type, size_t at);

/*
 * Another number whenever one may have been freed since the last call; from 1.  Where the word
 * could not be exchanged: each time.
 */
uint64_t vt_python_frees_count(void);

#endif
