/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_KEPT_BLOCKS_H
#define VT_ANALYZER_KEPT_BLOCKS_H

/*
 * Which blocks of a long recording a file has events of.  All that are live when most is allocated
 * (on their device, up to the job's moment), and all that are live at that moment; of the others
 * those that took most bytes over most events, up to a number.  What is left out lowers what a
 * viewer shows at other times, and never the peak.
 */

#include <stdint.h>

#include "analyzer/export/writers.h"

struct vt_kept_blocks {
	uint8_t *is_kept; /* by allocation */
};

/* With job->is_whole all are kept; else job->left_out says what is not. */
void vt_kept_blocks_init(struct vt_kept_blocks *kept, struct vt_writer_job *job, uint32_t most);
void vt_kept_blocks_release(struct vt_kept_blocks *kept);

static inline int vt_kept_blocks_has(const struct vt_kept_blocks *kept, uint32_t allocation)
{
	return kept->is_kept[allocation];
}

#endif
