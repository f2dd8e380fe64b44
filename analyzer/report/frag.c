/* SPDX-License-Identifier: MIT */
#include "analyzer/report/frag.h"

#include <string.h>

#include "analyzer/attribution/calls/block_rounding.h"
#include "analyzer/attribution/moments.h"
#include "analyzer/base/sort.h"
#include "analyzer/model/site.h"
#include "analyzer/replay/packing.h"

/* Enough to see a trend, few enough for one screen. */
#define NR_SAMPLES 16

double vt_frag_utilisation(const struct vt_frag_device *device)
{
	return device->peak_reserved_bytes
		       ? (double)device->peak_allocated_bytes / (double)device->peak_reserved_bytes
		       : 1.0;
}

static void higher(uint64_t *peak, uint64_t bytes)
{
	if (bytes > *peak)
		*peak = bytes;
}

/* Keeps, of each part of the run, the first step after which most was reserved. */
static void take_sample(struct vt_frag_device *device, size_t at, int64_t event, uint64_t *highest,
			uint64_t reserved_bytes)
{
	struct vt_frag_sample sample = { .event = event };
	size_t nr = device->trace->steps.len;

	if (!device->samples.len || at * NR_SAMPLES / nr != (at - 1) * NR_SAMPLES / nr) {
		vt_vector_push(&device->samples, sample);
		*highest = reserved_bytes;
	} else if (reserved_bytes > *highest) {
		device->samples.items[device->samples.len - 1] = sample;
		*highest = reserved_bytes;
	}
}

/* What is held at one place of the trace. */
struct held {
	size_t next_change;
	uint64_t requested_bytes;
	uint64_t allocated_bytes;
	uint64_t reserved_bytes;
};

static void hold(struct held *held, const struct vt_frag_device *device,
		 const struct vt_trace_step *step, int64_t event)
{
	const struct vt_trace *trace = device->trace;
	int is_give = step->op == VT_TRACE_GIVE;

	for (; held->next_change < trace->changes.len &&
	       trace->changes.items[held->next_change].event < event;
	     held->next_change++) {
		const struct vt_trace_change *change = &trace->changes.items[held->next_change];
		int is_more = change->op == VT_SEGMENT_TAKE || change->op == VT_SEGMENT_MAP;

		held->reserved_bytes += is_more ? change->bytes : 0 - change->bytes;
	}
	if (step->op == VT_TRACE_TAKE || is_give) {
		uint64_t requested = vt_trace_request(trace, step->allocation);
		uint64_t allocated = trace->model->allocations[step->allocation].common->size_bytes;

		held->requested_bytes += is_give ? 0 - requested : requested;
		held->allocated_bytes += is_give ? 0 - allocated : allocated;
	}
}

static void find_peaks(struct vt_frag_device *device)
{
	struct held held = { 0 };
	uint64_t highest = 0;

	for (size_t at = 0; at < device->trace->steps.len; at++) {
		const struct vt_trace_step *step = &device->trace->steps.items[at];
		int64_t event = vt_trace_event(device->trace, step);

		hold(&held, device, step, event);
		higher(&device->peak_requested_bytes, held.requested_bytes);
		higher(&device->peak_allocated_bytes, held.allocated_bytes);
		higher(&device->peak_reserved_bytes, held.reserved_bytes);
		if (vt_folded_is_known(&device->trace->model->folded, event))
			take_sample(device, at, event, &highest, held.reserved_bytes);
	}
}

/* What was asked for, put in place by an oracle, in multiples of 512 bytes. */
static void pack(struct vt_frag_device *device)
{
	const struct vt_model *model = device->trace->model;
	struct vt_packing_block *blocks;
	size_t nr = 0;

	for (size_t at = 0; at < device->trace->steps.len; at++)
		nr += device->trace->steps.items[at].op == VT_TRACE_TAKE;
	if (nr > VT_PACKING_MOST)
		return;
	blocks = vt_xcalloc(nr + 1, sizeof(*blocks));
	nr = 0;
	for (size_t at = 0; at < device->trace->steps.len; at++) {
		const struct vt_trace_step *step = &device->trace->steps.items[at];
		const struct vt_allocation *a = &model->allocations[step->allocation];

		if (step->op != VT_TRACE_TAKE)
			continue;
		blocks[nr++] = (struct vt_packing_block){
			a->event, a->freed_event,
			vt_block_rounding_rounded(
				vt_trace_request(device->trace, step->allocation)),
			0 };
	}
	device->packed_bytes = vt_packing_find(blocks, nr);
	free(blocks);
}

