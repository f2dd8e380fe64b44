/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_SQLITE_MEMORY_H
#define VT_TESTS_SQLITE_MEMORY_H

/*
 * Memory of SQLite for tests that open a database a million times under AddressSanitizer, which is
 * slow to give and take memory, and SQLite asks for it all the time.  What is freed is poisoned, as
 * is what lies between two pieces: our code that uses a row after its statement is found as before.
 * In builds without that sanitizer nothing is replaced.
 */

#include <stdint.h>

/* Before anything uses SQLite. */
void sqlite_memory_set_up(void);

/* Pieces that were given and not freed, which LeakSanitizer does not see; else always 0. */
uint64_t sqlite_memory_live(void);

#endif
