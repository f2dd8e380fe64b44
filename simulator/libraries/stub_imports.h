/* SPDX-License-Identifier: MIT */
#ifndef VTS_STUB_IMPORTS_H
#define VTS_STUB_IMPORTS_H

/* Reads what ELF files import from NVIDIA's libraries. */

#include "stub_set.h"

/*
 * Adds every shared object under a directory; folders named nvidia (real libraries) are left out.
 */
void vts_stub_imports_add_tree(struct vts_stub_set *set, const char *directory);

#endif
