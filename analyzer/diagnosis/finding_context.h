/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FINDING_CONTEXT_H
#define VT_ANALYZER_FINDING_CONTEXT_H

/*
 * One device of a run at its highest use of bytes with an owner: what the families of findings look
 * at, and where they leave what they found.
 */

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/map.h"
#include "analyzer/diagnosis/engine.h"
#include "analyzer/diagnosis/finding_ids.h"
#include "analyzer/diagnosis/savings.h"
#include "analyzer/model/describe.h"
#include "analyzer/replay/traces.h"

struct vt_finding {
	enum vt_finding_id id;
	uint64_t saves_bytes;	       /* of the one that `is_replayed` names */
	uint64_t lowers_allocated_bytes; /* the most allocated bytes */
	uint64_t lowers_used_bytes;	 /* the highest device use */
	struct vt_savings savings;	 /* empty for what is replayed */
	const char *owner; /* borrowed; NULL: of no one owner */
	char *where;       /* "model.py:646 Net.forward"; NULL: no one place */
	char *caller;      /* the program's line, where that is a library's; NULL: it is not */
	char *text;        /* what, with this run's figures */
	int device;
	uint8_t is_replayed; /* saves_bytes is of device use; else of allocated bytes */
	uint8_t is_used_known;
	uint8_t is_least; /* the savings are lower bounds, maybe 0: the rest is not recorded */
	uint8_t is_for_cache; /* an engine's cache grows by what is saved; its use stays */
	const char *flag;     /* what to do in an engine's own flags; NULL: finding_table.def */
};

VT_VECTOR_DECLARE(vt_findings, struct vt_finding);

void vt_finding_release(struct vt_finding *finding);

/* What a graph keeps that no backward pass used: the finding about that has it, no other. */
enum vt_unused_graph {
	VT_IN_NO_UNUSED_GRAPH,
	VT_IN_UNUSED_GRAPH,
	VT_BEHIND_ITS_PASS, /* made of the pass's result: the loss, for instance */
};

/* Owners that the families ask for, each with all below it. */
#define VT_FINDING_OWNERS(X)                                                                       \
	X(ACTIVATIONS, "activations")                                                              \
	X(ACTIVATION_GRADIENTS, "activation gradients")                                            \
	X(ATTENTION, "activations/attention")                                                      \
	X(BUFFERS, "buffers")                                                                      \
	X(CASTS, "weights/cast")                                                                   \
	X(CHECKPOINTS, "activations/checkpoint")                                                   \
	X(CUBLAS, "workspace/cublas")                                                              \
	X(GRADIENTS, "gradients")                                                                  \
	X(INPUTS, "inputs")                                                                        \
	X(KV_CACHE, "kv cache")                                                                    \
	X(LOGITS, "logits")                                                                        \
	X(OPTIMIZER_WORKSPACE, "workspace/optimizer")                                              \
	X(RESIDUALS, "activations/residual")                                                       \
	X(UNKNOWN, "unknown")                                                                      \
	X(USER, "user")

#define VT_FINDING_OWNER_NUMBER(name, path) VT_OWNER_NUMBER_##name,
enum { VT_FINDING_OWNERS(VT_FINDING_OWNER_NUMBER) VT_NR_FINDING_OWNERS };
#undef VT_FINDING_OWNER_NUMBER

/* The same as bits. */
#define VT_FINDING_OWNER_BIT(name, path) VT_OWNERS_##name = 1u << VT_OWNER_NUMBER_##name,
enum vt_finding_owners { VT_FINDING_OWNERS(VT_FINDING_OWNER_BIT) };
#undef VT_FINDING_OWNER_BIT

struct vt_finding_context {
	struct vt_findings *findings;
	struct vt_attribution *attribution;
	const struct vt_describe *describe;
	struct vt_traces *traces;
	const struct vt_timeline *timeline;
	const struct vt_model *model;
	const struct vt_facts *facts;
	int device;
	int64_t event;
	struct vt_allocated allocated;
	uint64_t peak_bytes;
	uint32_t *live; /* allocations with an owner at that event */
	uint32_t nr_live;
	uint32_t *owners; /* by verdict + 1: enum vt_finding_owners that it is of, 0: none */
	const struct vt_engine *engine; /* that the program is, engine.h; NULL: it is none */
	uint8_t *unused_graph; /* by allocation: enum vt_unused_graph, as find_graphs found it */
	uint32_t step;   /* 0: in none */
	uint8_t stage;   /* enum vt_stage */
	uint8_t is_training;
	uint8_t is_ended_well; /* with exit code 0: nothing was to come */
	uint8_t has_failed;    /* ended by an error or a signal */
};

/* `findings`, `attribution`, `describe`, `traces` and `device` are set; the rest is found. */
void vt_finding_context_init(struct vt_finding_context *context, int64_t event);
void vt_finding_context_release(struct vt_finding_context *context);

/* The key of a tensor's name in a map; that of "" where it has none. */
struct vt_key vt_finding_context_name_key(const struct vt_finding_context *context,
					  const struct vt_tensor *tensor);
/* The line that made it, with all that called it. */
struct vt_key vt_finding_context_place_key(const struct vt_allocation *a);
/* Whether the owner of an allocation is one of `owners`, bits of enum vt_finding_owners. */
static inline int vt_finding_context_is_owner(const struct vt_finding_context *context,
					      uint32_t allocation, uint32_t owners)
{
	return (context->owners[vt_attribution_verdict_number(context->attribution, allocation)] &
		owners) != 0;
}

/* The same of what has an owner on the device; a loop over all asks this first. */
static inline int vt_finding_context_has(const struct vt_finding_context *context,
					 uint32_t allocation, uint32_t owners)
{
	const struct vt_allocation *a = &context->model->allocations[allocation];

	return vt_finding_context_is_owner(context, allocation, owners) &&
	       a->common->device == context->device && vt_allocation_is_owned(a);
}

/* Bytes of an element of the types that models are trained in: 4 or 2; 0: another, or not seen. */
unsigned vt_finding_context_width(const struct vt_finding_context *context,
				  const struct vt_tensor *tensor);
/* Whether bytes at the highest use are not worth a line. */
int vt_finding_context_is_little(const struct vt_finding_context *context, uint64_t bytes);
/*
 * Adds what the savings save, if that is worth a line.  `text` is taken; `allocation` tells owner
 * and place.  The savings are released.
 */
void vt_finding_context_add(struct vt_finding_context *context, enum vt_finding_id id,
			    struct vt_savings *savings, uint32_t allocation, char *text);
/*
 * The same where no more is known than a least; `likely_bytes`, if they are more, say whether it
 * is worth a line.
 */
void vt_finding_context_add_least(struct vt_finding_context *context, enum vt_finding_id id,
				  struct vt_savings *savings, uint64_t likely_bytes,
				  uint32_t allocation, char *text);
/* What an engine's cache would be larger by, at the same use. */
void vt_finding_context_add_for_cache(struct vt_finding_context *context, enum vt_finding_id id,
				      uint64_t bytes, uint32_t allocation, char *text);
/* The same for what a replay came to. */
void vt_finding_context_add_replayed(struct vt_finding_context *context, enum vt_finding_id id,
			   const struct vt_replay *recorded, const struct vt_replay *changed,
			   char *text);
/*
 * Finds by replay what the findings of the device lower the highest device use by, and drops those
 * that lower nothing.  Where the replay uses more, what they lower it by is not known.
 */
void vt_finding_context_settle(struct vt_finding_context *context);

#endif
