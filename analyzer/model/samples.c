/* SPDX-License-Identifier: MIT */
#include "analyzer/model/samples.h"

#include <stdlib.h>

#include "analyzer/base/map.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"

/*
 * A free is recorded before the driver does it, which then may wait for kernels; longer than most.
 */
#define LONGEST_FREE_NS 20000000

/* A page of memory from the driver. */
#define PAGE_BYTES ((int64_t)2 << 20)

/* One change of what is held from the driver. */
struct change {
	int64_t time_ns;
	int64_t bytes;
	uint64_t address; /* 0: it has no separate pages */
};
VT_VECTOR_DECLARE(changes, struct change);
VT_VECTOR_DECLARE(roundings, struct vt_rounding);

/* What is held after the first `nr_done` changes. */
struct held {
	const struct changes *changes;
	size_t nr_done;
	int64_t bytes;
	int64_t rounding_bytes;
	struct vt_map pages; /* of those that are not full: how much of them is */
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void list_changes(const struct vt_model *model, int device, struct changes *changes)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct change change = { vt_model_made_ns(model, a), (int64_t)a->common->size_bytes,
					 a->common->kind == VT_KIND_SEGMENT ? a->address : 0 };

		if (a->common->device != device || !vt_allocation_is_driver(a))
			continue;
		vt_vector_push(changes, change);
		change.time_ns = vt_model_freed_ns(model, a);
		change.bytes = -change.bytes;
		if (a->freed_event != VT_NEVER)
			vt_vector_push(changes, change);
	}
	for (uint32_t i = 0; i < model->nr_pool_changes; i++) {
		const struct vt_pool_change *p = &model->pool_changes[i];
		struct change change = { p->time_ns, p->more_bytes, 0 };

		if (p->device == device)
			vt_vector_push(changes, change);
	}
	vt_vector_sort(changes, compare_changes);
}

static uint64_t less(uint64_t bytes, uint64_t by)
{
	return bytes > by ? bytes - by : 0;
}

static int64_t rounding_of(int64_t taken_bytes)
{
	return taken_bytes > 0 && taken_bytes < PAGE_BYTES ? PAGE_BYTES - taken_bytes : 0;
}

static void change_page(struct held *held, uint64_t page, int64_t bytes)
{
	struct vt_key key = { page, 0, 0 };
	const uint64_t *found = vt_map_find(&held->pages, key);
	int64_t before = found ? (int64_t)*found : 0;
	int64_t after = before + bytes > 0 ? before + bytes : 0;

	held->rounding_bytes += rounding_of(after) - rounding_of(before);
	if (after)
		vt_map_put(&held->pages, key, (uint64_t)after);
	else
		vt_map_remove(&held->pages, key);
}

/* Of an allocation only the first and the last page can be shared. */
static void change_pages(struct held *held, const struct change *change)
{
	int64_t sign = change->bytes < 0 ? -1 : 1, size = sign * change->bytes;
	uint64_t first = change->address / PAGE_BYTES;
	int64_t start = (int64_t)(change->address % PAGE_BYTES), end = start + size;
	uint64_t last = first + (uint64_t)(end / PAGE_BYTES);

	if (first == last || end == PAGE_BYTES) {
		if (size < PAGE_BYTES)
			change_page(held, first, sign * size);
		return;
	}
	if (start)
		change_page(held, first, sign * (PAGE_BYTES - start));
	if (end % PAGE_BYTES)
		change_page(held, last, sign * (end % PAGE_BYTES));
}

static void play_to(struct held *held, int64_t time_ns, int device, struct roundings *roundings)
{
	for (; held->nr_done < held->changes->len &&
	       held->changes->items[held->nr_done].time_ns <= time_ns;
	     held->nr_done++) {
		const struct change *change = &held->changes->items[held->nr_done];
		int64_t before = held->rounding_bytes;

		held->bytes += change->bytes;
		if (change->address && change->bytes)
			change_pages(held, change);
		if (roundings && held->rounding_bytes != before) {
			struct vt_rounding rounding = { change->time_ns,
							(uint64_t)held->rounding_bytes,
							(int16_t)device };

			vt_vector_push(roundings, rounding);
		}
	}
}

static uint64_t held_bytes(const struct held *held)
{
	return held->bytes > 0 ? (uint64_t)held->bytes : 0;
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
	struct held held = { .changes = changes };

	for (uint32_t i = 0; i < model->nr_samples; i++) {
		struct vt_device_sample *sample = &model->samples[i];

		if (sample->device != device)
			continue;
		play_to(&held, sample->time_ns, device, NULL);
		sample->recorded_bytes = held_bytes(&held);
		sample->is_quiet = previous && is_same(previous, sample) &&
				   (!held.nr_done || is_over(&changes->items[held.nr_done - 1],
							     previous, sample));
		previous = sample;
	}
	vt_map_release(&held.pages);
}

