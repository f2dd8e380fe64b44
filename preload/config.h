/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_CONFIG_H
#define VT_PRELOAD_CONFIG_H

/*
 * The recorder's options: one table, read once from the environment when a recording opens, so that
 * a program may still set them itself.  Variables VTRACE_* that are not in the table belong to
 * others (the simulator, vtrace run) and are ignored.
 */

#include <stdint.h>

#define VT_CONFIG_DEFAULT_OUTPUT "vtrace-%e.%p.db"

/* TEXT(field, variable, default, what it is), NUMBER(field, variable, default, most, what it is) */
#define VT_CONFIG_OPTIONS(TEXT, NUMBER)                                                            \
	TEXT(output, "VTRACE_OUTPUT", VT_CONFIG_DEFAULT_OUTPUT,                                    \
		"database to write; %e program, %p process id, %h host, %t start in Unix "         \
		"seconds, %n first free number from 1, %r rank, %q{NAME} environment variable, "   \
		"%% percent")                                                                      \
	NUMBER(quiet, "VTRACE_QUIET", 0, 1, "1: no closing lines")                                 \
	NUMBER(exit_wait_s, "VTRACE_EXIT_WAIT", 10, 3600,                                          \
		"seconds that the end of the program may wait for the database")                   \
	NUMBER(collect, "VTRACE_COLLECT", 1, 1, "0: do not start `vtrace collect`")                \
	NUMBER(max_journal_mib, "VTRACE_MAX_JOURNAL", 0, 1u << 20,                                 \
		"MiB of disk that events may take before they are in the database, 0: no limit; "  \
		"what comes later is lost, and counted")                                           \
	NUMBER(stacks, "VTRACE_STACKS", 128, 512, "native frames kept per stack, 0: none")         \
	NUMBER(probe, "VTRACE_PROBE", 1, 2,                                                        \
		"look at the program's Python objects for the names of tensors; 0: never, 1: in "  \
		"0.1 % of its time, 2: whenever there is a reason")

struct vt_config {
#define VT_CONFIG_TEXT(field, variable, standard, what) const char *field;
#define VT_CONFIG_NUMBER(field, variable, standard, most, what) uint32_t field;
	VT_CONFIG_OPTIONS(VT_CONFIG_TEXT, VT_CONFIG_NUMBER)
#undef VT_CONFIG_TEXT
#undef VT_CONFIG_NUMBER
};

/* Reads the environment.  Texts are borrowed from it: use them before the program can change it. */
void vt_config_read(void);

/* The options in force: the defaults before vt_config_read. */
const struct vt_config *vt_config(void);

#endif
