/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PLAN_H
#define VT_ANALYZER_PLAN_H

/*
 * What a run will hold on one device: terms, each one formula of one owner, live in some stages.
 * A stage holds the sum of its terms; the peak is the largest stage.
 */

#include "analyzer/planner/architecture.h"
#include "analyzer/planner/formula.h"
#include "analyzer/planner/gpus.h"
#include "analyzer/planner/plan_settings.h"

/* X(NAME, text), in the order of a run. */
#define VT_PLAN_STAGES(X)                                                                          \
	X(LOAD, "load")                                                                            \
	X(FIRST_LAYER, "first layer")                                                              \
	X(FORWARD, "forward")                                                                      \
	X(LOSS, "loss")                                                                            \
	X(BACKWARD_LOSS, "backward: loss")                                                         \
	X(BACKWARD_NORM, "backward: last norm")                                                    \
	X(BACKWARD_TOP, "backward: last layer")                                                    \
	X(BACKWARD_BOTTOM, "backward: first layer")                                                \
	X(BACKWARD_END, "backward: embedding")                                                     \
	X(STEP, "step")                                                                            \
	X(LOGITS, "logits")                                                                        \
	X(DECODE, "decode")

enum vt_plan_stage {
#define VT_PLAN_STAGE_ID(name, text) VT_PLANNED_##name,
	VT_PLAN_STAGES(VT_PLAN_STAGE_ID)
#undef VT_PLAN_STAGE_ID
	VT_NR_PLAN_STAGES
};

#define VT_IN(stage) (1u << VT_PLANNED_##stage)
#define VT_IN_BACKWARD                                                                             \
	(VT_IN(BACKWARD_LOSS) | VT_IN(BACKWARD_NORM) | VT_IN(BACKWARD_TOP) |                       \
	 VT_IN(BACKWARD_BOTTOM) | VT_IN(BACKWARD_END))
/* While what every layer keeps for backward is there. */
#define VT_IN_WHOLE                                                                                \
	(VT_IN(FORWARD) | VT_IN(LOSS) | VT_IN(BACKWARD_LOSS) | VT_IN(BACKWARD_NORM) |              \
	 VT_IN(BACKWARD_TOP))
#define VT_IN_TRAINING (VT_IN(FIRST_LAYER) | VT_IN(FORWARD) | VT_IN(LOSS) | VT_IN_BACKWARD)
#define VT_IN_INFERENCE                                                                            \
	(VT_IN(FIRST_LAYER) | VT_IN(FORWARD) | VT_IN(LOGITS) | VT_IN(DECODE))
#define VT_IN_ALL ((1u << VT_NR_PLAN_STAGES) - 1)

/* How a term's tensors are taken and given back where a plan is played (plan_player.h). */
enum vt_played_kind {
	VT_PLAYED_UNSAID,     /* refused: every term says it */
	VT_PLAYED_PARAMETERS, /* follow the list of tensors instead */
	VT_PLAYED_STAGED,     /* there while a stage that it is live in is */
	VT_PLAYED_PASSING,    /* in every layer's forward anew */
	VT_PLAYED_KEPT,       /* taken by a layer forward, given back by it backward */
	VT_PLAYED_RECOMPUTED, /* ... and by checkpointing in both directions */
	VT_PLAYED_TRANSIENT,      /* in every layer's backward anew */
	VT_PLAYED_GROWING,    /* caches that are concatenated */
	VT_PLAYED_HEADS,      /* there while the head goes backward */
	VT_PLAYED_LIBRARY,    /* a workspace of each thread's own, from its first product on */
	VT_PLAYED_PASSED_OVER,
};

struct vt_load;

struct vt_term {
	const char *name;   /* of its section, as --terms replaces it */
	const char *owner;  /* as in the report: "activations/mlp" */
	char *formula;
	char *numbers;      /* the formula with numbers in, NULL unless the plan is explained */
	const char *why;    /* what it is, and what it assumes about the runtime */
	unsigned stages;    /* VT_IN(...) */
	enum vt_played_kind played;
	double bytes, low, high;
};

VT_VECTOR_DECLARE(vt_terms, struct vt_term);

struct vt_plan {
	const struct vt_architecture *model;
	const struct vt_plan_settings *settings;
	const struct vt_gpu *gpu; /* NULL: none was named */
	struct vt_symbols symbols;
	struct vt_terms terms;
	unsigned stages;         /* those that this run has */
	enum vt_plan_stage peak; /* the stage of the expected peak */
	double bytes[VT_NR_PLAN_STAGES], low[VT_NR_PLAN_STAGES], high[VT_NR_PLAN_STAGES];
	int is_explained;
	struct vt_load *load; /* the caller's: the last replay, for many plans; or NULL */
	const char *doubt; /* vt_plan_doubt */
	const char *error; /* why the first formula failed that did; NULL: none */
	char *error_formula;
	const char *error_file; /* where a user wrote it; NULL: built in */
	unsigned error_line;
};

void vt_plan_release(struct vt_plan *plan);

/* Bytes of all device memory, context included, at the peak. */
double vt_plan_peak(const struct vt_plan *plan);

/* What these settings ask of the model that no formula has, or none that was compared; or NULL. */
const char *vt_plan_doubt(const struct vt_plan *plan);
/* Whether that, or the model is read as another kind: nothing "fits" then for sure. */
int vt_plan_is_guessed(const struct vt_plan *plan);

const char *vt_plan_stage_name(enum vt_plan_stage stage);

/* --- for what makes the terms ---------------------------------------------------------------- */

static inline int64_t vt_plan_setting(const struct vt_plan *plan, enum vt_setting id)
{
	return plan->settings->value[id];
}

static inline int vt_plan_is_training(const struct vt_plan *plan)
{
	return plan->settings->value[VT_SET_MODE] == VT_MODE_TRAIN;
}

/* 0 where there is no such name. */
double vt_plan_symbol(const struct vt_plan *plan, const char *name);

struct vt_term_spec {
	const char *owner;
	unsigned stages;
	enum vt_played_kind played;
	const char *low, *high; /* NULL: as expected */
	const char *why;
	const char *name; /* as of vt_term; NULL: none */
};

/* An error of the plan, unless it has one; `error` is static. */
void vt_plan_fail(struct vt_plan *plan, const char *error, const char *formula);
/* What a formula gives; where it fails that is an error of the plan, and 0. */
double vt_plan_evaluate(struct vt_plan *plan, const char *formula);

/*
 * Adds a term; a result of 0 adds nothing.  One that does not say how it is played is an error of
 * the plan.
 */
void vt_plan_add(struct vt_plan *plan, const struct vt_term_spec *spec, const char *formula);

/* Adds the terms up that are there. */
void vt_plan_add_up(struct vt_plan *plan);

#endif
