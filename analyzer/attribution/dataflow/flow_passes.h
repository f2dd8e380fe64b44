/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FLOW_PASSES_H
#define VT_ANALYZER_FLOW_PASSES_H

/* What labels the nodes of the graph, in the order in which they are called. */

#include "analyzer/attribution/dataflow/dataflow.h"
#include "analyzer/base/map.h"

struct vt_names;

/*
 * Weights in another form: what is computed of parameters and buffers alone, without autograd (a
 * cast may be trained through), and multiplied with data.  To the other passes these are leaves.
 */
void vt_flow_find_weights(struct vt_dataflow *flow, const struct vt_names *names);

/*
 * Weights that the host keeps: copied to the device, and read by nothing but products, which
 * multiply what layers made by them.
 */
void vt_flow_find_streamed(struct vt_dataflow *flow);

/*
 * Softmax and the logarithm of a sum of exponentials, spelled out: the node that ends one gets the
 * class of the operator.
 */
void vt_flow_find_composites(struct vt_dataflow *flow);

/*
 * Norms: their operators, and by hand: data times the inverse root of what it was reduced to, what
 * that is made of, the scale and the shift behind it, casts that only norms read.
 */
void vt_flow_label_norms(struct vt_dataflow *flow);

/*
 * Loops over time: the same lines again and again, each iteration computed of the last, by the
 * same weights.
 */
void vt_flow_find_recurrence(struct vt_dataflow *flow);
/* The line of a node's operator, the same in each iteration. */
struct vt_key vt_flow_line(const struct vt_dataflow *flow, const struct vt_flow_node *node);

/*
 * Logits: what a product by weights made and what became of it, where that reaches the
 * normalisation of a loss or a choice through operators by element, and no other layer, in no
 * iteration of a loop over time; or where the weights are the table in which tokens are looked up.
 */
void vt_flow_label_logits(struct vt_dataflow *flow);

/*
 * Residual sums: one operand was computed from the other.  What lies between is a region; each node
 * belongs to the smallest.
 */
void vt_flow_find_regions(struct vt_dataflow *flow);

/*
 * Attention: a softmax between two products of data, or the fused operator, back to the products by
 * weights and on to the next of them, within one region.
 */
void vt_flow_label_attention(struct vt_dataflow *flow);

/* What is left of loops over time: as the same line in another iteration, else a mixer. */
void vt_flow_label_recurrence(struct vt_dataflow *flow);

/*
 * Feed-forwards of branches that convolve too: two products by weights with a nonlinear operator
 * between them, at each position.
 */
void vt_flow_label_feed_forwards(struct vt_dataflow *flow);

/*
 * Patches and features as tokens: a product of data by a weight, to whose result positions are
 * added.
 */
void vt_flow_label_projections(struct vt_dataflow *flow);

/* The rest of regions by what they hold, the rest of nodes by what they do. */
void vt_flow_label_rest(struct vt_dataflow *flow);

/*
 * Masks and other constants: by the rest of the function that makes them.  Those of a function that
 * makes nothing else: by what reads them, where that is one place of the network.
 */
void vt_flow_label_functions(struct vt_dataflow *flow);

#endif
