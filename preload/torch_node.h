/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_NODE_H
#define VT_PRELOAD_TORCH_NODE_H

/*
 * An autograd node (torch::autograd::Node) read raw: its class by C++ run-time type information,
 * and the sequence number that ties it to the forward operation that made it.
 */

#include <stdint.h>

#define VT_TORCH_NO_SEQUENCE UINT64_MAX

/* The mangled name of the node's class; never NULL, "" if it is not known. */
const char *vt_torch_node_class(const void *node);

/*
 * The node's sequence number; VT_TORCH_NO_SEQUENCE for nodes without one (AccumulateGrad) and as
 * long as it is not known where this PyTorch keeps it.  Any thread.
 */
uint64_t vt_torch_node_sequence(const void *node, const char *node_class);

/*
 * The number that PyTorch gave to the thread which made the node, from 1; 0 as long as it is not
 * known where this PyTorch keeps it.  Any thread.
 */
uint64_t vt_torch_node_thread(const void *node, const char *node_class);

/*
 * Notes a number that PyTorch has just given out: nodes made up to now have none above the
 * highest.
 */
void vt_torch_node_note_sequence(uint64_t sequence);

#endif
