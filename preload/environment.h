/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_ENVIRONMENT_H
#define VT_PRELOAD_ENVIRONMENT_H

/*
 * The program's environment as it was when the recording opened: a copy, because the program may
 * change it at any time.  Its own threads may do so while we read, and getenv() may then follow a
 * pointer into memory that setenv() has freed or that a library took along when it was unloaded; so
 * it is read through the kernel, which refuses where a read of ours would be a crash.
 *
 * Not at load: a program sets what concerns PyTorch, its rank, or us, before its first allocation.
 *
 * Threads: taken by the one that opens the recording; then read by any.
 */

/* Takes the copy, anew in a fork child. */
void vt_environment_take(void);

/* The value, until the next take; NULL: there is none, or nothing was taken yet. */
const char *vt_environment_get(const char *name);

/* All of it, as execve() wants it; the pointers may be changed. */
char **vt_environment_all(void);

#endif
