/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EMBEDDED_H
#define VT_ANALYZER_EMBEDDED_H

/* Text files that CMake turns into arrays (vtrace_embed in analyzer/CMakeLists.txt); NUL-terminated. */

extern const char vt_embedded_schema[]; /* common/schema.sql */
extern const char vt_embedded_rules[];  /* analyzer/rules.ini */

#endif
