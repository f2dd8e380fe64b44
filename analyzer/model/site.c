/* SPDX-License-Identifier: MIT */
#include "analyzer/model/site.h"

#include "analyzer/base/hash.h"

/* Distinguishes the backward of a line from the line. */
#define IS_BACKWARD UINT64_MAX

uint64_t vt_site_of_producer(const struct vt_describe *describe,
			     const struct vt_producer *producer)
{
	const struct vt_model *model = describe->model;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(describe, producer->python_stack, ids);
	uint64_t hash = producer->is_backward ? vt_hash_mix(IS_BACKWARD, nr) : nr;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_frame_python *frame = &model->frames.python[ids[i]];

		hash = vt_hash_mix(hash, (uint64_t)frame->code << 32 | frame->line);
	}
	if (nr)
		return hash;
	nr = vt_frames_native(&model->frames, producer->native_stack, ids);
	hash = vt_hash_mix(1, nr);
	for (unsigned i = 0; i < nr; i++)
		hash = vt_hash_mix(hash, ids[i]);
	return hash;
}

uint64_t vt_site_of(const struct vt_describe *describe, const struct vt_allocation *a)
{
	struct vt_producer producer = vt_producer_of(describe->model, a);

	return vt_site_of_producer(describe, &producer);
}
