/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FILES_H
#define VT_ANALYZER_FILES_H

/*
 * The source files of two recordings, and which of them is which: numbers that are equal for the
 * same file.
 */

#include <stdint.h>

#include "analyzer/model/describe.h"

struct vt_files {
	uint32_t *of_code[2]; /* number of its file, by id of a code */
	uint32_t nr;
};

/* Entry 0 is the base, 1 the new one.  `is_exact`: by their whole paths only. */
void vt_files_init(struct vt_files *files, const struct vt_describe *const *sides, int is_exact);
void vt_files_release(struct vt_files *files);

#endif
