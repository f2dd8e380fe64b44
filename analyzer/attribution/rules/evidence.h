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
	X(FLOW, "data flow")    /* what operators read and wrote */                                \
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
	X(AFTER_CALL, "after-call")         /* alive when its outermost module returned */  \
	X(AFTER_STAGE, "after-stage")       /* alive when that stage ended */                      \
	X(AFTER_BACKWARD, "after-backward") /* alive when its step's backward pass ended */        \
	X(AFTER_STEP, "after-step")         /* alive when its step ended */                        \
	X(AFTER_NEXT_STEP, "after-next-step")                                                      \
	X(OVER_STEPS, "over-steps") /* made outside of any, alive when a later one ended */        \
	X(FOREVER, "forever") /* never freed while the program worked */                           \
	X(TO_THE_END, "to-the-end") /* ... or behind the last that was made */

/* Between the vocabulary's matrix product and the loss, and how that is known. */
#define VT_HEADS(X)                                                                                \
	X(FLOW, "data-flow")    /* by what operators read and wrote */                             \
	X(AUTOGRAD, "autograd") /* by the sequence numbers of autograd nodes */                    \
	X(FRAMES, "frames")     /* by the operators on the stacks */                               \
	X(MODULE, "module")     /* by the module: the one beside the token model, or as wide */    \
	X(PRODUCT, "product")   /* the product itself, or behind it in a graph of one number */

/* What the node of an operator made when its turn came in the backward pass. */
#define VT_YIELDS(X)                                                                               \
	X(GRADIENT, "gradient") /* ... of a parameter, which was its input */

/*
 * Whether autograd numbered nodes during the call of the outermost module that made it.  Outside of
 * modules, "on": autograd recorded the operator that made it; under a node of the backward pass:
 * recording was switched on there.
 */
#define VT_GRAD_MODES(X)                                                                           \
	X(ON, "on")                                                                                \
	X(OFF, "off")

/* What the backward pass is for in which a node made it, where not to fill .grad. */
#define VT_PURPOSES(X)                                                                             \
	X(RECORDED, "recorded") /* autograd recorded the pass itself: create_graph */              \
	X(RETURNED, "returned") /* autograd.grad() returns its results */

/* Whether the same place in the program made another in the module's next call, or the last. */
#define VT_REPEATS(X)                                                                              \
	X(AGAIN, "again")                                                                          \
	X(ONCE, "once")                                                                            \
	X(CARRIED, "carried")   /* ... a larger one in its stead, in a loop that makes tokens */   \
	X(AS_CACHE, "as-cache") /* ... one that is a cache by its name (cache_sites.h) */          \
	/* ... the parameter that it replaces (replaced_parameters.h) */                           \
	X(AS_PARAMETER, "as-parameter")

/* What the program's own code made it of (derived_tensors.h). */
#define VT_SOURCES(X)                                                                              \
	X(LOGITS, "logits") /* of the output of a head */                                          \
	X(RESULT, "result") /* of anything else that a model returned */                           \
	X(LAYERS, "layers") /* of what layers made: by operators (flow_kinds.h) */                \
	X(DATA, "data")     /* of what was copied to the device, or made up there */              \
	X(PIECES, "pieces") /* ... and put together */                                             \
	X(WEIGHTS, "weights") /* of a module's tensors alone, to multiply (flow_passes.h) */       \
	X(STREAMED, "streamed") /* of the host's memory, to multiply by (flow_passes.h) */         \
	X(HOST, "host")     /* for what page-locked memory of its size holds (staging.h) */

/* What the program is written with. */
#define VT_PROGRAMS(X)                                                                             \
	X(MODULES, "modules")                                                                      \
	X(FUNCTIONS, "functions") /* no module's forward was seen */                               \
	X(INFERENCE, "inference") /* ... nothing that autograd recorded; operators of networks */  \
	X(DECODER, "decoder")     /* ... and choices among scores */                               \
	X(COMPUTATION, "computation") /* nothing that autograd recorded, no network's operator */  \
	X(OPTIMIZER, "optimizer") /* beside one of those: an optimizer of PyTorch takes steps */   \
	X(UNRECORDED, "unrecorded") /* ... and modules: autograd recorded nothing */

/* What Module._apply made it for. */
#define VT_MOVED(X)                                                                                \
	X(BUFFER, "buffer") /* told from a parameter by the line */

/* What the probe noted about a tensor. */
#define VT_FLAGS(X)                                                                                \
	X(REQUIRES_GRAD, "requires-grad")                                                          \
	X(LEAF, "leaf") /* no operator made it, as far as autograd knows */                        \
	X(VIEW, "view") /* sees a part of its storage only */

/* What a block is a copy of (same shape, another type), or the gradient of. */
#define VT_THINGS(X) X(PARAMETER, "parameter")

/*
 * What the gradients of its size make of what a program keeps in its own variables
 * (functional_updates.h).
 */
#define VT_UPDATES(X)                                                                              \
	X(WEIGHT, "weight")                                                                        \
	X(STATE, "state")                                                                          \
	X(MASTER, "master") /* in twice the width (master_weights.h) */                            \
	X(SIZED, "sized")   /* neither, but of the size of gradients */

