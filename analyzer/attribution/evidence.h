/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_EVIDENCE_H
#define VT_ANALYZER_EVIDENCE_H

/*
 * The words of a judgement, one list each: the texts are what rule files write and reports print.
 */

/* What the program was doing. */
#define VT_STAGES(X)                                                                               \
	X(LOAD, "load") /* before the first forward */                                             \
	X(FORWARD, "forward")                                                                      \
	X(BACKWARD, "backward")                                                                    \
	X(OPTIMIZER, "optimizer")                                                                  \
	X(EVALUATION, "evaluation") /* forward without autograd in a program that trains */        \
	X(GENERATION, "generation") /* forward called by a loop that makes tokens */               \
	X(OTHER, "other")

/* How an owner is known, strongest first; the columns of every report's provenance. */
#define VT_PROVENANCES(X)                                                                          \
	X(NAMES, "names")       /* a probe saw the tensor under its name */                        \
	X(AUTOGRAD, "autograd") /* made or released by a node of the backward pass */              \
	X(SCOPE, "scope")       /* made inside a named range */                                    \
	X(FRAMES, "frames")     /* stacks and module classes */                                    \
	X(SHAPE, "shape")       /* exact size */                                                   \
	X(LIFETIME, "lifetime") /* when it was made and when it died */                            \
	X(UNKNOWN, "unknown")

/* How long it lived; an allocation has several of these. */
#define VT_LIFETIMES(X)                                                                            \
	X(OPERATION, "operation")           /* died inside the operation that made it */           \
	X(STAGE, "stage")                   /* died inside the stage that made it */               \
	X(AFTER_STAGE, "after-stage")       /* alive when that stage ended */                      \
	X(AFTER_BACKWARD, "after-backward") /* alive when its step's backward pass ended */        \
	X(AFTER_STEP, "after-step")         /* alive when its step ended */                        \
	X(AFTER_NEXT_STEP, "after-next-step")                                                      \
	X(FOREVER, "forever") /* never freed while the program worked */

/* Between the vocabulary's matrix product and the loss, and how that is known. */
#define VT_HEADS(X)                                                                                \
	X(AUTOGRAD, "autograd") /* by the sequence numbers of autograd nodes */                    \
	X(FRAMES, "frames")     /* by the operators on the stacks */                               \
	X(MODULE, "module")     /* by the module: the one matrix product beside the token model */

/* What the node of an operator made when its turn came in the backward pass. */
#define VT_YIELDS(X)                                                                               \
	X(GRADIENT, "gradient") /* something that outlived the pass: its input was a parameter */

#define VT_EVIDENCE_ENUM(name, text) VT_EVIDENCE_PREFIX(name),
#define VT_EVIDENCE_PREFIX(name)     VT_STAGE_##name
enum vt_stage { VT_STAGES(VT_EVIDENCE_ENUM) VT_NR_STAGES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_PROVENANCE_##name
enum vt_provenance { VT_PROVENANCES(VT_EVIDENCE_ENUM) VT_NR_PROVENANCES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_LIFETIME_##name
enum vt_lifetime { VT_LIFETIMES(VT_EVIDENCE_ENUM) VT_NR_LIFETIMES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_HEAD_##name
enum vt_head { VT_HEADS(VT_EVIDENCE_ENUM) VT_NR_HEADS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_YIELD_##name
enum vt_yield { VT_YIELDS(VT_EVIDENCE_ENUM) VT_NR_YIELDS };
#undef VT_EVIDENCE_PREFIX
#undef VT_EVIDENCE_ENUM

/* The texts by number. */
extern const char *const vt_evidence_stages[VT_NR_STAGES];
extern const char *const vt_evidence_provenances[VT_NR_PROVENANCES];
extern const char *const vt_evidence_lifetimes[VT_NR_LIFETIMES];
extern const char *const vt_evidence_heads[VT_NR_HEADS];
extern const char *const vt_evidence_yields[VT_NR_YIELDS];

#endif
