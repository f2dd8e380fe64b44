/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PYTHON_LINES_H
#define VT_ANALYZER_PYTHON_LINES_H

/*
 * From an offset into a code object's bytecode to a line, by the line table that the interpreter
 * keeps with the code: co_lnotab (3.9 and before), the line table of PEP 626 (3.10), the location
 * table (3.11 and later).
 */

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at `instruction_bytes` (bytes from the first instruction; an offset
 * into an instruction's inline caches is as good).  Returns 0 where the table gives none.  Any
 * bytes are safe.
 */
uint32_t vt_python_lines_find(unsigned int python_minor, const void *table, size_t table_len,
			      uint32_t first_line, uint32_t instruction_bytes);

#endif
