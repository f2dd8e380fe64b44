/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/context_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/model/samples.h"

/* When the size of the context is known, and what it is. */
struct point {
	int64_t time_ns;
	int64_t bytes;
};

VT_VECTOR_DECLARE(points, struct point);

struct splitting {
	const struct vt_model *model;
	int device;
	struct vt_context_parts *parts;
};

/* As samples.h has it, S1: nothing moved around then. */
static int tells_context(const struct vt_device_sample *sample)
{
	return sample->is_quiet && sample->has_process &&
	       sample->process_used_bytes >= sample->recorded_bytes;
}

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void add_point(struct points *points, int64_t time_ns, uint64_t used_bytes, uint64_t rest)
{
	struct point point = { time_ns, (int64_t)used_bytes - (int64_t)rest };

	if (point.bytes >= 0)
		vt_vector_push(points, point);
}

/* S3: a word speaks for the time from the last change before it; of later words the first does. */
static void add_words(const struct splitting *s, struct points *points, int64_t end_ns)
{
	const struct vt_model *model = s->model;

	for (uint32_t i = 0; i < model->nr_infos; i++) {
		const struct vt_memory_info *info = &model->infos[i];
		struct vt_outside outside;

		if (info->device != s->device)
			continue;
		if (info->time_ns > end_ns && info->since_ns > end_ns)
			return;
		outside = vt_samples_at(model, s->device, info->time_ns);
		add_point(points, info->time_ns, info->used_bytes,
			  info->recorded_bytes + info->rounding_bytes + outside.other_bytes);
		if (info->time_ns > end_ns)
			return;
	}
}

static void add_samples(const struct splitting *s, struct points *points, int64_t end_ns)
{
	const struct vt_model *model = s->model;

	for (uint32_t i = 0; i < model->nr_samples; i++) {
		const struct vt_device_sample *sample = &model->samples[i];

		if (sample->device == s->device && sample->time_ns <= end_ns &&
		    tells_context(sample))
			add_point(points, sample->time_ns, sample->process_used_bytes,
				  sample->recorded_bytes +
					  vt_samples_at(model, s->device, sample->time_ns)
						  .rounding_bytes);
	}
}

/* The last one is what the report says of that moment. */
static void list_points(const struct splitting *s, struct points *points, int64_t end_ns)
{
	struct vt_outside outside = vt_samples_at(s->model, s->device, end_ns);
	struct point last = { end_ns, (int64_t)outside.context_bytes + outside.difference_bytes };

	if (!outside.has_context)
		return;
	add_words(s, points, end_ns);
	add_samples(s, points, end_ns);
	vt_vector_sort(points, compare_points);
	if (points->len && points->items[points->len - 1].time_ns > end_ns)
		last.time_ns = points->items[points->len - 1].time_ns;
	vt_vector_push(points, last);
}

/* Limits name their context, and modules the device of the thread that loaded them. */
static int is_of_device(const struct splitting *s, const struct vt_context_event *event)
{
	const struct vt_model *model = s->model;

	if (event->kind != VT_KIND_LIMIT)
		return event->device == s->device;
	for (uint32_t i = 0; i < model->nr_context_events; i++) {
		const struct vt_context_event *made = &model->context_events[i];

		if (made->kind == VT_KIND_CONTEXT && made->op == VT_OP_CREATE &&
		    made->address == event->address)
			return made->device == s->device;
	}
	/* It was made before the recording, which on one of several devices it is not. */
	return model->nr_devices == 1;
}

static int is_load(const struct vt_context_event *event)
{
	return event->kind == VT_KIND_MODULE && event->op == VT_OP_LOAD;
}

static int is_limit(const struct vt_context_event *event)
{
	return event->kind == VT_KIND_LIMIT && event->op == VT_OP_SET;
}

static int is_same_place(const struct vt_context_part *part, const struct vt_context_event *event)
{
	return part->python_stack == event->python_stack &&
	       part->native_stack == event->native_stack;
}

