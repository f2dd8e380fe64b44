/* SPDX-License-Identifier: MIT */
#include "analyzer/export/chrome_trace.h"

#include <inttypes.h>

#include "analyzer/base/util.h"
#include "analyzer/export/counters.h"
#include "analyzer/output/json.h"

/* A point takes 100 bytes, and browsers end at 500 MB of text. */
#define MOST_EVENTS 1200000
#define NR_BUCKETS  16384

/* Lanes are threads of the process; numbers of real threads are above these. */
enum { LANE_STEPS = 1, LANE_STAGES = 2, LANE_DEVICES = 3 };

static void begin_item(struct vt_chrome_trace *trace)
{
	fputs(trace->has_events ? ",\n{" : "\n{", trace->out);
	trace->has_events = 1;
}

static void add_time(const struct vt_chrome_trace *trace, const char *name, int64_t time_ns)
{
	fprintf(trace->out, ",\"%s\":%" PRId64 ".%03d", name, time_ns / 1000,
		(int)(time_ns % 1000));
}

void vt_chrome_trace_event(struct vt_chrome_trace *trace, const char *phase, int64_t lane,
			   int64_t time_ns, const char *name)
{
	begin_item(trace);
	fprintf(trace->out, "\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64, phase, trace->pid,
		lane);
	add_time(trace, "ts", time_ns > 0 ? time_ns : 0);
	fputs(",\"name\":", trace->out);
	vt_json_put_text(name, trace->out);
}

static void name_lane(struct vt_chrome_trace *trace, const char *what, int64_t lane,
		      const char *name)
{
	vt_chrome_trace_event(trace, "M", lane, 0, what);
	fputs(",\"args\":{\"name\":", trace->out);
	vt_json_put_text(name, trace->out);
	fputs("}}", trace->out);
}

void vt_chrome_trace_begin(struct vt_chrome_trace *trace, const struct vt_writer_job *job,
			   const char *head)
{
	const struct vt_model *model = &job->analysis->model;
	char *program = vt_writer_program(job);
	char device[16];

	*trace = (struct vt_chrome_trace){ .out = job->out };
	trace->pid = vt_db_run_get_int(job->analysis->db, "pid", 1);
	fprintf(job->out, "{%s\"displayTimeUnit\":\"ms\",\"traceEvents\":[", head);
	name_lane(trace, "process_name", 0, program);
	name_lane(trace, "thread_name", LANE_STEPS, "steps");
	name_lane(trace, "thread_name", LANE_STAGES, "stages");
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_writer_has_device(job, model->devices[i].id))
			name_lane(trace, "thread_name", LANE_DEVICES + model->devices[i].id,
				  vt_writer_device_name(device, model->devices[i].id));
	free(program);
}

void vt_chrome_trace_end(struct vt_chrome_trace *trace)
{
	fputs("\n]}\n", trace->out);
}

void vt_chrome_trace_happening(struct vt_chrome_trace *trace, const struct vt_happening *happening,
			       const char *name, const char *category)
{
	static const char *const phases[] = { [VT_HAPPENING_SPAN] = "X",
					      [VT_HAPPENING_BEGIN] = "B",
					      [VT_HAPPENING_END] = "E",
					      [VT_HAPPENING_INSTANT] = "i" };
	int64_t lane = happening->number;

	if (happening->lane == VT_LANE_STEPS)
		lane = LANE_STEPS;
	else if (happening->lane == VT_LANE_STAGES)
		lane = LANE_STAGES;
	else if (happening->lane == VT_LANE_DEVICE)
		lane = LANE_DEVICES + (int64_t)happening->number;
	vt_chrome_trace_event(trace, phases[happening->kind], lane, happening->time_ns, name);
	if (category)
		fprintf(trace->out, ",\"cat\":\"%s\"", category);
	if (happening->kind == VT_HAPPENING_SPAN)
		add_time(trace, "dur", happening->end_ns - happening->time_ns);
	fputs(happening->kind == VT_HAPPENING_INSTANT ? ",\"s\":\"t\"}" : "}", trace->out);
}

struct tracing {
	struct vt_chrome_trace trace;
	struct vt_writer_job *job;
	struct vt_counters counters;
};

static void put_happening(void *context, const struct vt_happening *happening)
{
	struct tracing *t = context;

	if (happening->lane != VT_LANE_DEVICE ||
	    vt_writer_has_device(t->job, (int)happening->number))
		vt_chrome_trace_happening(&t->trace, happening, happening->name, NULL);
}

static void put_point(void *context, uint32_t number, int64_t time_ns, uint64_t bytes)
{
	struct tracing *t = context;
	const struct vt_counter *counter = &t->counters.items[number];
	char device[16];
	char *name;

	if (!vt_writer_has_device(t->job, counter->device))
		return;
	name = vt_xasprintf("%s %s", vt_writer_device_name(device, counter->device),
			    counter->name);
	vt_chrome_trace_event(&t->trace, "C", 0, time_ns, name);
	fprintf(t->job->out, ",\"args\":{\"bytes\":%" PRIu64 "}}", bytes);
	free(name);
}

void vt_write_chrome(struct vt_writer_job *job)
{
	struct tracing t = { .job = job };

	vt_counters_init(&t.counters, job, MOST_EVENTS, NR_BUCKETS);
	vt_chrome_trace_begin(&t.trace, job, "");
	vt_happenings_play(job, put_happening, &t);
	vt_counters_play(&t.counters, put_point, &t);
	vt_chrome_trace_end(&t.trace);
	vt_counters_release(&t.counters);
}
