/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/extrapolation.h"

#include <math.h>
#include <string.h>

#include "analyzer/analysis/limits.h"
#include "analyzer/base/sort.h"
#include "analyzer/planner/measured.h"

/* Nothing that a device has. */
#define MAX_BYTES 0x1p53

static double was_bytes(const struct vt_extrapolation *x, uint32_t allocation)
{
	return (double)x->analysis->model.allocations[allocation].common->size_bytes;
}

static double in_blocks(double bytes)
{
	return ceil(bytes / VT_SETTINGS_BLOCK_ROUNDING) * VT_SETTINGS_BLOCK_ROUNDING;
}

/* What was asked for, scaled; an end that the allocator did not split off stays as it was. */
static double bytes_of(const struct vt_extrapolation *x, uint32_t allocation)
{
	const struct vt_allocation *a = &x->analysis->model.allocations[allocation];
	double asked = (double)vt_allocation_asked_bytes(a);
	double scaled = ceil(asked * vt_scalings_factor(&x->scalings, allocation, x->is));

	return in_blocks(scaled) + (double)a->common->size_bytes - in_blocks(asked);
}

/* --- over the whole run ----------------------------------------------------------------------- */

struct walk {
	double was, is;           /* live now */
	int64_t was_peak, is_peak; /* events */
};

static void change(struct vt_extrapolation *x, struct walk *walk, uint32_t allocation, double sign)
{
	const struct vt_allocation *a = &x->analysis->model.allocations[allocation];

	if (!vt_allocation_is_owned(a) || a->common->device != x->device->id)
		return;
	walk->was += sign * was_bytes(x, allocation);
	walk->is += sign * bytes_of(x, allocation);
}

static void look(struct vt_extrapolation *x, struct walk *walk, int64_t event)
{
	uint32_t span = vt_stages_span_at(&x->analysis->stages, event);
	struct vt_extrapolation_stage *stage;

	if (walk->was > x->was_allocated) {
		x->was_allocated = walk->was;
		walk->was_peak = event;
	}
	if (walk->is > x->allocated) {
		x->allocated = walk->is;
		walk->is_peak = event;
	}
	if (span == VT_NO_INDEX)
		return;
	stage = &x->stages[x->analysis->stages.spans[span].stage];
	stage->was_bytes = fmax(stage->was_bytes, walk->was);
	stage->bytes = fmax(stage->bytes, walk->is);
}

static void walk_events(struct vt_extrapolation *x, struct walk *walk)
{
	const struct vt_timeline *timeline = &x->analysis->timeline;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];

		if (moment->what == VT_MOMENT_FREE)
			change(x, walk, moment->index, -1);
		else if (moment->what == VT_MOMENT_ALLOC)
			change(x, walk, moment->index, 1);
		if (vt_timeline_is_last_of_event(timeline, moment))
			look(x, walk, vt_moment_event(timeline->model, moment));
	}
}

/* --- owners at the peaks ---------------------------------------------------------------------- */

static struct vt_extrapolation_row *row_of(struct vt_extrapolation *x, const char *owner,
					 enum vt_scaling scaling)
{
	struct vt_extrapolation_row row = { .owner = owner, .scaling = scaling };

	for (size_t i = 0; i < x->rows.len; i++)
		if (x->rows.items[i].scaling == scaling &&
		    !strcmp(x->rows.items[i].owner, owner))
			return &x->rows.items[i];
	vt_vector_push(&x->rows, row);
	return &x->rows.items[x->rows.len - 1];
}

static int compare_rows(const void *a, const void *b)
{
	const struct vt_extrapolation_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

static void add_rows(struct vt_extrapolation *x, const struct walk *walk)
{
	const struct vt_model *model = &x->analysis->model;
	struct vt_attribution *attribution = &x->analysis->attribution;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		int was = vt_allocation_is_live(a, walk->was_peak);
		int is = vt_allocation_is_live(a, walk->is_peak);
		struct vt_extrapolation_row *row;

		if (!vt_allocation_is_owned(a) || a->common->device != x->device->id ||
		    (!was && !is))
			continue;
		row = row_of(x, vt_attribution_owner(attribution,
						     vt_attribution_judge(attribution, i).owner),
			     (enum vt_scaling)x->scalings.of[i]);
		row->was_bytes += was ? was_bytes(x, i) : 0;
		row->bytes += is ? bytes_of(x, i) : 0;
		row->blocks += is;
	}
	vt_vector_sort(&x->rows, compare_rows);
}

/* --- segments --------------------------------------------------------------------------------- */

