/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TERM_FACTS_H
#define VT_ANALYZER_TERM_FACTS_H

/*
 * What conditions of terms can ask of a model, a card and a run, beside settings: names as in
 * families.ini where that has them.  All else that they ask is made of these, in terms/.
 */

#include "analyzer/planner/plan.h"

struct vt_term_fact {
	const char *name;
	const char *words; /* the value is the place of one of them; NULL: a number */
	int64_t (*get)(const struct vt_plan *plan);
};

/* NULL behind the last one. */
const struct vt_term_fact *vt_term_facts_at(unsigned id);

/* Attention with scores: as asked for, or because transformers has nothing else for the model. */
int64_t vt_term_facts_eager(const struct vt_plan *plan);
/* State-space layers by operators of PyTorch, which take much for a moment. */
int64_t vt_term_facts_scanned(const struct vt_plan *plan);
/*
 * Whether autocast keeps what it makes of weights: of parameters that have a gradient, under
 * torch.no_grad(), too; of others only what backward needs.
 */
int64_t vt_term_facts_casting(const struct vt_plan *plan);
/* Checkpointing of the first `ck` layers: what others keep stays, one more is recomputed. */
int64_t vt_term_facts_partial(const struct vt_plan *plan);

#endif
