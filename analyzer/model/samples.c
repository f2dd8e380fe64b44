/* SPDX-License-Identifier: MIT */
#include "analyzer/model/samples.h"

#include <stdlib.h>

#include "analyzer/base/util.h"

/*
 * A free is recorded before the driver does it, which then may wait for kernels; longer than most.
 */
#define LONGEST_FREE_NS 20000000

/* One change of what is held from the driver. */
struct change {
	int64_t time_ns;
	int64_t bytes;
};
VT_VECTOR_DECLARE(changes, struct change);

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void list_changes(const struct vt_model *model, int device, struct changes *changes)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct change change = { a->time_ns, (int64_t)a->size_bytes };

		if (a->device != device || !vt_allocation_is_driver(a))
			continue;
		vt_vector_push(changes, change);
		change.time_ns = a->freed_time_ns;
		change.bytes = -change.bytes;
		if (a->freed_event != VT_NEVER)
			vt_vector_push(changes, change);
	}
	for (uint32_t i = 0; i < model->nr_pool_changes; i++) {
		const struct vt_pool_change *p = &model->pool_changes[i];
		struct change change = { p->time_ns, p->more_bytes };

		if (p->device == device)
			vt_vector_push(changes, change);
	}
	vt_vector_sort(changes, compare_changes);
}

static int is_same(const struct vt_device_sample *a, const struct vt_device_sample *b)
{
	return a->total_used_bytes == b->total_used_bytes && a->has_process == b->has_process &&
	       a->process_used_bytes == b->process_used_bytes;
}

/* Whether a change lies before both samples, and was carried out when the second was taken. */
static int is_over(const struct change *change, const struct vt_device_sample *first,
		   const struct vt_device_sample *second)
{
	return change->time_ns < first->time_ns &&
	       change->time_ns < second->time_ns - LONGEST_FREE_NS;
}

static void compare_samples(struct vt_model *model, int device, const struct changes *changes)
{
	const struct vt_device_sample *previous = NULL;
	int64_t recorded = 0;
	size_t nr_done = 0;

	for (uint32_t i = 0; i < model->nr_samples; i++) {
		struct vt_device_sample *sample = &model->samples[i];

		if (sample->device != device)
			continue;
		for (; nr_done < changes->len &&
		       changes->items[nr_done].time_ns <= sample->time_ns;
		     nr_done++)
			recorded += changes->items[nr_done].bytes;
		sample->recorded_bytes = recorded > 0 ? (uint64_t)recorded : 0;
		sample->is_quiet = previous && is_same(previous, sample) &&
				   (!nr_done || is_over(&changes->items[nr_done - 1], previous,
							sample));
		previous = sample;
	}
}

void vt_samples_find(struct vt_model *model)
{
	for (uint32_t i = 0; model->nr_samples && i < model->nr_devices; i++) {
		struct changes changes = { 0 };

		list_changes(model, model->devices[i].id, &changes);
		compare_samples(model, model->devices[i].id, &changes);
		vt_vector_release(&changes);
	}
}

/* S1: the sample tells the context. */
static int tells_context(const struct vt_device_sample *sample)
{
	return sample->is_quiet && sample->has_process &&
	       sample->process_used_bytes >= sample->recorded_bytes;
}

/* S2, among those that know the process, and with `is_context` that tell the context. */
static const struct vt_device_sample *find(const struct vt_model *model, int device,
					   int64_t time_ns, int is_context)
{
	const struct vt_device_sample *best = NULL;

	for (uint32_t i = 0; i < model->nr_samples; i++) {
		const struct vt_device_sample *sample = &model->samples[i];

		if (sample->device != device || !sample->has_process ||
		    (is_context && !tells_context(sample)))
			continue;
		if (best && sample->time_ns > time_ns)
			break;
		best = sample;
	}
	return best;
}

struct vt_outside vt_samples_at(const struct vt_model *model, int device, int64_t time_ns)
{
	const struct vt_device *known = vt_model_device(model, device);
	const struct vt_device_sample *context = find(model, device, time_ns, 1);
	const struct vt_device_sample *other = find(model, device, time_ns, 0);
	struct vt_outside outside = { 0 };

	if (known && known->has_context) {
		outside.has_context = 1;
		outside.context_bytes = known->context_bytes;
	}
	if (other) {
		outside.has_other = 1;
		outside.other_bytes = other->total_used_bytes - other->process_used_bytes;
	}
	if (context) {
		outside.has_context = 1;
		outside.context_bytes = context->process_used_bytes - context->recorded_bytes;
	} else if (other) {
		/* S3: the measured one has the others in it. */
		outside.context_bytes = outside.context_bytes > outside.other_bytes
						? outside.context_bytes - outside.other_bytes
						: 0;
	}
	return outside;
}

int vt_samples_context_growth(const struct vt_model *model, int device, uint64_t *first_bytes,
			      uint64_t *last_bytes)
{
	const struct vt_device_sample *first = find(model, device, INT64_MIN, 1);
	const struct vt_device_sample *last = find(model, device, INT64_MAX, 1);

	if (!first)
		return 0;
	*first_bytes = first->process_used_bytes - first->recorded_bytes;
	*last_bytes = last->process_used_bytes - last->recorded_bytes;
	return 1;
}
