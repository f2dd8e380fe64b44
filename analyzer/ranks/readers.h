/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_READERS_H
#define VT_ANALYZER_READERS_H

/*
 * Reads many recordings, each in a process of its own: as many at once as there are processors,
 * fewer where they are large.  Memory does not grow with their number, and one that brings its
 * reader down is one that could not be read.
 */

#include "analyzer/ranks/rank.h"

/*
 * `ranks`: `nr` of them, zeroed but `file`; fills them in.  Shows how far it is on a terminal.
 * vt_rank_release for each.
 */
void vt_readers_run(struct vt_rank *ranks, uint32_t nr, const struct vt_rank_options *options);

#endif
