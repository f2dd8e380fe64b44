/* SPDX-License-Identifier: MIT */
#ifndef VTS_STUB_TABLE_H
#define VTS_STUB_TABLE_H

/*
 * What a generated stub library and the preloaded library agree on.  Every function of a stub
 * library loads the address of its own entry into %r11 (aarch64: x17) and jumps to
 * entry->function.  Until somebody stores another address there, that is code which returns 0.  The
 * table is writable data, exported under one name.
 */

#include <stdint.h>

#define VTS_STUB_TABLE_SYMBOL "vtrace_simulator_stub_table"

enum { VTS_STUB_MAGIC = 0x53545632 }; /* "2VTS"; another layout gets another number */

struct vts_stub_entry {
	void *function;
	const char *name;
	const void *data; /* free for whoever stores the function */
};

struct vts_stub_table {
	uint32_t magic;
	uint32_t nr_entries;
	struct vts_stub_entry entries[];
};

/* The file in a stub directory that names the libraries, one a line: "soname [version]". */
#define VTS_STUB_LIST_FILE "libraries"

#endif
