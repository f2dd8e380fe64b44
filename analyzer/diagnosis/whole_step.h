/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_WHOLE_STEP_H
#define VT_ANALYZER_WHOLE_STEP_H

/*
 * What a training step still has to take after a request of it failed, where no step was recorded
 * that began with the optimizer's states: gradients, layers that did not run yet.  From that an
 * upper bound of the batch: a lower bound of the bytes cannot promise that a batch fits, only that
 * it does not.
 */

#include "analyzer/diagnosis/smaller.h"

struct vt_whole_step {
	uint8_t is_unseen; /* else all is zero: not in training, or two whole steps ended before */
	uint64_t parameter_bytes; /* of parameters that require a gradient */
	uint64_t gradient_bytes;  /* of those that have none yet */
	uint64_t state_bytes;     /* live optimizer states; 0: its first step did not come */
	uint32_t nr_layers;       /* of rows of equal modules; 0: none has run in its order */
	uint32_t nr_layers_left;  /* that did not run to their end */
	uint64_t layer_bytes;     /* that these keep at least, with the recorded batch */
	uint64_t most_batch;      /* none above it fits; 0: none at all fits, or it is not known */
	uint8_t has_most;         /* it is known */
};

/*
 * `oom` must be on the trace; `smaller` is that request's.  `is_exact`: the replay gives what was
 * recorded, so that what it refuses is refused.
 */
void vt_whole_step_find(struct vt_whole_step *whole, struct vt_attribution *attribution,
			const struct vt_trace *trace, uint32_t oom,
			const struct vt_smaller *smaller, int is_exact);

#endif
