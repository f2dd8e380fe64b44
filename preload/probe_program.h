/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PROBE_PROGRAM_H
#define VT_PRELOAD_PROBE_PROGRAM_H

/*
 * The Python program of the probe (probe_kinds.py, probe.py, probe_holders.py): compiled once per
 * interpreter and kept in its own dictionary, run with functions of ours that write what it finds.
 */

#include <stdint.h>

#include "preload/probe_api.h"

extern const char vt_embedded_probe_kinds[]; /* probe_kinds.py */
extern const char vt_embedded_probe[];	     /* probe.py */
extern const char vt_embedded_probe_holders[];

enum vt_probe_answer {
	VT_PROBE_DONE,
	VT_PROBE_RAISED,	/* an exception of the host is set: a signal handler's */
};

/* What a look is after; each is part of those after it. */
enum vt_probe_scope {
	VT_PROBE_SOURCES,	/* code that the program made itself */
	VT_PROBE_NAMES,		/* tensors and modules */
	VT_PROBE_HOLDERS,	/* who holds what is old */
};

/* Whether the state of the interpreter allows it now.  Context: the GIL is held. */
int vt_probe_program_can_run(const struct vt_probe_api *api);

/*
 * Looks once; from `deadline_ns` on it only finishes.  The error indicator, collection of garbage
 * and tracing are afterwards as they were.  Context: the GIL is held, no hook, journal open.
 */
enum vt_probe_answer vt_probe_program_run(const struct vt_probe_api *api, uint64_t deadline_ns,
					  enum vt_probe_scope scope);

#endif
