/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHANGES_H
#define VT_ANALYZER_CHANGES_H

/*
 * What is live on one device at one moment of each of two recordings, by the place that made it,
 * side by side.
 */

#include <stdint.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/alignment.h"
#include "analyzer/report/analysis.h"

#define VT_CHANGES_BY(X)                                                                           \
	X(STACK, "stack")                                                                          \
	X(MODULE, "module") /* "model.layers.*.mlp" */                                             \
	X(FILE, "file")     /* of the innermost frame that is to be seen */                        \
	X(OWNER, "owner")

#define VT_CHANGES_ENUM(name, text) VT_CHANGES_BY_##name,
enum vt_changes_by { VT_CHANGES_BY(VT_CHANGES_ENUM) VT_NR_CHANGES_BY };
#undef VT_CHANGES_ENUM

/* One side's recording, and what of it is looked at. */
struct vt_changes_side {
	struct vt_analysis *analysis;
	const struct vt_describe *describe;
	int64_t event; /* 0: nothing was live */
	int device;
};

/* A block that is live at the moment of its side. */
struct vt_changes_block {
	const char *owner; /* borrowed */
	char *name;        /* of its module, file or owner; NULL: not known, or by stack */
	uint64_t bytes;
	uint32_t allocation; /* index into the model of its side */
};

VT_VECTOR_DECLARE(vt_changes_live, struct vt_changes_block);

/* One place in both runs; 0 bytes on the side where it is not. */
struct vt_change {
	uint64_t bytes[VT_DIFF_SIDES];
	uint32_t blocks[VT_DIFF_SIDES];
	/* Of the largest allocation there; owners are borrowed. */
	const char *owner[VT_DIFF_SIDES];
	uint32_t allocation[VT_DIFF_SIDES]; /* VT_NO_INDEX: none */
	uint64_t largest[VT_DIFF_SIDES];    /* its bytes */
	char *name; /* by module or file; NULL: not known there, or by stack */
};

struct vt_changes {
	enum vt_changes_by by;
	struct vt_change *items; /* those that differ, the largest difference first */
	uint32_t nr;
	uint32_t nr_equal; /* places with as many bytes in both */
};

/* Returns 0, or -1 where `word` is none of VT_CHANGES_BY. */
int vt_changes_parse(const char *word, enum vt_changes_by *by);
const char *vt_changes_word(enum vt_changes_by by);

/* What is live on a side, into a zeroed list: all that is asked of its owners and modules. */
void vt_changes_gather(struct vt_changes_live *live, const struct vt_changes_side *side,
		       enum vt_changes_by by);
void vt_changes_live_release(struct vt_changes_live *live);

/*
 * `live`: of both sides, gathered by the same `by`.  `is_exact`: only stacks of the same lines
 * match.  Else those that are left match by functions alone.
 */
void vt_changes_init(struct vt_changes *changes, const struct vt_changes_side *sides,
		     const struct vt_changes_live *const *live,
		     const struct vt_alignment *alignment, enum vt_changes_by by, int is_exact);
void vt_changes_release(struct vt_changes *changes);

#endif
