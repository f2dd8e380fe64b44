/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_ZIP_H
#define VT_ANALYZER_ZIP_H

/* Where the pickle of a zip archive is. */

#include <stdint.h>

#include "analyzer/base/diag.h"

struct vt_zip_member {
	uint64_t offset; /* of its data in the file */
	uint64_t stored_bytes;
	int is_deflated;
};

/*
 * The only member that is called *.pickle or *.pkl, else the only member.  Returns 0, or -1 with
 * `diag` filled: none, several, encrypted, compressed in another way, damaged, of 4 GiB or more.
 */
int vt_zip_find(struct vt_zip_member *member, int fd, uint64_t file_bytes, const char *path,
		struct vt_diag *diag);

#endif
