/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GROUPS_H
#define VT_ANALYZER_GROUPS_H

/*
 * The list of blocks added up (`vtrace blocks --by`): per owner, or per module, where modules of
 * one row count as one ("model.layers.*.mlp").
 */

#include <stdio.h>

#include "analyzer/report/blocks.h"

#define VT_GROUPS_BY(X)                                                                            \
	X(OWNER, "owner")                                                                          \
	X(MODULE, "module")

#define VT_GROUPS_ENUM(name, text) VT_GROUPS_BY_##name,
enum vt_groups_by { VT_GROUPS_BY(VT_GROUPS_ENUM) VT_NR_GROUPS_BY };
#undef VT_GROUPS_ENUM

struct vt_group {
	char *name; /* "" is a root; NULL: nothing is known */
	uint64_t bytes;
	uint32_t blocks;
};

struct vt_groups {
	enum vt_groups_by by;
	struct vt_group *items; /* largest first */
	uint32_t nr;
};

/* Returns 0, or -1 where `word` is none of VT_GROUPS_BY. */
int vt_groups_parse(const char *word, enum vt_groups_by *by);

void vt_groups_init(struct vt_groups *groups, struct vt_blocks *blocks, enum vt_groups_by by);
void vt_groups_release(struct vt_groups *groups);

/* Says so where nothing could be known of modules. */
void vt_groups_print_text(const struct vt_groups *groups, const struct vt_blocks *blocks,
			  FILE *out);
void vt_groups_print_json(const struct vt_groups *groups, const struct vt_blocks *blocks,
			  FILE *out);

#endif