/* What would have been needed is said of a run that no device of this size could serve. */
static int play_on(struct vt_replay *replay, const struct vt_trace *trace,
		   struct vt_replay_options options, uint64_t capacity_bytes)
{
	uint32_t nr_failed = 0;
	int is_served;

	for (size_t i = 0; i < trace->steps.len; i++)
		nr_failed += trace->steps.items[i].op == VT_TRACE_FAILED;
	options.capacity_bytes = capacity_bytes;
	vt_replay_run(replay, trace, &options);
	is_served = !replay->failure.event && replay->nr_rescued == nr_failed;
	if (!replay->failure.event)
		return is_served;
	options.capacity_bytes = options.device_bytes = UINT64_MAX / 2;
	vt_replay_run(replay, trace, &options);
	return 0;
}

/* What the context leaves of the device asked for, else what the recorded run had. */
static uint64_t capacity_of(const struct vt_extrapolation *x, const struct vt_trace *trace)
{
	uint64_t context_bytes = x->device->has_context ? x->device->context_bytes : 0;

	if (!x->device_bytes)
		return trace->capacity_bytes < UINT64_MAX / 2 ? trace->capacity_bytes
							     : UINT64_MAX / 2;
	return x->device_bytes > context_bytes ? x->device_bytes - context_bytes : 0;
}

static uint64_t scaled_request(const void *context, const struct vt_trace_step *step)
{
	const struct vt_extrapolation *x = context;
	uint64_t bytes = vt_trace_bytes(x->trace, step);

	if (step->op == VT_TRACE_FAILED)
		return bytes;
	return (uint64_t)ceil((double)bytes *
			      vt_scalings_factor(&x->scalings, step->allocation, x->is));
}

/* A program that went on behind a request that failed would have gone another way. */
static char *unfinished(const struct vt_extrapolation *x)
{
	char *text = vt_limits_unfinished(x->analysis);

	if (!text && x->played.nr_rescued)
		text = vt_limits_rescued(x->played.nr_rescued);
	return text;
}

static int play(struct vt_extrapolation *x, struct vt_diag *diag)
{
	struct vt_trace_ready *ready = vt_traces_get(&x->analysis->traces, x->device->id, diag);
	const struct vt_trace *trace = ready ? &ready->trace : NULL;
	struct vt_replay_options options;

	if (!ready)
		return -1;
	x->trace = trace;
	vt_replay_options_init(&options, trace);
	play_on(&x->was, trace, options, trace->capacity_bytes);
	options.request_of = scaled_request;
	options.request_context = x;
	if (x->device_bytes)
		options.device_bytes = x->device_bytes;
	x->is_served = play_on(&x->played, trace, options, capacity_of(x, trace));
	x->unfinished = unfinished(x);
	if (!x->device_bytes)
		x->device_bytes = trace->device_bytes;
	return 0;
}

static int refuse(const struct vt_extrapolation *x, const char *why, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", vt_db_path(x->analysis->db), why);
	return -1;
}

int vt_extrapolation_init(struct vt_extrapolation *x, struct vt_analysis *analysis,
			struct vt_scaling_size was, struct vt_scaling_size is,
			uint64_t device_bytes, struct vt_diag *diag)
{
	struct walk walk = { 0 };

	memset(x, 0, sizeof(*x));
	x->analysis = analysis;
	x->device_bytes = device_bytes;
	x->device = vt_measured_device(&analysis->model);
	if (!x->device)
		return refuse(x, "no blocks of a framework in it, only driver allocations", diag);
	if (vt_scalings_init(&x->scalings, &analysis->attribution, was, diag))
		return -1;
	if (is.seq && !x->scalings.was.seq)
		return refuse(x, "its inputs have no sequence that --seq could change", diag);
	x->is.batch = is.batch ? is.batch : x->scalings.was.batch;
	x->is.seq = is.seq ? is.seq : x->scalings.was.seq;
	for (int stage = 0; stage < VT_NR_STAGES; stage++)
		x->stages[stage].name = vt_evidence_stages[stage];
	walk_events(x, &walk);
	if (!(x->allocated < MAX_BYTES))
		return refuse(x, "2^53 bytes or more", diag);
	x->event = walk.is_peak;
	add_rows(x, &walk);
	return play(x, diag);
}

void vt_extrapolation_release(struct vt_extrapolation *x)
{
	vt_scalings_release(&x->scalings);
	vt_vector_release(&x->rows);
	free(x->unfinished);
	memset(x, 0, sizeof(*x));
}