static void note(struct vt_context_part *part, const struct vt_context_event *event)
{
	if (!part->nr_places) {
		part->python_stack = event->python_stack;
		part->native_stack = event->native_stack;
		part->nr_places = 1;
	} else if (!is_same_place(part, event)) {
		part->nr_places++;
	}
	part->nr_loads += is_load(event);
	part->nr_limits += is_limit(event);
}

/* What was loaded and set after `from_ns` up to `to_ns`. */
static struct vt_context_part part_between(const struct splitting *s, int64_t from_ns,
					   int64_t to_ns)
{
	struct vt_context_part part = { 0 };

	for (uint32_t i = 0; i < s->model->nr_context_events; i++) {
		const struct vt_context_event *event = &s->model->context_events[i];

		if (event->time_ns > from_ns && event->time_ns <= to_ns &&
		    (is_load(event) || is_limit(event)) && is_of_device(s, event))
			note(&part, event);
	}
	return part;
}

/* Parts of one place are one. */
static void add_part(struct vt_context_part_list *list, const struct vt_context_part *part)
{
	for (size_t i = 0; i < list->len; i++) {
		struct vt_context_part *known = &list->items[i];

		if (known->nr_places != part->nr_places ||
		    known->python_stack != part->python_stack ||
		    known->native_stack != part->native_stack)
			continue;
		known->bytes += part->bytes;
		known->nr_loads += part->nr_loads;
		known->nr_limits += part->nr_limits;
		return;
	}
	vt_vector_push(list, *part);
}

static int compare_parts(const void *a, const void *b)
{
	const struct vt_context_part *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void split(const struct splitting *s, const struct points *points)
{
	struct vt_context_parts *parts = s->parts;
	const struct point *last = &points->items[0], *end = &points->items[points->len - 1];
	/* The end is no measurement, unless it says another figure. */
	const struct point *measured = last;

	parts->is_known = 1;
	parts->first_bytes = parts->total_bytes = last->bytes;
	for (const struct point *point = last + 1; point <= end; last = point++) {
		struct vt_context_part part;

		if (point != end || point->bytes != last->bytes)
			measured = point;
		if (point->bytes == last->bytes)
			continue;
		part = part_between(s, last->time_ns, point->time_ns);
		part.bytes = point->bytes - last->bytes;
		add_part(&parts->parts, &part);
		parts->total_bytes = point->bytes;
	}
	parts->nr_unmeasured = part_between(s, measured->time_ns, end->time_ns).nr_loads;
	vt_vector_sort(&parts->parts, compare_parts);
}

static void add_limit(struct vt_context_limit_list *list, const struct vt_context_event *event)
{
	struct vt_context_limit limit = {
		.value = event->size_bytes,
		.which = event->extra,
		.python_stack = event->python_stack,
		.native_stack = event->native_stack,
	};

	for (size_t i = 0; i < list->len; i++)
		if (list->items[i].which == limit.which) {
			list->items[i] = limit;
			return;
		}
	vt_vector_push(list, limit);
}

void vt_context_parts_find(struct vt_context_parts *parts, const struct vt_model *model, int device,
			   int64_t time_ns)
{
	struct splitting s = { model, device, parts };
	struct points points = { 0 };

	memset(parts, 0, sizeof(*parts));
	parts->has_others = vt_samples_at(model, device, time_ns).has_other;
	list_points(&s, &points, time_ns);
	if (points.len)
		split(&s, &points);
	for (uint32_t i = 0; i < model->nr_context_events; i++)
		if (model->context_events[i].time_ns <= time_ns &&
		    is_limit(&model->context_events[i]) &&
		    is_of_device(&s, &model->context_events[i]))
			add_limit(&parts->limits, &model->context_events[i]);
	vt_vector_release(&points);
}

void vt_context_parts_release(struct vt_context_parts *parts)
{
	vt_vector_release(&parts->parts);
	vt_vector_release(&parts->limits);
}