/* Taken while another thread allocated, where it says less than was recorded. */
static int says_more(const struct vt_memory_info *info)
{
	return info->used_bytes >= info->recorded_bytes;
}

static void forget_rounding(struct vt_model *model, int device, struct roundings *roundings,
			    size_t nr_before)
{
	roundings->len = nr_before;
	for (uint32_t i = 0; i < model->nr_infos; i++)
		if (model->infos[i].device == device)
			model->infos[i].rounding_bytes = 0;
}

static void compare_infos(struct vt_model *model, struct vt_device *device,
			  const struct changes *changes, struct roundings *roundings)
{
	const struct vt_memory_info *first = NULL;
	struct held held = { .changes = changes };
	size_t nr_before = roundings->len;

	for (uint32_t i = 0; i < model->nr_infos; i++) {
		struct vt_memory_info *info = &model->infos[i];

		if (info->device != device->id)
			continue;
		play_to(&held, info->time_ns, device->id, roundings);
		info->since_ns =
			held.nr_done ? changes->items[held.nr_done - 1].time_ns : INT64_MIN;
		info->recorded_bytes = held_bytes(&held);
		info->rounding_bytes = (uint64_t)held.rounding_bytes;
		if (!first && says_more(info))
			first = info;
	}
	play_to(&held, INT64_MAX, device->id, roundings);
	if (!first || first->used_bytes - first->recorded_bytes < first->rounding_bytes)
		forget_rounding(model, device->id, roundings, nr_before);
	/* It was measured after the first allocation, with the rest of its pages in it. */
	else
		device->context_bytes = less(device->context_bytes, first->rounding_bytes);
	vt_map_release(&held.pages);
}

void vt_samples_find(struct vt_model *model)
{
	struct roundings roundings = { 0 };

	for (uint32_t i = 0; model->nr_samples + model->nr_infos && i < model->nr_devices; i++) {
		struct vt_device *device = &model->devices[i];
		struct changes changes = { 0 };

		list_changes(model, device->id, &changes);
		compare_samples(model, device->id, &changes);
		compare_infos(model, device, &changes, &roundings);
		vt_vector_release(&changes);
	}
	model->roundings = roundings.items;
	model->nr_roundings = (uint32_t)roundings.len;
}

/* S4 */
static uint64_t rounding_at(const struct vt_model *model, int device, int64_t time_ns)
{
	uint32_t end = model->nr_roundings, at;

	for (uint32_t start = 0; start < end; start = at) {
		int16_t of = model->roundings[start].device;

		at = start + (uint32_t)vt_search_first(
				     i, end - start, model->roundings[start + i].device == of);
		if (of != device)
			continue;
		at = (uint32_t)vt_search_first(i, at - start,
					       model->roundings[start + i].time_ns <= time_ns);
		return at ? model->roundings[start + at - 1].bytes : 0;
	}
	return 0;
}

/* S1: the sample shows the context. */
static int tells_context(const struct vt_device_sample *sample)
{
	return sample->is_quiet && sample->has_process &&
	       sample->process_used_bytes >= sample->recorded_bytes;
}

static int is_of(const struct vt_device_sample *sample, int device, int is_context)
{
	return sample->device == device && sample->has_process &&
	       (!is_context || tells_context(sample));
}

/* Index of the first sample after that moment. */
static uint32_t after(const struct vt_model *model, int64_t time_ns)
{
	return (uint32_t)vt_search_first(i, model->nr_samples,
					 model->samples[i].time_ns <= time_ns);
}

/* The first of these samples after that moment. */
static const struct vt_device_sample *find_next(const struct vt_model *model, int device,
						int64_t time_ns, int is_context)
{
	for (uint32_t i = after(model, time_ns); i < model->nr_samples; i++)
		if (is_of(&model->samples[i], device, is_context))
			return &model->samples[i];
	return NULL;
}

/* S2, among those that know the process, and with `is_context` that show the context. */
static const struct vt_device_sample *find(const struct vt_model *model, int device,
					   int64_t time_ns, int is_context)
{
	for (uint32_t i = after(model, time_ns); i > 0; i--)
		if (is_of(&model->samples[i - 1], device, is_context))
			return &model->samples[i - 1];
	return find_next(model, device, time_ns, is_context);
}

static int is_word(const struct vt_memory_info *info, int device)
{
	return info->device == device && says_more(info);
}

