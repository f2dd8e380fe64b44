/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EXPLAIN_H
#define VT_ANALYZER_EXPLAIN_H

/*
 * One block under the lens (`vtrace explain`): everything that is known about it, the rule that
 * decided, and those that would have been next.  Gathered here, printed by explain_text.c and
 * explain_json.c.
 */

#include <stdio.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/report/blocks.h"

/* Rules that would have matched next; further ones are ever more general. */
#define VT_EXPLAIN_NEXT_MAX 5

/* A name that a probe saw it under, however often. */
struct vt_explain_name {
	const struct vt_tensor *first;
	uint32_t seen;
};

struct vt_explain {
	struct vt_analysis *analysis;
	struct vt_blocks blocks; /* live when it was made */
	uint32_t allocation;
	const struct vt_allocation *a;
	const struct vt_rule *rule; /* that decided; NULL: none fits, or it holds blocks */
	const struct vt_rule *next[VT_EXPLAIN_NEXT_MAX];
	unsigned nr_next;
	struct vt_explain_name *names;
	uint32_t nr_names;
	char *module; /* path; "" is a root, NULL unknown */
};

struct vt_explain_options {
	const char *what; /* the event of its allocation, or an address: 0x..., decimal */
	const char *when; /* when.h: who was at that address then */
	int device;       /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	int has_all_frames;
};

/*
 * Returns 0, or -1 with `diag` filled (no such block: exit code 3); vt_explain_release in both
 * cases.  `analysis` must outlive it.
 */
int vt_explain_init(struct vt_explain *explain, struct vt_analysis *analysis,
		    const struct vt_explain_options *options, struct vt_diag *diag);
void vt_explain_release(struct vt_explain *explain);

/* Words of an enum vt_role, and of flags: "requires-grad leaf" (into `text`). */
const char *vt_explain_role(const struct vt_tensor *tensor);
const char *vt_explain_flags(const struct vt_tensor *tensor, char *text, size_t size);

void vt_explain_text_print(struct vt_explain *explain, FILE *out);
void vt_explain_json_print(struct vt_explain *explain, FILE *out);

#endif
