/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FACT_TABLE_H
#define VT_ANALYZER_FACT_TABLE_H

/*
 * The facts about an allocation that rules are made of: their keys, how a value is compared, and
 * the words that a value of few kinds can be.  Finding them for one allocation is facts.h and
 * match.h.
 */

#include <stddef.h>

/* The facts that a rule can ask for, and how their values are compared. */
#define VT_FACTS(X)                                                                                \
	X(KIND, "kind", WORDS)   /* block, segment, vmm, ... */                                    \
	X(STAGE, "stage", WORDS) /* when it was made */                                            \
	X(FREED_STAGE, "freed_stage", WORDS)                                                       \
	X(LIFETIME, "lifetime", WORDS)                                                             \
	X(FREED_BY, "freed_by", WORDS)        /* what the node that released it did */             \
	X(HEAD, "head", WORDS)                                                                     \
	X(YIELD, "yield", WORDS)              /* what the node of its operator made in backward */ \
	X(GRAD, "grad", WORDS)                /* whether autograd recorded its module call */      \
	X(MADE, "made", WORDS)                /* whether that place makes one in every call */     \
	X(MADE_OF, "made_of", WORDS)          /* what the program's own code made it of */         \
	X(PASS, "pass", WORDS)                /* what the backward pass is for that made it */     \
	X(MOVED, "moved", WORDS)              /* what Module._apply made it for */                 \
	X(PROGRAM, "program", WORDS)          /* written with modules or without */                \
	X(ROLE, "role", WORDS)                /* where the probe found it, any of its places */    \
	X(FLAG, "flag", WORDS)                /* what any tensor found in it is */                 \
	X(COPY_OF, "copy_of", WORDS)          /* what has its shape in another type */             \
	X(GRADIENT_OF, "gradient_of", WORDS)  /* what module and size of its node's call show */   \
	X(UPDATE, "update", WORDS)            /* what gradients of its size make of it */          \
	X(CAST_OF, "cast_of", WORDS)          /* the same of a copy in half the width */           \
	X(LIKE, "like", WORDS)                /* what has its shape, in any type */                \
	X(SHAPE_CLASS, "shape_class", WORDS)  /* what has this exact size here */                  \
	X(ALIKE, "alike", WORDS)              /* which others have its shape or size */            \
	X(SHARE, "share", WORDS)              /* of the peak */                                    \
	X(NAME, "name", NAMES)                /* under which the probe found it */                 \
	X(HOLDER, "holder", NAMES)            /* the variable that its root was found in */        \
	X(DTYPE, "dtype", NAMES)              /* the tensor's */                                   \
	X(SHAPE, "shape", NAMES)              /* the tensor's, "4096,11008" */                     \
	X(SCOPE, "scope", TEXT)               /* innermost open range */                           \
	X(NODE, "node", TEXT)                 /* class of the autograd node that made it */        \
	X(FREED_NODE, "freed_node", TEXT)     /* ... that released it: it was saved for it */      \
	X(FORWARD_NODE, "forward_node", TEXT) /* ... that the operator which made it belongs to */ \
	X(OP, "op", TEXT)                     /* innermost PyTorch operator on the native stack */ \
	X(INNER_MODULE, "inner_module", TEXT) /* class of the innermost module */                  \
	X(MODULE, "module", STACK)            /* class of any module on the stack */               \
	X(FRAME, "frame", STACK)              /* any Python frame */                               \
	X(INNER_FRAME, "inner_frame", STACK)  /* Python frames inside the innermost module call */ \
	X(LEAF_FRAME, "leaf_frame", STACK)    /* innermost one outside of PyTorch */               \
	X(METHOD, "method", STACK)            /* frames whose self is a module or optimizer */     \
	X(FREED_FRAME, "freed_frame", STACK)                                                       \
	X(FORWARD_FRAME, "forward_frame", STACK) /* where the call stood that made its node */     \
	X(FREED_FORWARD_FRAME, "freed_forward_frame", STACK) /* ... the node that released it */   \
	X(NATIVE, "native", STACK) /* any native frame */                                          \
	X(FREED_NATIVE, "freed_native", STACK)                                                     \
	X(MIN_BYTES, "min_bytes", BYTES)

#define VT_FACT_ENUM(name, text, how) VT_FACT_##name,
enum vt_fact { VT_FACTS(VT_FACT_ENUM) VT_NR_FACTS };
#undef VT_FACT_ENUM

enum vt_compare {
	VT_COMPARE_WORDS,
	VT_COMPARE_TEXT,
	VT_COMPARE_NAMES, /* one of several texts */
	VT_COMPARE_STACK,
	VT_COMPARE_BYTES,
};

/* How rule files write a fact, and the words it can have; NULL: it is not compared by word. */
const char *vt_fact_table_key(enum vt_fact fact);
enum vt_compare vt_fact_table_compare(enum vt_fact fact);
const char *const *vt_fact_table_words(enum vt_fact fact, size_t *count);

#endif
