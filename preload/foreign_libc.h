/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_FOREIGN_LIBC_H
#define VT_PRELOAD_FOREIGN_LIBC_H

/*
 * A C library that is not glibc, such as musl.  Nothing is recorded there, since CUDA's libraries
 * need glibc, but the program runs as it does without us: what only glibc has is referred to
 * weakly, and our dlsym and dlopen lead to that library's.
 */

#include <dlfcn.h>

/* Every glibc has it, musl does not. */
#pragma weak dlvsym

int vt_foreign_libc_is_in_use(void);
/* A function of that library by its name, found without dlsym; NULL if it has none. */
void *vt_foreign_libc_symbol(const char *name);

#endif
