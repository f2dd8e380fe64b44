/* SPDX-License-Identifier: MIT */
#include "analyzer/html/track.h"

#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"

#define MOST_SPANS  6000
#define MOST_MARKS  200
#define MOST_FAILED 100

const char *vt_track_mark(const struct vt_model *model, const struct vt_mark *mark)
{
	if (mark->kind == VT_MARK_END || mark->source == VT_SOURCE_RECORD_FUNCTION)
		return NULL;
	return vt_model_text(model, mark->name);
}

static void append_span(json_t *array, int64_t first, int64_t last, const char *stage,
			uint32_t step)
{
	json_array_append_new(array, json_pack("{s:I,s:I,s:s,s:i}", "first_event",
					       (json_int_t)first, "last_event", (json_int_t)last,
					       "stage", stage, "step", (int)step));
}

/* Of too many spans whole steps are kept, and of too many steps only every nth. */
static void add_steps(const struct vt_stages *stages, json_t *array, json_t *object)
{
	uint32_t nr = stages->steps.nr, every = nr / MOST_SPANS + 1;

	for (uint32_t i = 0; i < nr; i += every) {
		const struct vt_step *step = &stages->steps.steps[i];

		append_span(array, stages->spans[step->first_span].first_event,
			    stages->spans[step->last_span].last_event, "", i + 1);
	}
	json_object_set_new(object, "spans_left_out",
			    json_integer(stages->nr_spans - (json_int_t)json_array_size(array)));
}

static void add_spans(const struct vt_stages *stages, json_t *object)
{
	json_t *array = json_array();

	if (stages->nr_spans > MOST_SPANS)
		add_steps(stages, array, object);
	else
		for (uint32_t i = 0; i < stages->nr_spans; i++) {
			const struct vt_span *span = &stages->spans[i];

			append_span(array, span->first_event, span->last_event,
				    vt_evidence_stages[span->stage], span->step);
		}
	json_object_set_new(object, "spans", array);
}

static void add_flag(json_t *array, const struct vt_timeline *timeline, int64_t event,
		     const char *kind, int device, char *text)
{
	json_t *flag = json_object();

	json_object_set_new(flag, "event", json_integer(event));
	json_object_set_new(flag, "time_us",
			    json_integer(vt_timeline_time(timeline, event) / 1000));
	json_object_set_new(flag, "kind", vt_json_text(kind));
	json_object_set_new(flag, "device", json_integer(device));
	json_object_set_new(flag, "text", vt_json_text(text));
	json_array_append_new(array, flag);
	free(text);
}

/* One where the device is fullest as tensors take most. */
static void add_peaks(json_t *array, const struct vt_report *report)
{
	const struct vt_timeline *timeline = &report->analysis->timeline;

	for (uint32_t i = 0; i < report->nr_devices; i++) {
		const struct vt_report_device *row = &report->devices[i];
		int has_most = vt_report_has_most_allocated(row);

		if (has_most)
			add_flag(array, timeline, row->most_allocated.place.event, "allocated",
				 row->device->id, vt_xstrdup("most allocated"));
		add_flag(array, timeline, row->chosen.place.event, "used", row->device->id,
			 vt_xstrdup(has_most ? "most used" : "peak"));
	}
}

static void add_flags(const struct vt_report *report, json_t *object)
{
	const struct vt_timeline *timeline = &report->analysis->timeline;
	const struct vt_model *model = &report->analysis->model;
	json_t *array = json_array();
	uint32_t left_out = 0, nr_marks = 0;
	char bytes[VT_UNITS_MAX];

	add_peaks(array, report);
	for (uint32_t i = 0; i < model->nr_ooms; i++)
		if (i + MOST_FAILED >= model->nr_ooms)
			add_flag(array, timeline, model->ooms[i].event, "failed",
				 model->ooms[i].device,
				 vt_xasprintf("out of memory: %s asked for",
					      vt_units_bytes(bytes, sizeof(bytes),
							     model->ooms[i].requested_bytes)));
		else
			left_out++;
	for (uint32_t i = 0; i < model->nr_marks; i++) {
		const char *name = vt_track_mark(model, &model->marks[i]);

		if (!name)
			continue;
		if (nr_marks++ < MOST_MARKS)
			add_flag(array, timeline, model->marks[i].event, "mark", -1,
				 vt_xstrdup(name));
		else
			left_out++;
	}
	json_object_set_new(object, "flags", array);
	json_object_set_new(object, "flags_left_out", json_integer(left_out));
}

void vt_track_json(const struct vt_report *report, json_t *object)
{
	json_object_set_new(object, "spans_left_out", json_integer(0));
	add_spans(&report->analysis->stages, object);
	add_flags(report, object);
}
