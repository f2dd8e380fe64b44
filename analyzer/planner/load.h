/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LOAD_H
#define VT_ANALYZER_LOAD_H

/*
 * The loading of a model, replayed through the allocator: every parameter and buffer in the order
 * of its module.
 */

#include "analyzer/planner/architecture.h"

struct vt_load {
	const struct vt_architecture *model;
	double element_bytes;       /* of a parameter when all is done */
	uint64_t rope_bytes;        /* of one of the two caches that each layer has, 0: none */
	int is_cast_later;          /* in fp32 to the device first, then .to(dtype) */
	uint64_t requested_bytes;   /* result: what tensors take */
	uint64_t allocated_bytes;   /* result: what blocks take */
	uint64_t reserved_bytes;    /* result: what segments take */
};

/* Replays; models of more than that many tensors are left out and the results are 0. */
#define VT_LOAD_MAX_TENSORS 4096
void vt_load_replay(struct vt_load *load);

#endif
