/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EMBEDDED_H
#define VT_ANALYZER_EMBEDDED_H

/* Text files that CMake turns into arrays (vtrace_embed), each with a NUL at its end. */

extern const char vt_embedded_schema[]; /* common/schema.sql */
extern const char vt_embedded_rules[];  /* analyzer/attribution/rules.ini */

#endif
