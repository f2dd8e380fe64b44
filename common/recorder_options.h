/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_RECORDER_OPTIONS_H
#define VT_COMMON_RECORDER_OPTIONS_H

/*
 * The recorder's options, which it reads from its environment and `vtrace run` sets there.  A
 * number is a whole decimal one: what is none is as if not set, what is larger than the most is the
 * most.
 */

#define VT_RECORDER_DEFAULT_BASE   "vtrace-%e.%p"
#define VT_RECORDER_DEFAULT_OUTPUT VT_RECORDER_DEFAULT_BASE ".db"

/*
 * What names of databases may have behind '%': X(letter, name); q is followed by {NAME}. The
 * command refuses others, the recorder leaves them as they are.
 */
#define VT_OUTPUT_PLACEHOLDERS(X)                                                                  \
	X('e', program)                                                                            \
	X('p', process_id)                                                                         \
	X('h', host)                                                                               \
	X('t', start)                                                                              \
	X('n', number)                                                                             \
	X('r', rank)                                                                               \
	X('q', environment)                                                                        \
	X('%', percent)

/* TEXT(field, variable, default, what it is), NUMBER(field, variable, default, most, what it is) */
#define VT_RECORDER_OPTIONS(TEXT, NUMBER)                                                          \
	TEXT(output, "VTRACE_OUTPUT", VT_RECORDER_DEFAULT_OUTPUT,                                  \
		"database to write; %e program, %p process id, %h host, %t start in Unix "         \
		"seconds, %n first free number from 1, %r rank, %q{NAME} environment variable, "   \
		"%% percent")                                                                      \
	NUMBER(quiet, "VTRACE_QUIET", 0, 1, "1: print no closing lines")                           \
	NUMBER(exit_wait_s, "VTRACE_EXIT_WAIT", 10, 3600,                                          \
		"seconds to wait for the database at exit")                                        \
	NUMBER(collect, "VTRACE_COLLECT", 1, 1, "0: do not start `vtrace collect`")                \
	NUMBER(max_journal_mib, "VTRACE_MAX_JOURNAL", 0, 1u << 20,                                 \
		"MiB of disk for events not yet in the database, 0: no limit; "                    \
		"events beyond it are lost and counted")                                           \
	TEXT(keep, "VTRACE_KEEP", "",                                                              \
		"maximum disk use (2GiB), or how long details are kept (24h): older events are "   \
		"reduced to summaries")                                                         \
	NUMBER(stacks, "VTRACE_STACKS", 128, 512, "native frames kept per stack, 0: none")         \
	NUMBER(probe, "VTRACE_PROBE", 1, 2,                                                        \
		"read tensor names from the program's Python objects; 0: never, 1: within "        \
		"0.1 % of its time, 2: whenever there is a reason")                                \
	NUMBER(redact, "VTRACE_REDACT", 0, 1,                                                      \
		"1: store neither the program's arguments nor string keys of its dictionaries")    \
	NUMBER(observe, "VTRACE_OBSERVE", 1, 1,                                                    \
		"1: record what PyTorch's operators read and write in the first steps; 0: never")

#endif
