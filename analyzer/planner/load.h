/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_LOAD_H
#define VT_ANALYZER_LOAD_H

/*
 * The loading of a model, replayed through the allocator: every parameter and buffer in the order
 * of its module.
 */

#include "analyzer/planner/architecture.h"
#include "analyzer/replay/pools.h"

/* One tensor of a model, in the order of its modules. */
struct vt_load_tensor {
	const struct vt_plan_tensor *tensor; /* NULL: a buffer */
	uint64_t elements;                   /* of a buffer: bytes, in the final type */
	uint64_t layer;                      /* of its part; VT_LOAD_NO_LAYER: outside */
	struct vt_piece *block;
};

#define VT_LOAD_NO_LAYER UINT64_MAX

VT_VECTOR_DECLARE(vt_load_tensors, struct vt_load_tensor);

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

/*
 * The same to an allocator of the caller's, whose blocks stay.  Lists the tensors: none where there
 * are too many.  Release with vt_vector_release.
 */
void vt_load_play(struct vt_load *load, struct vt_pools *pools, struct vt_load_tensors *tensors);

#endif
