/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_OUTPUT_H
#define VT_PRELOAD_OUTPUT_H

/*
 * The name of the output: expands VTRACE_OUTPUT (config.h) and finds one that overwrites nothing.
 */

#include <stddef.h>

#define VT_OUTPUT_MAX 4096

struct vt_output {
	char base[VT_OUTPUT_MAX];	/* absolute, without ".db" and ".journal" */
};

/*
 * Names the attempt-th candidate (from 1): a pattern with %n takes the number there, any other gets
 * "-2", "-3", ... before ".db" from the second attempt on.  A pattern that ends in '/' gets the
 * default name; where a launcher has started several processes (common/launchers.h), one without
 * %r and %q gets ".rankN" before ".db".  Returns 0 or a negative errno (-ENAMETOOLONG, no current
 * directory).
 */
int vt_output_name(struct vt_output *output, const char *pattern, unsigned int attempt);

/* base + suffix into `path` of VT_OUTPUT_MAX bytes; base always leaves room for ".journal". */
void vt_output_path(const struct vt_output *output, const char *suffix, char *path);

#endif