/* The samples from `first` on up to `event`, by a follow on its way; returns the next one. */
static size_t fill_samples(struct vt_frag_device *device, struct vt_follow *follow, size_t first,
			   int64_t event, const struct vt_timeline *timeline)
{
	size_t i = first;

	for (; i < device->samples.len && device->samples.items[i].event <= event; i++) {
		struct vt_frag_sample *sample = &device->samples.items[i];
		struct vt_layout layout;

		vt_follow_to(follow, sample->event);
		vt_layout_init(&layout, follow, 1);
		sample->time_ns = vt_timeline_time(timeline, sample->event);
		sample->totals = layout.totals;
		vt_layout_release(&layout);
	}
	return i;
}

/* Leaves device->follow at the moment looked at; samples behind it take a way of their own. */
static void follow_all(struct vt_frag_device *device, const struct vt_timeline *timeline)
{
	struct vt_follow behind;
	size_t next;

	vt_follow_init(&device->follow, device->trace);
	next = fill_samples(device, &device->follow, 0, device->event, timeline);
	vt_follow_to(&device->follow, device->event);
	if (next == device->samples.len)
		return;
	vt_follow_init(&behind, device->trace);
	fill_samples(device, &behind, next, VT_NEVER, timeline);
	vt_follow_release(&behind);
}

static uint64_t used_at(const struct vt_timeline *timeline, int device, int64_t event)
{
	struct vt_totals totals = { 0 };
	uint32_t behind = vt_timeline_after(timeline, event);

	for (uint32_t i = 0; i < behind; i++)
		vt_timeline_add(timeline, &timeline->moments[i], device, &totals);
	return totals.used_bytes;
}

/* The failed request at or before the moment, else the largest of the run. */
static const struct vt_trace_step *find_request(const struct vt_frag_device *device)
{
	const struct vt_trace_step *failed = NULL, *largest = NULL;
	uint64_t bytes, most = 0;

	for (size_t i = 0; i < device->trace->steps.len; i++) {
		const struct vt_trace_step *step = &device->trace->steps.items[i];

		if (step->op == VT_TRACE_FAILED &&
		    vt_trace_event(device->trace, step) <= device->event)
			failed = step;
		if (step->op != VT_TRACE_TAKE)
			continue;
		bytes = vt_trace_request(device->trace, step->allocation);
		if (largest && bytes <= most)
			continue;
		largest = step;
		most = bytes;
	}
	return failed ? failed : largest;
}

static void account(struct vt_frag_device *device, const struct vt_timeline *timeline,
		    uint64_t wanted_bytes)
{
	const struct vt_trace_step *step = find_request(device);
	uint64_t used = used_at(timeline, device->trace->device, device->event);
	uint32_t segment;

	if (step && !wanted_bytes) {
		wanted_bytes = vt_trace_bytes(device->trace, step);
		segment = vt_trace_segment(device->trace, step);
		if (segment != VT_NO_INDEX)
			device->request_stream = device->trace->segments.items[segment].stream;
	}
	vt_layout_account(&device->account, &device->follow, wanted_bytes, device->request_stream,
			  used);
}

static int compare_places(const void *a, const void *b)
{
	const struct vt_frag_pin *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->allocation < y->allocation ? -1 : x->allocation > y->allocation;
}

static int compare_pinned(const void *a, const void *b)
{
	const struct vt_frag_pin *x = a, *y = b;

	if (x->pinned_bytes != y->pinned_bytes)
		return x->pinned_bytes > y->pinned_bytes ? -1 : 1;
	return x->allocation < y->allocation ? -1 : x->allocation > y->allocation;
}

/* A block beside two gaps comes twice: its size counts once. */
static void join(struct vt_frag_pin *into, const struct vt_frag_pin *pin, uint32_t last)
{
	into->pinned_bytes += pin->pinned_bytes;
	if (pin->allocation == last)
		return;
	into->size_bytes += pin->size_bytes;
	into->blocks++;
}

static void gather_pins(struct vt_frag *frag, struct vt_frag_device *device)
{
	const struct vt_model *model = device->trace->model;
	struct vt_attribution *attribution = &frag->analysis->attribution;
	size_t nr = 0;
	uint32_t last = VT_NO_INDEX;

	for (size_t i = 0; i < device->layout.pins.len; i++) {
		const struct vt_layout_pin *pin = &device->layout.pins.items[i];
		const struct vt_allocation *a = &model->allocations[pin->allocation];
		struct vt_frag_pin found = {
			.place = vt_site_of(&frag->describe, a),
			.pinned_bytes = pin->bytes,
			.size_bytes = a->common->size_bytes,
			.blocks = 1,
			.allocation = pin->allocation,
			.owner = vt_attribution_judge(attribution, pin->allocation).owner,
		};

		vt_vector_push(&device->pins, found);
	}
	vt_vector_sort(&device->pins, compare_places);
	for (size_t i = 0; i < device->pins.len; i++) {
		struct vt_frag_pin *pin = &device->pins.items[i];
		struct vt_frag_pin *into = nr ? &device->pins.items[nr - 1] : NULL;

		if (into && into->place == pin->place && into->owner == pin->owner) {
			join(into, pin, last);
			last = pin->allocation;
		} else {
			last = pin->allocation;
			device->pins.items[nr++] = *pin;
		}
	}
	device->pins.len = nr;
	vt_sort(device->pins.items, nr, compare_pinned);
}

