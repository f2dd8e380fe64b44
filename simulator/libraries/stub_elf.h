/* SPDX-License-Identifier: MIT */
#ifndef VTS_STUB_ELF_H
#define VTS_STUB_ELF_H

/*
 * Writes one stub library as an ELF shared object, byte by byte, without compiler or linker
 * (x86-64).
 */

#include "stub_set.h"

/* Returns 0, or -errno.  The file must not exist. */
int vts_stub_elf_write(const struct vts_stub_library *library, const char *path);

#endif
