/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/timeline/recorded_passes.h"

#include <string.h>

#include "analyzer/base/util.h"

/* The last allocation of a thread of the engine. */
struct last {
	uint32_t thread;
	uint32_t span;
	uint64_t sequence;
	uint8_t is_python; /* below Python code: modules that run again number nodes in any pass */
};

typedef VT_VECTOR(struct last) last_vector;

/* Takes the thread's next allocation; whether a node numbered others since the last one. */
static int is_numbering(last_vector *threads, const struct last *next)
{
	struct last fresh = { next->thread, VT_NO_INDEX, 0, 0 };
	struct last *known = NULL;
	int is_new;

	for (size_t i = 0; i < threads->len && !known; i++)
		if (threads->items[i].thread == next->thread)
			known = &threads->items[i];
	if (!known) {
		vt_vector_push(threads, fresh);
		known = &threads->items[threads->len - 1];
	}
	is_new = known->span == next->span && !known->is_python && !next->is_python &&
		 known->sequence != next->sequence;
	*known = *next;
	return is_new;
}

/* torch.autograd.grad(): it makes the gradient that its pass starts with. */
static int is_returned(const struct vt_frames *frames, uint32_t python_stack)
{
	static const char file[] = "/torch/autograd/__init__.py";
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, python_stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);
		size_t len = strlen(code->file);

		if (len >= sizeof(file) - 1 && strcmp(code->short_name, "grad") == 0 &&
		    strcmp(code->file + len - (sizeof(file) - 1), file) == 0)
			return 1;
	}
	return 0;
}

void vt_recorded_passes_init(struct vt_recorded_passes *passes, const struct vt_model *model,
			     const struct vt_span_index *index)
{
	const struct vt_span *spans = index->spans;
	last_vector threads = { 0 };

	passes->is_any_plain = 0;
	passes->what = vt_xcalloc((size_t)index->nr_spans + 1, 1);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		const struct last next = { a->common->made->thread,
					   vt_spans_index_find(index, a->event),
					   a->forward_sequence,
					   a->common->made->python_stack != 0 };

		if (next.span == VT_NO_INDEX || spans[next.span].stage != VT_STAGE_BACKWARD)
			continue;
		if (a->common->made->node_class && is_numbering(&threads, &next))
			passes->what[next.span] |= 1u << VT_PURPOSE_RECORDED;
		if (!a->common->made->node_class &&
		    is_returned(&model->frames, a->common->made->python_stack))
			passes->what[next.span] |= 1u << VT_PURPOSE_RETURNED;
	}
	for (uint32_t i = 0; i < index->nr_spans; i++)
		passes->is_any_plain |= spans[i].stage == VT_STAGE_BACKWARD && !passes->what[i];
	vt_vector_release(&threads);
}

void vt_recorded_passes_release(struct vt_recorded_passes *passes)
{
	free(passes->what);
	memset(passes, 0, sizeof(*passes));
}

int vt_recorded_passes_is_inner(const struct vt_recorded_passes *passes, uint32_t span)
{
	return passes->is_any_plain && passes->what[span];
}
