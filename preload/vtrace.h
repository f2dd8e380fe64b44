/* SPDX-License-Identifier: MIT */
#ifndef VTRACE_H
#define VTRACE_H

/*
 * Names a moment of the program in its recording.  The declaration is weak: without libvtrace.so
 * preloaded, vtrace_mark is NULL and VTRACE_MARK does nothing.
 *
 *	VTRACE_MARK("weights loaded");
 */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Records the name (UTF-8, at most 4096 bytes).  Any thread, any time; before the first
 * allocation only 32 marks, of 96 bytes, are kept.
 */
extern void vtrace_mark(const char *name) __attribute__((weak));

#define VTRACE_MARK(name) (vtrace_mark ? vtrace_mark(name) : (void)0)

#ifdef __cplusplus
}
#endif

#endif
