/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SHELL_H
#define VT_ANALYZER_SHELL_H

/* Words of a command line that a user can copy: shell_word.h on the heap. */

/* The caller frees. */
char *vt_shell_copy(const char *path);

#endif
