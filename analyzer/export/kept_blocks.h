/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_KEPT_BLOCKS_H
#define VT_ANALYZER_KEPT_BLOCKS_H

/*
 * Which blocks of a long recording a file has events of.  All that are live when most is allocated
 * (on their device, up to the job's moment), and all that are live at that moment; of the others
 * those that took most bytes over most events, up to VT_KEPT_BLOCKS_MOST.  What is left out lowers
 * what a viewer shows at other times, and never the peak.
 */

#include <stdint.h>

#include "analyzer/export/writers.h"

/* More than 10^6 events make; PyTorch's viewer draws the 15,000 largest. */
#define VT_KEPT_BLOCKS_MOST 600000

struct vt_kept_blocks {
	uint8_t *is_kept; /* by allocation */
};

/* With job->is_whole all are kept; else job->left_out says what is not. */
void vt_kept_blocks_init(struct vt_kept_blocks *kept, struct vt_writer_job *job);
void vt_kept_blocks_release(struct vt_kept_blocks *kept);

static inline int vt_kept_blocks_has(const struct vt_kept_blocks *kept, uint32_t allocation)
{
	return kept->is_kept[allocation];
}

#endif
