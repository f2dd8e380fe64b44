/* SPDX-License-Identifier: MIT */
/* What tests do to the table of allocations that no command does; each file says what. */
#ifndef VT_TESTS_ALLOCATIONS_SQL_H
#define VT_TESTS_ALLOCATIONS_SQL_H

extern const char vt_embedded_writable_allocations[];
extern const char vt_embedded_tenth_allocations[];
extern const char vt_embedded_older_allocations[];

#endif
