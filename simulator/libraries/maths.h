/* SPDX-License-Identifier: MIT */
#ifndef VTS_MATHS_H
#define VTS_MATHS_H

/*
 * The answers of the maths libraries' stand-ins.  Most functions of theirs compute something on the
 * device and need no answer but success; those that hand out handles, sizes, counts and versions
 * must write them, or the client goes on with what its stack held.
 */

#include <stdint.h>

#include "stub_table.h"

/*
 * A loaded stub library's release, "9.19.0.56" as three numbers; zeros where the client does not
 * say.
 */
struct vts_release {
	int major, minor, patch;
};

/*
 * Gives every function of a stub library its answer, by rule, by an own function, or
 * (VTRACE_SIM_VERBOSE) by a line on stderr at its first call.  Called before the client can call
 * any.
 */
void vts_maths_bind(struct vts_stub_table *table);

/*
 * Remembers with which release a library answers version queries; not thread-safe, before the
 * client starts.
 */
void vts_maths_note_release(const char *soname, struct vts_release release);

/*
 * The release of "libcudnn" and the like; where nobody noted one, the number in the soname, else
 * zeros.
 */
struct vts_release vts_maths_release_of(const char *stem);

/* A new handle: unique, not NULL, never to be dereferenced. */
void *vts_maths_new_handle(void);

/*
 * Called by the trampoline (maths_call.S) for a function with a rule; returns what the function
 * returns.
 */
uint64_t vts_maths_answer(const struct vts_stub_entry *entry, const uint64_t *registers,
			  const uint64_t *stack);

/* Called by the trampoline for a function without any answer: tells its name once. */
void vts_maths_tell(struct vts_stub_entry *entry);

/* A function that needs code rather than a rule. */
struct vts_maths_function {
	const char *name;
	void *address;
};

/* Each ends with a NULL name. */
extern const struct vts_maths_function vts_maths_cudnn_functions[];
extern const struct vts_maths_function vts_maths_nccl_functions[];
extern const struct vts_maths_function vts_maths_rnn_functions[];
extern const struct vts_maths_function vts_maths_version_functions[];

#endif
