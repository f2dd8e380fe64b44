/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DATAFLOW_H
#define VT_ANALYZER_DATAFLOW_H

/*
 * The graph of what operators read and wrote.  Nodes are operators, the outermost whose meaning is
 * known; values are storages between two writes.  The graph of one forward ends at leaves: what no
 * operator made of data (weights, constants, batches), and what the backward pass made.
 *
 * Each node gets a label: the part of a network that it belongs to.
 */

#include <stdint.h>

#include "analyzer/attribution/calls/operators.h"
#include "analyzer/attribution/calls/operator_classes.h"
#include "analyzer/base/util.h"
#include "analyzer/model/model.h"

#define VT_FLOW_LABELS(X)                                                                          \
	X(NONE, "")                                                                                \
	X(ATTENTION, "attention")                                                                  \
	X(MLP, "mlp")                                                                              \
	/* of the last product, which nothing reads: it may be a head whose scores nobody used */  \
	X(LAST_MLP, "mlp")                                                                         \
	X(NORM, "norm")                                                                            \
	X(RESIDUAL, "residual")                                                                    \
	X(EMBEDDING, "embedding")                                                                  \
	X(CONV, "conv")                                                                            \
	X(MIXER, "mixer")                                                                          \
	X(LOGITS, "logits")                                                                        \
	/* known to be none of these: distances to the rows of a code book */                      \
	X(OTHER, "other")                                                                          \
	/* a weight in the form in which a product reads it */                                     \
	X(WEIGHT, "weight")                                                                        \
	/* a weight that the host keeps, copied to the device to be multiplied by */               \
	X(STREAMED, "streamed weight")

#define VT_FLOW_LABEL_ENUM(name, text) VT_FLOW_##name,
enum vt_flow_label { VT_FLOW_LABELS(VT_FLOW_LABEL_ENUM) VT_NR_FLOW_LABELS };
#undef VT_FLOW_LABEL_ENUM

struct vt_flow_value {
	uint64_t bytes;	       /* of its storage */
	uint32_t allocation;
	uint32_t writer;       /* node; VT_NO_INDEX: a leaf */
	uint32_t since;	       /* the node that made it, or the first that read it */
	uint32_t first_reader; /* in `readers` */
	uint32_t nr_readers;   /* nodes of a forward */
	uint8_t is_of_layer;   /* a layer's, or computed of one: no batch */
};

struct vt_flow_node {
	uint32_t operator;
	uint32_t first_input; /* in `inputs` */
	uint32_t nr_inputs;
	uint32_t first_output; /* its values follow each other */
	uint32_t nr_outputs;
	uint32_t region;
	uint8_t class;	     /* enum vt_operator_class */
	uint8_t label;	     /* enum vt_flow_label */
	uint8_t makes_leaf;  /* of leaves alone, or in the backward pass */
	uint8_t in_backward; /* ... and not to repeat a forward */
	uint8_t is_of_normaliser; /* computed of a VT_OPERATOR_NORMALISER */
	/* The last product of a forward, or made of it by element, that no operator reads. */
	uint8_t is_unread;
	uint8_t is_recurrent; /* of a loop over time */
	uint8_t fills_scores; /* into a blank tensor, its first input */
	uint8_t is_of_layer;  /* its results are */
};

struct vt_dataflow {
	const struct vt_model *model;
	struct vt_flow_node *nodes;
	uint32_t nr_nodes;
	struct vt_flow_value *values;
	uint32_t nr_values;
	uint32_t *inputs;  /* values of nodes, in order */
	uint32_t *readers; /* nodes of values, in order */
	uint32_t *seen;	   /* by node: the last walk that came there */
	uint32_t walk;
};

/* `operators` say what made a leaf that no observed operator made. */
void vt_dataflow_init(struct vt_dataflow *flow, const struct vt_model *model,
		      struct vt_operators *operators);
void vt_dataflow_release(struct vt_dataflow *flow);

VT_VECTOR_DECLARE(vt_flow_nodes, uint32_t);

static inline const struct vt_flow_value *vt_dataflow_input(const struct vt_dataflow *flow,
							     const struct vt_flow_node *node,
							     uint32_t i)
{
	return &flow->values[flow->inputs[node->first_input + i]];
}

/* What wrote the i-th input, NULL: nothing of this forward. */
struct vt_flow_node *vt_dataflow_writer(const struct vt_dataflow *flow,
					const struct vt_flow_node *node, uint32_t i);
/* Of all nodes that read what it wrote; NULL behind the last. */
struct vt_flow_node *vt_dataflow_reader(const struct vt_dataflow *flow,
					const struct vt_flow_node *node, uint32_t i);
uint64_t vt_dataflow_bytes(const struct vt_dataflow *flow, const struct vt_flow_node *node);
/* The largest of its inputs. */
uint64_t vt_dataflow_input_bytes(const struct vt_dataflow *flow, const struct vt_flow_node *node);
/* Through copies, casts and dropouts to what they repeat: index of a value. */
uint32_t vt_dataflow_origin(const struct vt_dataflow *flow, uint32_t value);
static inline int vt_flow_is_product(const struct vt_flow_node *node)
{
	return node->class == VT_OPERATOR_PRODUCT || node->class == VT_OPERATOR_CONVOLUTION;
}

/* A product or convolution of data by something that is a leaf; or of data by data. */
int vt_dataflow_is_by_weight(const struct vt_dataflow *flow, const struct vt_flow_node *node);
int vt_dataflow_is_of_data(const struct vt_dataflow *flow, const struct vt_flow_node *node);
/* The frames in which a node's operator was called, innermost first, as vt_frames_python(). */
unsigned vt_dataflow_frames(const struct vt_dataflow *flow, const struct vt_flow_node *node,
			    uint32_t *ids);
/* The innermost of them that is a module's method; NULL: none is. */
const struct vt_frame_python *vt_dataflow_method(const struct vt_dataflow *flow,
						 const struct vt_flow_node *node);
/* Begins a walk: no node was seen.  A second call for one node returns 0. */
void vt_dataflow_walk(struct vt_dataflow *flow);
int vt_dataflow_see(struct vt_dataflow *flow, const struct vt_flow_node *node);

static inline uint32_t vt_dataflow_index(const struct vt_dataflow *flow,
					 const struct vt_flow_node *node)
{
	return (uint32_t)(node - flow->nodes);
}

/* A node of a forward that is not made of leaves alone. */
static inline int vt_flow_node_counts(const struct vt_flow_node *node)
{
	return !node->makes_leaf && !node->in_backward;
}

#endif
