/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_KINDS_H
#define VT_ANALYZER_KINDS_H

/*
 * What kind of thing made an allocation: attention, mlp, norm, ... by the [kind] sections of the
 * rules.  The producer decides: its module, else its place in the graph of operators
 * (flow_kinds.h), else its operator, else the node that kept the result.
 */

#include <stdint.h>

#include "analyzer/attribution/inference/facts.h"
#include "analyzer/base/map.h"

/* A module that directly holds one of a kind. */
struct vt_kind_holder {
	uint64_t address;
	uint32_t kind; /* index into vt_rules.kinds, or what kinds.c says of layers */
};

struct vt_kinds {
	struct vt_facts *facts;
	const struct vt_rules *rules;
	struct vt_kind_holder *holders; /* sorted */
	uint32_t nr_holders;
	uint32_t layer_kind; /* of a matrix product by itself */
	uint32_t alternating; /* bits of the kinds that take turns in a block, each a part of it */
	struct vt_map inside; /* address of a module -> bits of kinds in it, and more */
	struct vt_map sequences; /* address of a Sequential -> how many matrix products it holds */
	/* What was said before, of the same stacks and nodes. */
	uint32_t *of_modules;  /* by Python stack: the kind of its modules */
	struct vt_map own;     /* -> kind */
	struct vt_map passing; /* -> whether they pass on what they are given */
};

void vt_kinds_init(struct vt_kinds *kinds, struct vt_facts *facts);
void vt_kinds_release(struct vt_kinds *kinds);

/*
 * The name of a [kind] section, "other" where none fits.  *is_by_flow (may be NULL): whether that
 * is known by what operators read and wrote, as no module says what it is.
 */
const char *vt_kinds_find(struct vt_kinds *kinds, const struct vt_allocation *a, int *is_by_flow);

#endif
