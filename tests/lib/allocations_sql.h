/* SPDX-License-Identifier: MIT */
/* What tests do to the table of allocations that no command does; both files say what. */
#ifndef VT_TESTS_ALLOCATIONS_SQL_H
#define VT_TESTS_ALLOCATIONS_SQL_H

extern const char vt_embedded_writable_allocations[];
extern const char vt_embedded_older_allocations[];

#endif
