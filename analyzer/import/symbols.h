/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_SYMBOLS_H
#define VT_ANALYZER_SYMBOLS_H

/*
 * Function names, and source lines where there is debug information, of one ELF file.  The only
 * user of libelf and libdw.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_symbols;

/* What is known of one address; all strings are borrowed until the next find. */
struct vt_symbol {
	const char *name; /* demangled; NULL where no function is known there */
	uint64_t offset;  /* from its beginning */
	const char *file; /* NULL without debug information */
	int line;
};

/*
 * Opens the file for `nr` return addresses, given as the file's own virtual addresses: others have
 * no name.  Returns NULL if it cannot be read, or is not the one that was loaded: `build_id` is
 * what was recorded, in hexadecimal, '' where nothing was.
 */
struct vt_symbols *vt_symbols_open(const char *path, const char *build_id,
				   const uint64_t *return_addresses, size_t nr);
void vt_symbols_close(struct vt_symbols *symbols);

/* Looks up one of them: the call that it returns to is the instruction before it. */
void vt_symbols_find(struct vt_symbols *symbols, uint64_t return_address, struct vt_symbol *symbol);

#endif