static void measure_internal(struct vt_frag_device *device)
{
	const struct vt_model *model = device->trace->model;
	const struct vt_holdings *held = &device->follow.holdings;

	for (uint32_t i = 0; i < held->capacity; i++) {
		uint32_t allocation = held->places[i].allocation;
		uint64_t request, rounded;

		if (!held->places[i].piece)
			continue;
		request = vt_trace_request(device->trace, allocation);
		rounded = vt_settings_round(&device->trace->settings, request);
		device->rounding_bytes += rounded - request;
		device->tail_bytes += model->allocations[allocation].common->size_bytes - rounded;
	}
}

/* Returns 0, -1 with `diag` filled, or 1: that is a matter of stages. */
static int resolve_early(const struct vt_frag *frag, struct vt_frag_device *device,
			 struct vt_diag *diag)
{
	return vt_when_resolve(device->trace->model, frag->options.when, device->trace->device,
			       &device->event, diag);
}

static void lay_out(struct vt_frag *frag, struct vt_frag_device *device)
{
	const struct vt_timeline *timeline = &frag->analysis->timeline;

	follow_all(device, timeline);
	vt_layout_init(&device->layout, &device->follow, 0);
	account(device, timeline, frag->options.request_bytes);
	measure_internal(device);
	device->is_laid_out = 1;
}

static int begin_device(struct vt_frag *frag, int number)
{
	struct vt_frag_device *device = &frag->devices[frag->nr_devices++];
	int rc;

	device->ready = vt_traces_get(&frag->analysis->traces, number, &frag->failed);
	if (!device->ready) {
		frag->is_empty = 1;
		return -1;
	}
	device->trace = &device->ready->trace;
	rc = resolve_early(frag, device, &frag->failed);
	if (rc < 0)
		return -1;
	find_peaks(device);
	pack(device);
	if (!rc)
		lay_out(frag, device);
	return 0;
}

static int begin_devices(struct vt_frag *frag)
{
	const struct vt_model *model = &frag->analysis->model;

	if (frag->options.device != VT_WHEN_ALL_DEVICES)
		return begin_device(frag, frag->options.device);
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_trace_has_blocks(model, model->devices[i].id) &&
		    begin_device(frag, model->devices[i].id))
			return -1;
	/* Nothing there: the trace of the first device says why. */
	return frag->nr_devices ? 0 : begin_device(frag, 0);
}

void vt_frag_begin(struct vt_frag *frag, struct vt_analysis *analysis,
		   const struct vt_frag_options *options)
{
	const struct vt_model *model = &analysis->model;

	memset(frag, 0, sizeof(*frag));
	frag->analysis = analysis;
	frag->options = *options;
	if (!frag->options.when)
		frag->options.when = model->nr_ooms ? "oom" : "peak";
	frag->devices = vt_xcalloc((size_t)model->nr_devices + 1, sizeof(*frag->devices));
	frag->has_failed = begin_devices(frag) != 0;
}

static int finish_device(struct vt_frag *frag, struct vt_frag_device *device, struct vt_diag *diag)
{
	if (!device->is_laid_out) {
		if (vt_moments_resolve(&frag->analysis->stages, frag->options.when,
				       device->trace->device, &device->event, diag))
			return -1;
		lay_out(frag, device);
	}
	gather_pins(frag, device);
	return 0;
}

int vt_frag_finish(struct vt_frag *frag, struct vt_diag *diag)
{
	vt_describe_init(&frag->describe, &frag->analysis->model, frag->options.has_all_frames);
	if (frag->has_failed) {
		if (diag)
			*diag = frag->failed;
		return -1;
	}
	for (uint32_t i = 0; i < frag->nr_devices; i++)
		if (finish_device(frag, &frag->devices[i], diag))
			return -1;
	return 0;
}

int vt_frag_init(struct vt_frag *frag, struct vt_analysis *analysis,
		 const struct vt_frag_options *options, struct vt_diag *diag)
{
	vt_frag_begin(frag, analysis, options);
	return vt_frag_finish(frag, diag);
}

void vt_frag_release(struct vt_frag *frag)
{
	for (uint32_t i = 0; i < frag->nr_devices; i++) {
		struct vt_frag_device *device = &frag->devices[i];

		vt_layout_release(&device->layout);
		vt_follow_release(&device->follow);
		vt_vector_release(&device->samples);
		vt_vector_release(&device->pins);
	}
	vt_describe_release(&frag->describe);
	free(frag->devices);
	memset(frag, 0, sizeof(*frag));
}
