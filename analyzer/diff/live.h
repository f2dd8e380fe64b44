/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LIVE_H
#define VT_ANALYZER_LIVE_H

/* What is live on one device of a recording at one moment, as far as a comparison needs it. */

#include <stdint.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/base/util.h"

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
	/* What was asked for, as the allocator rounds it: a block may be larger (settings.h). */
	uint64_t asked_bytes;
	/* By stack: what made it, and the module it belongs to, 0: not known. */
	uint64_t operator, module;
	uint32_t allocation; /* index into the model of its side */
};

VT_VECTOR_DECLARE(vt_changes_live, struct vt_changes_block);

/* Returns 0, or -1 where `word` is none of VT_CHANGES_BY. */
int vt_changes_parse(const char *word, enum vt_changes_by *by);
const char *vt_changes_word(enum vt_changes_by by);

/* What was asked for (vt_changes_block); of what the traces do not settle, its size. */
uint64_t vt_changes_asked(const struct vt_traces *traces, const struct vt_allocation *a);

/* What is live on a side, into a zeroed list: all that is asked of its owners and modules. */
void vt_changes_gather(struct vt_changes_live *live, const struct vt_changes_side *side,
		       enum vt_changes_by by);
void vt_changes_live_release(struct vt_changes_live *live);

#endif
