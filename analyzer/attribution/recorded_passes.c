/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/recorded_passes.h"

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

void vt_recorded_passes_init(struct vt_recorded_passes *passes, const struct vt_stages *stages)
{
	const struct vt_model *model = stages->timeline->model;
	last_vector threads = { 0 };

	passes->is_any_other = 0;
	passes->is_recorded = vt_xcalloc((size_t)stages->nr_spans + 1, 1);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		const struct last next = { a->thread, vt_stages_span_at(stages, a->event),
					   a->forward_sequence, a->python_stack != 0 };

		if (a->node_class && next.span != VT_NO_INDEX)
			passes->is_recorded[next.span] |= is_numbering(&threads, &next);
	}
	for (uint32_t i = 0; i < stages->nr_spans; i++)
		passes->is_any_other |= stages->spans[i].stage == VT_STAGE_BACKWARD &&
					!passes->is_recorded[i];
	vt_vector_release(&threads);
}

void vt_recorded_passes_release(struct vt_recorded_passes *passes)
{
	free(passes->is_recorded);
	memset(passes, 0, sizeof(*passes));
}

int vt_recorded_passes_has(const struct vt_recorded_passes *passes, const struct vt_stages *stages,
			   const struct vt_allocation *a)
{
	uint32_t span = vt_stages_span_at(stages, a->event);

	return a->node_class && span != VT_NO_INDEX && passes->is_recorded[span];
}