/* What the node of the backward pass that released it did. */
#define VT_RELEASERS(X)                                                                            \
	X(RECOMPUTING, "recomputing") /* modules' forward ran under it */                          \
	X(SAME_SIZE, "same-size-gradient") /* it made a gradient of exactly the same size */

/* What the shapes of parameters and inputs make of its exact size. */
#define VT_SHAPE_CLASSES(X)                                                                        \
	X(LOGITS, "logits")                                                                        \
	X(HIDDEN, "hidden")                                                                        \
	X(INTERMEDIATE, "intermediate")                                                            \
	X(SCORES, "scores")                                                                        \
	X(PARAMETER, "parameter") /* a matrix or more of a module */

/* Others of its shape or size. */
#define VT_ALIKE(X)                                                                                \
	X(TREE, "tree")       /* a container has such ones by number (parameter_containers.h) */   \
	X(FACTORS, "factors") /* ... and layers' results were multiplied by one */                 \
	X(SCORES, "scores")   /* ... or of a product on the way to a choice */

/* Of the device's highest use: a size alone must not decide above a thousandth. */
#define VT_SHARES(X)                                                                               \
	X(SMALL, "small")                                                                          \
	X(LARGE, "large")

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
enum vt_lm_head { VT_HEADS(VT_EVIDENCE_ENUM) VT_NR_HEADS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_YIELD_##name
enum vt_yield { VT_YIELDS(VT_EVIDENCE_ENUM) VT_NR_YIELDS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_GRAD_MODE_##name
enum vt_grad_mode { VT_GRAD_MODES(VT_EVIDENCE_ENUM) VT_NR_GRAD_MODES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_SOURCE_##name
enum vt_derived_tensor { VT_SOURCES(VT_EVIDENCE_ENUM) VT_NR_SOURCES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_PURPOSE_##name
enum vt_pass_purpose { VT_PURPOSES(VT_EVIDENCE_ENUM) VT_NR_PURPOSES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_PROGRAM_##name
enum vt_program { VT_PROGRAMS(VT_EVIDENCE_ENUM) VT_NR_PROGRAMS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_MOVED_##name
enum vt_moved { VT_MOVED(VT_EVIDENCE_ENUM) VT_NR_MOVED };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_REPEAT_##name
enum vt_repeat { VT_REPEATS(VT_EVIDENCE_ENUM) VT_NR_REPEATS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_FLAG_##name
enum vt_flag { VT_FLAGS(VT_EVIDENCE_ENUM) VT_NR_FLAGS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_THING_##name
enum vt_thing { VT_THINGS(VT_EVIDENCE_ENUM) VT_NR_THINGS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_UPDATE_##name
enum vt_functional_update { VT_UPDATES(VT_EVIDENCE_ENUM) VT_NR_UPDATES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_RELEASER_##name
enum vt_releaser { VT_RELEASERS(VT_EVIDENCE_ENUM) VT_NR_RELEASERS };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_SHAPE_##name
enum vt_shape_class { VT_SHAPE_CLASSES(VT_EVIDENCE_ENUM) VT_NR_SHAPE_CLASSES };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_ALIKE_##name
enum vt_alike { VT_ALIKE(VT_EVIDENCE_ENUM) VT_NR_ALIKE };
#undef VT_EVIDENCE_PREFIX
#define VT_EVIDENCE_PREFIX(name) VT_SHARE_##name
enum vt_share { VT_SHARES(VT_EVIDENCE_ENUM) VT_NR_SHARES };
#undef VT_EVIDENCE_PREFIX
#undef VT_EVIDENCE_ENUM

/* The texts by number. */
extern const char *const vt_evidence_stages[VT_NR_STAGES];
extern const char *const vt_evidence_provenances[VT_NR_PROVENANCES];
extern const char *const vt_evidence_lifetimes[VT_NR_LIFETIMES];
extern const char *const vt_evidence_heads[VT_NR_HEADS];
extern const char *const vt_evidence_yields[VT_NR_YIELDS];
extern const char *const vt_evidence_grad_modes[VT_NR_GRAD_MODES];
extern const char *const vt_evidence_repeats[VT_NR_REPEATS];
extern const char *const vt_evidence_releasers[VT_NR_RELEASERS];
extern const char *const vt_evidence_moved[VT_NR_MOVED];
extern const char *const vt_evidence_sources[VT_NR_SOURCES];
extern const char *const vt_evidence_purposes[VT_NR_PURPOSES];
extern const char *const vt_evidence_programs[VT_NR_PROGRAMS];
extern const char *const vt_evidence_flags[VT_NR_FLAGS];
extern const char *const vt_evidence_updates[VT_NR_UPDATES];
extern const char *const vt_evidence_shape_classes[VT_NR_SHAPE_CLASSES];
extern const char *const vt_evidence_alike[VT_NR_ALIKE];
extern const char *const vt_evidence_shares[VT_NR_SHARES];
extern const char *const vt_evidence_things[VT_NR_THINGS];

#endif
