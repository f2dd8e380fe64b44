/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_SHELL_WORD_H
#define VT_COMMON_SHELL_WORD_H

/*
 * A file's name as one word of a shell's command line, printable and no option: as it is where
 * nothing in it means anything to a shell, else in quotes; what may not be shown (character.h) as
 * bash, ksh and zsh read it in $'...'.
 */

#include <stddef.h>

/* Enough for any name of that many bytes: "./", the quotes, four for each byte, the end. */
#define VT_SHELL_WORD_SIZE(len) (4 * (len) + 6)

/* Cut off, and of no use, where `size` is less than VT_SHELL_WORD_SIZE.  Returns `word`. */
char *vt_shell_word_write(char *word, size_t size, const char *name);

#endif
