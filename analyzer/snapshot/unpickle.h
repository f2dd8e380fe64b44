/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_UNPICKLE_H
#define VT_ANALYZER_UNPICKLE_H

/*
 * Reads a pickle that is data: what CPython and PyTorch write for dicts, lists, tuples, texts,
 * numbers, bools and None, in protocols 0 to 5.
 *
 *  P1  A pickle is a program; opcodes that import, call or build objects are refused by name and
 *      place, and nothing is ever run.
 *  P2  No recursion: how deep data is nested does not matter.
 *  P3  Time is linear in the unpacked length.  So is memory, and it is bounded by `most_bytes` of
 *      `values`.
 *  P4  References stay references: what the memo names again is the same value.
 */

#include "analyzer/snapshot/stream.h"
#include "analyzer/snapshot/values.h"

/* How much of the file was read. */
typedef void (*vt_unpickle_progress_fn)(void *context, uint64_t done, uint64_t all);

/*
 * `values` is initialised.  Returns 0 with the value in *root, or -1 with `diag` filled (exit code
 * 3): another opcode, truncated, inconsistent, too large.
 */
int vt_unpickle(struct vt_values *values, struct vt_stream *stream, vt_value *root,
		   vt_unpickle_progress_fn progress, void *context, struct vt_diag *diag);

#endif