/* S3: the word for that moment, else the last one by then, else the first.  NULL: there is none. */
static const struct vt_memory_info *find_info(const struct vt_model *model, int device,
					      int64_t time_ns)
{
	size_t after = vt_search_first(i, model->nr_infos, model->infos[i].time_ns <= time_ns);

	for (size_t i = after; i < model->nr_infos && model->infos[i].since_ns <= time_ns; i++)
		if (is_word(&model->infos[i], device))
			return &model->infos[i];
	for (size_t i = after; i > 0; i--)
		if (is_word(&model->infos[i - 1], device))
			return &model->infos[i - 1];
	for (size_t i = after; i < model->nr_infos; i++)
		if (is_word(&model->infos[i], device))
			return &model->infos[i];
	return NULL;
}

static uint64_t context_of(const struct vt_model *model, const struct vt_device_sample *sample)
{
	return less(sample->process_used_bytes - sample->recorded_bytes,
		    rounding_at(model, sample->device, sample->time_ns));
}

static void add_first_context(const struct vt_model *model, int device, struct vt_outside *outside)
{
	const struct vt_device *known = vt_model_device(model, device);

	if (!known || !known->has_context)
		return;
	outside->has_context = 1;
	outside->context_bytes = known->context_bytes;
}

static uint64_t others_of(const struct vt_device_sample *sample)
{
	return sample->total_used_bytes - sample->process_used_bytes;
}

/* Of the difference, what `bytes` had grown to by the next sample. */
static void take_growth(uint64_t *bytes, uint64_t grown_to, int64_t *difference)
{
	uint64_t growth = less(grown_to, *bytes);

	if (*difference <= 0)
		return;
	if (growth > (uint64_t)*difference)
		growth = (uint64_t)*difference;
	*bytes += growth;
	*difference -= (int64_t)growth;
}

/* S3 */
static void add_difference(const struct vt_model *model, const struct vt_memory_info *info,
			   const struct vt_device_sample *context, struct vt_outside *outside)
{
	const struct vt_device_sample *next;

	if (!info || !outside->has_context || (context && context->time_ns >= info->time_ns))
		return;
	outside->difference_bytes =
		(int64_t)(info->used_bytes - info->recorded_bytes - info->rounding_bytes -
			  outside->context_bytes - outside->other_bytes);
	next = find_next(model, info->device, info->time_ns, 0);
	if (next)
		take_growth(&outside->other_bytes, others_of(next), &outside->difference_bytes);
	next = find_next(model, info->device, info->time_ns, 1);
	if (next)
		take_growth(&outside->context_bytes, context_of(model, next),
			    &outside->difference_bytes);
}

struct vt_outside vt_samples_at(const struct vt_model *model, int device, int64_t time_ns)
{
	const struct vt_device_sample *context = find(model, device, time_ns, 1);
	const struct vt_device_sample *other = find(model, device, time_ns, 0);
	struct vt_outside outside = { .rounding_bytes = rounding_at(model, device, time_ns) };

	add_first_context(model, device, &outside);
	if (other) {
		outside.has_other = 1;
		outside.other_bytes = others_of(other);
	}
	if (context) {
		outside.has_context = 1;
		outside.context_bytes = context_of(model, context);
	} else if (other) {
		/* S5: the measured one has the others in it. */
		outside.context_bytes = less(outside.context_bytes, outside.other_bytes);
	}
	add_difference(model, find_info(model, device, time_ns), context, &outside);
	return outside;
}

uint64_t vt_samples_sum(const struct vt_outside *outside)
{
	return outside->context_bytes + outside->other_bytes + outside->rounding_bytes +
	       (uint64_t)outside->difference_bytes;
}

uint64_t vt_samples_device_used(const struct vt_model *model, int device, uint64_t recorded_bytes,
				int64_t time_ns)
{
	struct vt_outside outside = vt_samples_at(model, device, time_ns);

	return recorded_bytes + vt_samples_sum(&outside);
}

uint64_t vt_samples_process_used(const struct vt_model *model, int device, uint64_t recorded_bytes,
				 int64_t time_ns)
{
	struct vt_outside outside = vt_samples_at(model, device, time_ns);

	return recorded_bytes + vt_samples_sum(&outside) - outside.other_bytes;
}

#define ANY_WITHIN(items, nr)                                                                      \
	(vt_search_first(i, nr, items[i].time_ns <= first_ns) !=                                   \
	 vt_search_first(i, nr, items[i].time_ns <= second_ns))

int vt_samples_is_other(const struct vt_model *model, int64_t first_ns, int64_t second_ns)
{
	return ANY_WITHIN(model->samples, model->nr_samples) ||
	       ANY_WITHIN(model->infos, model->nr_infos) || model->nr_roundings;
}

int vt_samples_context_growth(const struct vt_model *model, int device, uint64_t *first_bytes,
			      uint64_t *last_bytes)
{
	const struct vt_device_sample *first = find(model, device, INT64_MIN, 1);
	const struct vt_device_sample *last = find(model, device, INT64_MAX, 1);

	if (!first)
		return 0;
	*first_bytes = context_of(model, first);
	*last_bytes = context_of(model, last);
	return 1;
}
