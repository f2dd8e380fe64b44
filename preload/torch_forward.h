/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_FORWARD_H
#define VT_PRELOAD_TORCH_FORWARD_H

/*
 * Where the forward calls stood whose autograd nodes are still to run.  The backward pass of a
 * device runs on a thread without Python; what a node does there is described by the stack that was
 * when the node was made.
 *
 * A node is known by the thread that made it and by its sequence number, which counts per thread.
 *
 * Context: hook, journal open.  Any thread, no lock, bounded memory.
 */

#include <stdint.h>

/* Remembers the stack (0: none) at which the node was made. */
void vt_torch_forward_note(uint64_t thread, uint64_t sequence, uint32_t python_stack);

/*
 * The stack remembered for the node, or 0: never noted, made before this recording, or so long ago
 * that others took its place.
 */
uint32_t vt_torch_forward_find(uint64_t thread, uint64_t sequence);

#endif
