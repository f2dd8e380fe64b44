/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/failed_request.h"

#include "analyzer/base/hash.h"
#include "analyzer/model/site.h"

/* How near an allocation's call is to the request's: modules of a list are called by one line. */
enum likeness {
	SAME_LINES,	   /* of the program */
	SAME_PYTHON_STACK, /* and of the libraries: the same kind of module */
	SAME_NATIVE_STACK,
	NR_LIKENESSES
};

/* All lines, of the libraries too; two modules of a kind have stacks with other numbers. */
static uint64_t lines_of(const struct vt_model *model, uint32_t python_stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(&model->frames, python_stack, ids);
	uint64_t hash = nr;

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_frame_python *frame = &model->frames.python[ids[i]];

		hash = vt_hash_mix(hash, (uint64_t)frame->code << 32 | frame->line);
	}
	return hash;
}

uint32_t vt_failed_request_find_like(const struct vt_describe *describe,
				     const struct vt_out_of_memory *oom)
{
	const struct vt_model *model = describe->model;
	const struct vt_producer wanted = vt_producer_of_failed(model, oom);
	uint64_t site = vt_site_of_producer(describe, &wanted);
	uint64_t lines = lines_of(model, oom->python_stack);
	uint32_t found[NR_LIKENESSES] = { VT_NO_INDEX, VT_NO_INDEX, VT_NO_INDEX };
	int best = NR_LIKENESSES;

	for (uint32_t i = model->nr_allocations;
	     i-- > 0 && found[SAME_NATIVE_STACK] == VT_NO_INDEX;) {
		const struct vt_allocation *a = &model->allocations[i];
		enum likeness likeness = SAME_LINES;

		if (a->event > oom->event || !vt_allocation_is_owned(a) ||
		    a->made->node_class != oom->node_class || vt_site_of(describe, a) != site)
			continue;
		if (a->made->native_stack == oom->native_stack)
			likeness = SAME_NATIVE_STACK;
		else if (oom->python_stack && lines_of(model, a->made->python_stack) == lines)
			likeness = SAME_PYTHON_STACK;
		if (found[likeness] == VT_NO_INDEX)
			found[likeness] = i;
	}
	while (--best > SAME_LINES && found[best] == VT_NO_INDEX)
		;
	return found[best];
}
