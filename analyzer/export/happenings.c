/* SPDX-License-Identifier: MIT */
#include "analyzer/export/happenings.h"

#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

struct playing {
	const struct vt_writer_job *job;
	vt_happenings_fn put;
	void *context;
};

static int64_t time_of(const struct playing *playing, int64_t event)
{
	return vt_timeline_time(&playing->job->analysis->timeline, event);
}

/* Spans follow each other without a gap: each ends where the next begins. */
static void put_span(const struct playing *playing, enum vt_lane lane, const char *name,
		     int64_t first_event, int64_t end_event)
{
	struct vt_happening span = { .lane = lane, .kind = VT_HAPPENING_SPAN, .name = name };

	span.time_ns = time_of(playing, first_event);
	span.end_ns = time_of(playing, end_event);
	if (span.end_ns < span.time_ns)
		span.end_ns = span.time_ns;
	playing->put(playing->context, &span);
}

static void put_stages(const struct playing *playing)
{
	const struct vt_stages *stages = &playing->job->analysis->stages;

	for (uint32_t i = 0; i < stages->nr_spans; i++)
		put_span(playing, VT_LANE_STAGES, vt_evidence_stages[stages->spans[i].stage],
			 stages->spans[i].first_event,
			 i + 1 < stages->nr_spans ? stages->spans[i + 1].first_event
						  : stages->spans[i].last_event);
}

static void put_steps(const struct playing *playing)
{
	const struct vt_stages *stages = &playing->job->analysis->stages;

	for (uint32_t i = 0; i < stages->steps.nr; i++) {
		const struct vt_step *step = &stages->steps.steps[i];
		char *name = vt_xasprintf("step %u", i + 1);

		put_span(playing, VT_LANE_STEPS, name, stages->spans[step->first_span].first_event,
			 stages->spans[step->last_span].last_event);
		free(name);
	}
}

static void put_marks(const struct playing *playing)
{
	static const enum vt_happening_kind kinds[] = { [VT_MARK_POINT] = VT_HAPPENING_INSTANT,
							[VT_MARK_BEGIN] = VT_HAPPENING_BEGIN,
							[VT_MARK_END] = VT_HAPPENING_END };
	const struct vt_model *model = &playing->job->analysis->model;

	for (uint32_t i = 0; i < model->nr_marks; i++) {
		const struct vt_mark *mark = &model->marks[i];
		const char *name = vt_model_text(model, mark->name);
		struct vt_happening happening = { .lane = VT_LANE_MARKS,
						  .name = name ? name : "?",
						  .time_ns = mark->time_ns,
						  .number = mark->thread };

		if (mark->kind >= VT_ARRAY_SIZE(kinds))
			continue;
		happening.kind = kinds[mark->kind];
		playing->put(playing->context, &happening);
	}
}

static void put_flag(const struct playing *playing, int device, int64_t time_ns, const char *what,
		     uint64_t bytes)
{
	char size[VT_UNITS_MAX];
	char *name;
	struct vt_happening flag = { .lane = VT_LANE_DEVICE,
				     .kind = VT_HAPPENING_INSTANT,
				     .time_ns = time_ns,
				     .number = (uint32_t)device };

	if (device < 0)
		return;
	flag.name = name = vt_xasprintf("%s: %s", what, vt_units_bytes(size, sizeof(size), bytes));
	playing->put(playing->context, &flag);
	free(name);
}

static void put_flags(const struct playing *playing)
{
	const struct vt_model *model = &playing->job->analysis->model;

	for (uint32_t i = 0; i < model->nr_peaks; i++) {
		const struct vt_peak *peak = &model->peaks[i];

		put_flag(playing, peak->device, time_of(playing, peak->event),
			 "most used, without the context", peak->used_bytes);
		if (peak->max_allocated_bytes)
			put_flag(playing, peak->device, time_of(playing, peak->max_allocated_event),
				 "most allocated", peak->max_allocated_bytes);
	}
	for (uint32_t i = 0; i < model->nr_ooms; i++)
		put_flag(playing, model->ooms[i].device, model->ooms[i].time_ns,
			 "out of memory: asked for", model->ooms[i].requested_bytes);
}

void vt_happenings_play(const struct vt_writer_job *job, vt_happenings_fn put, void *context)
{
	const struct playing playing = { job, put, context };

	put_steps(&playing);
	put_stages(&playing);
	put_marks(&playing);
	put_flags(&playing);
}
