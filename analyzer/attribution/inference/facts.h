/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FACTS_H
#define VT_ANALYZER_FACTS_H

/*
 * Everything that rules can ask about one allocation: what was recorded, and what follows from it
 * without judgement (how long it lived in the program's own terms, what the node that shares its
 * sequence number is).
 */

#include <stdint.h>

#include "analyzer/attribution/inference/token_sampling.h"
#include "analyzer/attribution/dataflow/flow_kinds.h"
#include "analyzer/attribution/inference/lm_heads.h"
#include "analyzer/attribution/inference/module_apply.h"
#include "analyzer/attribution/calls/operators.h"
#include "analyzer/attribution/calls/recomputes.h"
#include "analyzer/attribution/inference/shapes.h"
#include "analyzer/attribution/timeline/stages.h"
#include "analyzer/attribution/inference/parameter_containers.h"
#include "analyzer/base/narrow.h"
#include "analyzer/model/names.h"

struct vt_facts {
	const struct vt_model *model;
	const struct vt_rules *rules;
	const struct vt_stages *stages;
	struct vt_operators operators;
	struct vt_flow_kinds flow;
	struct vt_lm_heads lm_heads;
	struct vt_module_apply module_apply;
	struct vt_names names;
	struct vt_shapes shapes;
	/*
	 * By allocation: index of the parameter in vt_model.tensors + 1; 0: unknown, or no gradient
	 * (gradients.h).
	 */
	struct vt_narrow gradient_of;
	struct vt_narrow cast_of; /* ... of which it is a copy of half the width */
	uint32_t *replaced; /* ... that it is in place of another block (replaced_parameters.h) */
	struct vt_recomputes recomputes;
	struct vt_parameter_containers containers;
	struct vt_token_sampling sampling;
	/* By allocation: enum vt_derived_tensor + 1; 0: not known (derived_tensors.h). */
	uint8_t *derived;
	uint8_t *as_cache; /* by allocation: made where a cache was (cache_sites.h), or NULL */
	/* By allocation: enum vt_functional_update + 1; 0: neither (functional_updates.h). */
	uint8_t *functional_updates;
	struct vt_sequence_class *sequences; /* sorted */
	uint32_t nr_sequences;
	uint8_t has_optimizer;	    /* of PyTorch, that took a step */
	int64_t last_made_event;    /* what dies behind it dies with the function that held it */
	int64_t last_working_event; /* what dies later dies because the program ends */
};

/* The node class that a sequence number belongs to. */
struct vt_sequence_class {
	uint32_t sequence;
	uint32_t step;
	uint32_t node_class;
	uint8_t makes_gradient; /* what it made outlived the backward pass, or was added to .grad */
};

void vt_facts_init(struct vt_facts *facts, const struct vt_stages *stages,
		   const struct vt_rules *rules);
void vt_facts_release(struct vt_facts *facts);

/* The span in which an allocation was made; NULL only for a recording without events. */
const struct vt_span *vt_facts_span(const struct vt_facts *facts, const struct vt_allocation *a);

/* Bit per enum vt_lifetime. */
uint32_t vt_facts_lifetimes(const struct vt_facts *facts, const struct vt_allocation *a);
/* Bit per enum vt_lm_head; 0 where it has nothing to do with a head. */
uint32_t vt_facts_heads(const struct vt_facts *facts, const struct vt_allocation *a);
/* Bit per enum vt_yield. */
uint32_t vt_facts_yields(const struct vt_facts *facts, const struct vt_allocation *a);
/* Bit per enum vt_grad_mode and enum vt_repeat; the latter is 0 outside of modules. */
uint32_t vt_facts_grad_modes(const struct vt_facts *facts, const struct vt_allocation *a);
uint32_t vt_facts_repeats(const struct vt_facts *facts, const struct vt_allocation *a);
/* What the probe saw: bit per enum vt_role, enum vt_flag, enum vt_thing. */
uint32_t vt_facts_roles(const struct vt_facts *facts, const struct vt_allocation *a);
uint32_t vt_facts_flags(const struct vt_facts *facts, const struct vt_allocation *a);
uint32_t vt_facts_copies(const struct vt_facts *facts, const struct vt_allocation *a);
/* Bit per enum vt_derived_tensor. */
uint32_t vt_facts_sources(const struct vt_facts *facts, const struct vt_allocation *a);
/* Bit per enum vt_program. */
uint32_t vt_facts_programs(const struct vt_facts *facts);
/* Bit per enum vt_functional_update. */
uint32_t vt_facts_updates(const struct vt_facts *facts, const struct vt_allocation *a);
/* What its size says: bit per enum vt_shape_class, enum vt_alike, enum vt_share. */
uint32_t vt_facts_shape_classes(const struct vt_facts *facts, const struct vt_allocation *a);
uint32_t vt_facts_alike(const struct vt_facts *facts, const struct vt_allocation *a);
uint32_t vt_facts_shares(const struct vt_facts *facts, const struct vt_allocation *a);
/* Bit per enum vt_thing: what it is the gradient, or a cast, of. */
uint32_t vt_facts_gradients(const struct vt_facts *facts, const struct vt_allocation *a);
uint32_t vt_facts_casts(const struct vt_facts *facts, const struct vt_allocation *a);
/* The parameter that it is, or is the gradient or a cast of, unseen; NULL: unknown. */
const struct vt_tensor *vt_facts_parameter(const struct vt_facts *facts,
					   const struct vt_allocation *a);
/* Whether the tensor has the shape of something that is trained; bit per enum vt_thing. */
uint32_t vt_facts_like(const struct vt_facts *facts, const struct vt_allocation *a);
/* The tensor found in its strongest role; NULL: no probe saw it. */
const struct vt_tensor *vt_facts_row(const struct vt_facts *facts, const struct vt_allocation *a);
/* Bit per enum vt_releaser; 0 where no node of the backward pass released it. */
uint32_t vt_facts_releasers(const struct vt_facts *facts, const struct vt_allocation *a);
/* String id of the class of the node that the forward operator of `a` created; 0: unknown. */
uint32_t vt_facts_forward_node(const struct vt_facts *facts, const struct vt_allocation *a);

#endif
