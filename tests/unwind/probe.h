/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_UNWIND_PROBE_H
#define VT_TESTS_UNWIND_PROBE_H

/*
 * libunwind, as the tests see it: from inside a shared library of its own.
 */

#pragma GCC visibility push(default)

/* The code addresses from the caller of this function upwards.  Returns how many. */
int probe_backtrace(void **addresses, int max);

/* What the recorder calls when the set of loaded libraries has changed. */
void probe_flush(void);

#pragma GCC visibility pop

#endif
