/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MICRO_BATCH_RESULTS_H
#define VT_ANALYZER_MICRO_BATCH_RESULTS_H

/*
 * What a micro-batch leaves behind that the next one of its step makes again: an output in a
 * variable that the next output replaces, or in a list.  What is made at another place by then, or
 * only once in a step, may be what the step goes on with, and so is what an operator reads.
 */

#include "analyzer/attribution/timeline/stages.h"

/*
 * By allocation, the first event behind the micro-batch that made it, 0: it is no such block.  To
 * be freed; NULL: the program does not accumulate gradients.
 */
int64_t *vt_micro_batch_results_find(const struct vt_stages *stages);

#endif
