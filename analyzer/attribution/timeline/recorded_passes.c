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

/* torch.autograd's function that makes the gradient which a pass starts with; NULL: none does. */
static const char *find_root(const struct vt_frames *frames, uint32_t python_stack)
{
	static const char file[] = "/torch/autograd/__init__.py";
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, python_stack, ids);

	for (unsigned i = 0; i < nr; i++) {
		const struct vt_code *code = vt_frames_code(frames, ids[i]);
		size_t len = strlen(code->file);

		if (len >= sizeof(file) - 1 &&
		    strcmp(code->file + len - (sizeof(file) - 1), file) == 0 &&
		    (!strcmp(code->short_name, "grad") || !strcmp(code->short_name, "backward")))
			return code->short_name;
	}
	return NULL;
}

static void note_root(struct vt_recorded_passes *passes, uint32_t span, const char *root)
{
	if (root && !strcmp(root, "grad"))
		passes->what[span] |= 1u << VT_PURPOSE_RETURNED;
	else if (root)
		passes->has_plain[span] = 1;
}

void vt_recorded_passes_init(struct vt_recorded_passes *passes, const struct vt_model *model,
			     const struct vt_span_index *index)
{
	const struct vt_span *spans = index->spans;
	last_vector threads = { 0 };

	passes->is_any_plain = 0;
	passes->what = vt_xcalloc((size_t)index->nr_spans + 1, 1);
	passes->has_plain = vt_xcalloc((size_t)index->nr_spans + 1, 1);
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
		if (!a->common->made->node_class)
			note_root(passes, next.span,
				  find_root(&model->frames, a->common->made->python_stack));
	}
	for (uint32_t i = 0; i < index->nr_spans; i++)
		passes->is_any_plain |= spans[i].stage == VT_STAGE_BACKWARD && !passes->what[i];
	vt_vector_release(&threads);
}

void vt_recorded_passes_release(struct vt_recorded_passes *passes)
{
	free(passes->what);
	free(passes->has_plain);
	memset(passes, 0, sizeof(*passes));
}

int vt_recorded_passes_is_inner(const struct vt_recorded_passes *passes, uint32_t span)
{
	return passes->what[span] && !passes->has_plain[span];
}
