/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OUTPUT_H
#define VT_ANALYZER_OUTPUT_H

/*
 * A new file (new_file.h) as a stream.  "-" is standard output, which cannot be taken back.
 */

#include <stdio.h>

#include "analyzer/base/diag.h"

struct vt_output {
	FILE *file;
	const char *path; /* borrowed */
	char *part;       /* what it is called until it is complete; NULL: written in place */
	int is_forced;
};

/*
 * Before long work, as vt_new_file_check; recordings are never replaced.  0, or -1 with `diag`
 * filled, as the next ones.
 */
int vt_output_check(const char *path, int is_forced, struct vt_diag *diag);
/* What is there and no regular file (a device, a pipe, a link's target): written where it is. */
int vt_output_rewrite(struct vt_output *output, const char *path, struct vt_diag *diag);
/* Nothing else is to be done with `output` where it fails. */
int vt_output_open(struct vt_output *output, const char *path, int is_forced, struct vt_diag *diag);
/* Keeps what was written unless it could not be, or `is_failed`: then no file is left. */
int vt_output_close(struct vt_output *output, int is_failed, struct vt_diag *diag);

#endif
