/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TOP_CONTRIBUTORS_H
#define VT_ANALYZER_TOP_CONTRIBUTORS_H

/*
 * Who broke a limit: the places in the program with the most of the bytes that it counts, at the
 * moment of its figure; against a recording, those that took more than there.
 */

#include "analyzer/check/measure.h"

struct vt_contributor {
	char *owner; /* NULL: of no one owner */
	char *what;  /* of a finding: its text; else NULL */
	char *file;  /* of the innermost line; NULL: no Python there */
	const char *path; /* the same in whole; borrowed */
	int line;
	uint64_t bytes;
	uint64_t base_bytes; /* 0 without a recording to compare with */
	uint32_t blocks;
	struct vt_lines lines; /* the stack, innermost first */
};

struct vt_contributors {
	struct vt_contributor *items;
	unsigned nr;
	int are_grown; /* than in the baseline; else they are the largest */
};

/* A baseline that is a recording. */
struct vt_contributors_base {
	struct vt_measure *measure;
	int64_t event; /* of its figure */
};

/* At most `top`.  `base` may be NULL. */
void vt_contributors_find(struct vt_contributors *contributors, struct vt_measure *measure,
		      const struct vt_limit *limit, int device, int64_t event,
		      const struct vt_contributors_base *base, unsigned top);
void vt_contributors_release(struct vt_contributors *contributors);

#endif
