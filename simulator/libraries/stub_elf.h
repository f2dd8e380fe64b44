/* SPDX-License-Identifier: MIT */
#ifndef VTS_STUB_ELF_H
#define VTS_STUB_ELF_H

/*
 * Writes one stub library as an ELF shared object, byte by byte, without compiler or linker, for
 * the processor that this is built for.
 */

#include <elf.h>

#include "stub_set.h"

#if defined(__x86_64__)
#define VTS_STUB_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define VTS_STUB_MACHINE EM_AARCH64
#endif

/* Returns 0, or -errno.  The file must not exist. */
int vts_stub_elf_write(const struct vts_stub_library *library, const char *path);

#endif
