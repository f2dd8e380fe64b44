/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FLOW_KINDS_H
#define VT_ANALYZER_FLOW_KINDS_H

/*
 * Which part of a network made an allocation, by the graph of operators (dataflow.h).  What was
 * observed in one step holds for all: for the same place, what it made most often.
 */

#include <stdint.h>

#include "analyzer/attribution/dataflow/dataflow.h"
#include "analyzer/attribution/calls/operators.h"
#include "analyzer/base/map.h"
#include "analyzer/model/names.h"

struct vt_flow_kinds {
	const struct vt_model *model;
	uint8_t *labels;      /* by allocation, with a flag; NULL: nothing was observed */
	uint8_t *is_observed; /* by allocation: an operator of the graph made it */
	uint8_t *is_factor;   /* by allocation: a leaf by which what layers made is multiplied */
	struct vt_map places; /* place -> label, and its lead over others */
	_Atomic(uint8_t) *by_maker; /* by caller: what its place has, once any thread asked */
	struct vt_operators *operators;
};

void vt_flow_kinds_init(struct vt_flow_kinds *kinds, const struct vt_model *model,
			const struct vt_names *names, struct vt_operators *operators);
void vt_flow_kinds_release(struct vt_flow_kinds *kinds);

/* Whether a product of a forward multiplied what layers made by it: so are weights, and no data. */
int vt_flow_kinds_is_factor(const struct vt_flow_kinds *kinds, uint32_t allocation);
/* What a forward made; VT_FLOW_NONE: not known. */
enum vt_flow_label vt_flow_kinds_find(const struct vt_flow_kinds *kinds,
				      const struct vt_allocation *a);
/* Whether a forward computed it of what its layers made: whoever made it, it is no batch. */
int vt_flow_kinds_is_of_layer(const struct vt_flow_kinds *kinds, const struct vt_allocation *a);
/*
 * Whether the graph says if it is logits: it holds the operator that made it, there or in another
 * step, and an operator read the result.
 */
int vt_flow_kinds_knows_heads(const struct vt_flow_kinds *kinds, const struct vt_allocation *a);
/* "attention" */
const char *vt_flow_label_text(enum vt_flow_label label);

#endif
