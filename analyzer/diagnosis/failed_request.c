/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/failed_request.h"

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"
#include "analyzer/model/site.h"

/* How near an allocation's call is to the request's: modules of a list are called by one line. */
enum likeness {
	SAME_LINES,	   /* of the program */
	SAME_PYTHON_STACK, /* and of the libraries: the same kind of module */
	SAME_NATIVE_STACK,
	NR_LIKENESSES /* of another site */
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

/* The request, and what was found of each caller: the sites of few are those of many blocks. */
struct wanted {
	const struct vt_describe *describe;
	const struct vt_out_of_memory *oom;
	uint64_t site;
	uint64_t lines;
	uint8_t *by_caller; /* enum likeness + 1; 0: not asked yet */
};

static enum likeness find_likeness(const struct wanted *wanted, const struct vt_allocation *a)
{
	const struct vt_out_of_memory *oom = wanted->oom;

	if (a->common->made->node_class != oom->node_class ||
	    vt_site_of(wanted->describe, a) != wanted->site)
		return NR_LIKENESSES;
	if (a->common->made->native_stack == oom->native_stack)
		return SAME_NATIVE_STACK;
	if (oom->python_stack &&
	    lines_of(wanted->describe->model, a->common->made->python_stack) == wanted->lines)
		return SAME_PYTHON_STACK;
	return SAME_LINES;
}

static enum likeness likeness_of(const struct wanted *wanted, const struct vt_allocation *a)
{
	uint8_t *known = &wanted->by_caller[a->common->made->number];

	if (!*known)
		*known = (uint8_t)(find_likeness(wanted, a) + 1);
	return *known - 1;
}

uint32_t vt_failed_request_find_like(const struct vt_describe *describe,
				     const struct vt_out_of_memory *oom)
{
	const struct vt_model *model = describe->model;
	const struct vt_producer producer = vt_producer_of_failed(model, oom);
	const struct wanted wanted = {
		.describe = describe,
		.oom = oom,
		.site = vt_site_of_producer(describe, &producer),
		.lines = lines_of(model, oom->python_stack),
		.by_caller = vt_xcalloc((size_t)model->callers.last_number + 1, 1),
	};
	/* The last of each likeness; what is like it in nothing has no row. */
	uint32_t found[NR_LIKENESSES] = { VT_NO_INDEX, VT_NO_INDEX, VT_NO_INDEX };
	int best = NR_LIKENESSES;

	for (uint32_t i = model->nr_allocations;
	     i-- > 0 && found[SAME_NATIVE_STACK] == VT_NO_INDEX;) {
		const struct vt_allocation *a = &model->allocations[i];
		enum likeness likeness;

		if (a->event > oom->event || !vt_allocation_is_owned(a))
			continue;
		likeness = likeness_of(&wanted, a);
		if (likeness < NR_LIKENESSES && found[likeness] == VT_NO_INDEX)
			found[likeness] = i;
	}
	free(wanted.by_caller);
	while (--best > SAME_LINES && found[best] == VT_NO_INDEX)
		;
	return found[best];
}
