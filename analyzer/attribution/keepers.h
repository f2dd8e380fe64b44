/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_KEEPERS_H
#define VT_ANALYZER_KEEPERS_H

/*
 * Why something is still alive: who let go of it last, which is what a user must cut to free it
 * earlier.  An owner tells what a thing is, a keeper who holds it: a norm's output is
 * activations/norm, and kept for the projection that needs it in the backward pass.
 *
 * Only what was recorded counts: how it was freed, and of what lives as long as the program the
 * role that its owner has.  Who else held it before the last one is not known.
 */

#include <stdint.h>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/describe.h"

#define VT_KEEPERS(X)                                                                              \
	X(NODE, "saved for backward")     /* a node of autograd's graph released it */             \
	X(CHECKPOINT, "checkpoint")       /* a part of the forward that was to run again */        \
	X(ENGINE, "backward pass")        /* a gradient on its way to the node that took it */     \
	X(OPERATION, "operation")         /* it died inside the operation that made it */          \
	X(WEIGHTS, "module")              /* parameters and buffers */                             \
	X(GRADIENTS, ".grad")                                                                      \
	X(OPTIMIZER, "optimizer")                                                                  \
	X(CACHE, "cache")                                                                          \
	X(VARIABLE, "variable")           /* Python let it go */                                   \
	X(LIBRARY, "library")             /* its own workspace or buffer */                        \
	X(UNKNOWN, "not known")

#define VT_KEEPER_ENUM(name, text) VT_KEEPER_##name,
enum vt_keeper { VT_KEEPERS(VT_KEEPER_ENUM) VT_NR_KEEPERS };
#undef VT_KEEPER_ENUM

extern const char *const vt_keepers_words[VT_NR_KEEPERS];

/*
 * Of the allocation with that index.  *detail is a text that the caller frees, or NULL: the node
 * and its modules ("AddmmBackward0 in Linear < Attention"), or the line that let go.
 */
enum vt_keeper vt_keepers_find(struct vt_attribution *attribution,
			       const struct vt_describe *describe, uint32_t allocation,
			       char **detail);

/* As one line: "saved for AddmmBackward0 in Linear < Attention"; the caller frees. */
char *vt_keepers_text(enum vt_keeper keeper, const char *detail);

#endif
