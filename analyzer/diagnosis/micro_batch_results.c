/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/micro_batch_results.h"

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/util.h"

/* What was made next at a place. */
struct younger {
	int64_t event;
	uint32_t micro_batch;
};

VT_VECTOR_DECLARE(younger_list, struct younger);

static int has_several(const struct vt_steps *steps)
{
	for (uint32_t i = 0; i < steps->nr; i++)
		if (steps->steps[i].nr_micro_batches > 1)
			return 1;
	return 0;
}

/* By span: its micro-batch; VT_NO_INDEX: none. */
static uint32_t *number_spans(const struct vt_stages *stages)
{
	uint32_t *numbers = vt_xmalloc(((size_t)stages->nr_spans + 1) * sizeof(*numbers));

	for (uint32_t s = 0; s < stages->nr_spans; s++)
		numbers[s] = VT_NO_INDEX;
	for (uint32_t m = 0; m < stages->steps.nr_micro_batches; m++) {
		const struct vt_micro_batch *batch = &stages->steps.micro_batches[m];

		for (uint32_t s = batch->first_span; s <= batch->last_span; s++)
			numbers[s] = m;
	}
	return numbers;
}

/* Both of one step, the one right behind the other. */
static int is_next(const struct vt_stages *stages, uint32_t micro_batch, uint32_t next)
{
	const struct vt_micro_batch *all = stages->steps.micro_batches;

	return next == micro_batch + 1 && stages->spans[all[micro_batch].first_span].step ==
						  stages->spans[all[next].first_span].step;
}

/* The end of the micro-batch that made it, if the next makes another while it is there; or 0. */
static int64_t find_end(const struct vt_stages *stages, const struct vt_allocation *a,
			uint32_t micro_batch, const struct younger *younger)
{
	uint32_t last;

	if (micro_batch == VT_NO_INDEX || !younger ||
	    !is_next(stages, micro_batch, younger->micro_batch) || younger->event >= a->freed_event)
		return 0;
	last = stages->steps.micro_batches[micro_batch].last_span;
	return stages->spans[last].last_event + 1;
}

static struct vt_key place_of(const struct vt_allocation *a)
{
	return (struct vt_key){ a->common->made->python_stack, a->common->made->native_stack,
				(uint64_t)a->common->device };
}

/*
 * What an operator reads later was kept for that, such as what later micro-batches are compared
 * with.  Operators are recorded in some steps only: what holds for one of a place does for all.
 */
static void leave_out_read(const struct vt_model *model, int64_t *ends)
{
	struct vt_map read = { 0 };

	for (uint32_t c = 0; c < model->calls.nr; c++) {
		const struct vt_operator_call *call = &model->calls.items[c];

		for (uint32_t k = 0; k < call->nr_tensors; k++) {
			const struct vt_call_tensor *t =
				&model->calls.tensors[call->first_tensor + k];

			if (!t->is_output && t->allocation != VT_NO_INDEX && ends[t->allocation] &&
			    call->event >= ends[t->allocation])
				vt_map_put(&read, place_of(&model->allocations[t->allocation]), 1);
		}
	}
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (ends[i] && vt_map_find(&read, place_of(&model->allocations[i])))
			ends[i] = 0;
	vt_map_release(&read);
}

int64_t *vt_micro_batch_results_find(const struct vt_stages *stages)
{
	const struct vt_model *model = stages->timeline->model;
	struct younger_list places = { 0 };
	struct vt_map by_place = { 0 };
	uint32_t *numbers;
	int64_t *ends;

	if (!has_several(&stages->steps))
		return NULL;
	numbers = number_spans(stages);
	ends = vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*ends));
	for (uint32_t i = model->nr_allocations; i-- > 0;) {
		const struct vt_allocation *a = &model->allocations[i];
		struct vt_key place = place_of(a);
		uint32_t span = vt_stages_span_at(stages, a->event);
		struct younger one = { a->event, VT_NO_INDEX };
		const uint64_t *known;

		if (a->common->made->node_class || !a->common->made->python_stack ||
		    span == VT_NO_INDEX || !vt_allocation_is_owned(a))
			continue;
		one.micro_batch = numbers[span];
		known = vt_map_find(&by_place, place);
		ends[i] =
			find_end(stages, a, one.micro_batch, known ? &places.items[*known] : NULL);
		/* Of several in one micro-batch the first is what the one before can meet. */
		if (known) {
			places.items[*known] = one;
			continue;
		}
		vt_map_put(&by_place, place, places.len);
		vt_vector_push(&places, one);
	}
	vt_vector_release(&places);
	vt_map_release(&by_place);
	free(numbers);
	leave_out_read(model, ends);
	return ends;
}
