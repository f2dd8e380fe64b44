/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/export/kept_blocks.h"
#include "analyzer/output/json.h"

/*
 * A trace as PyTorch's profiler writes it with profile_memory=True: an instant "[memory]" for each
 * allocation and free, with the totals after it, which are all of the recording also where events
 * are left out.  "Total Reserved" is what is held from the driver.
 */

#define DEVICE_TYPE_CUDA 1

struct tracing {
	struct vt_chrome_trace trace;
	struct vt_writer_job *job;
	struct vt_kept_blocks kept;
	VT_VECTOR(struct vt_happening) open; /* ranges that have begun, of all threads */
};

/* Readers of the profiler's files know whole ranges only: one is written where it ends. */
static void put_range(struct tracing *t, size_t open, int64_t end_ns)
{
	struct vt_happening range = t->open.items[open];

	range.kind = VT_HAPPENING_SPAN;
	range.end_ns = end_ns;
	vt_chrome_trace_happening(&t->trace, &range, range.name, "user_annotation");
	t->open.len--;
	memmove(&t->open.items[open], &t->open.items[open + 1],
		(t->open.len - open) * sizeof(range));
}

static void put_mark(struct tracing *t, const struct vt_happening *mark)
{
	if (mark->kind == VT_HAPPENING_BEGIN) {
		vt_vector_push(&t->open, *mark);
		return;
	}
	if (mark->kind == VT_HAPPENING_INSTANT) {
		vt_chrome_trace_happening(&t->trace, mark, mark->name, "user_annotation");
		return;
	}
	for (size_t i = t->open.len; i-- > 0;)
		if (t->open.items[i].number == mark->number &&
		    !strcmp(t->open.items[i].name, mark->name)) {
			put_range(t, i, mark->time_ns);
			return;
		}
}

/* What was going on when the recording ended. */
static void put_open_ranges(struct tracing *t)
{
	const struct vt_timeline *timeline = &t->job->analysis->timeline;

	while (t->open.len)
		put_range(t, t->open.len - 1, vt_timeline_time(timeline, t->job->event));
	vt_vector_release(&t->open);
}

/* The profiler's own step ranges are known by their name. */
static void put_happening(void *context, const struct vt_happening *happening)
{
	struct tracing *t = context;
	const char *number = happening->name + sizeof("step ") - 1;
	char *name;

	if (happening->lane == VT_LANE_STAGES)
		vt_chrome_trace_happening(&t->trace, happening, happening->name,
					  "user_annotation");
	if (happening->lane == VT_LANE_MARKS)
		put_mark(t, happening);
	if (happening->lane != VT_LANE_STEPS)
		return;
	name = vt_xasprintf("ProfilerStep#%s", number);
	vt_chrome_trace_happening(&t->trace, happening, name, "user_annotation");
	free(name);
}

static void put_memory(struct tracing *t, const struct vt_moment *moment, uint32_t number,
		       const struct vt_totals *totals)
{
	struct vt_analysis *analysis = t->job->analysis;
	const struct vt_allocation *a = &analysis->model.allocations[moment->index];
	int is_alloc = moment->what == VT_MOMENT_ALLOC;
	FILE *out = t->job->out;

	vt_chrome_trace_event(&t->trace, "i",
			      is_alloc ? a->common->made->thread : a->common->freed->thread,
			      is_alloc ? vt_model_made_ns(&analysis->model, a)
				       : vt_model_freed_ns(&analysis->model, a),
			      "[memory]");
	fprintf(out,
		",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"args\":{\"Total Reserved\":%" PRIu64
		",\"Total Allocated\":%" PRIu64 ",\"Bytes\":%s%" PRIu64 ",\"Addr\":%" PRIu64
		",\"Device Id\":%d,\"Device Type\":%d,\"Ev Idx\":%u,\"Owner\":",
		totals->used_bytes, totals->allocated_bytes, is_alloc ? "" : "-",
		a->common->size_bytes, a->address, a->common->device, DEVICE_TYPE_CUDA, number);
	vt_json_put_text(vt_attribution_owner(
				 &analysis->attribution,
				 vt_attribution_judge(&analysis->attribution, moment->index).owner),
			 out);
	fputs("}}", out);
}

static void put_device(struct tracing *t, int device, uint32_t done, uint32_t nr_devices)
{
	const struct vt_timeline *timeline = &t->job->analysis->timeline;
	struct vt_totals totals = { 0 };

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];

		if (!vt_writer_continues(t->job, (uint64_t)done * timeline->nr + i,
					 (uint64_t)nr_devices * timeline->nr))
			return;
		vt_timeline_add(timeline, moment, device, &totals);
		if ((moment->what == VT_MOMENT_ALLOC || moment->what == VT_MOMENT_FREE) &&
		    timeline->model->allocations[moment->index].common->device == device &&
		    vt_kept_blocks_has(&t->kept, moment->index))
			put_memory(t, moment, i, &totals);
	}
}

static void begin(struct tracing *t)
{
	const struct vt_model *model = &t->job->analysis->model;
	struct vt_db *db = t->job->analysis->db;
	struct vt_buffer head;

	vt_buffer_init(&head);
	vt_buffer_puts(&head, "\"schemaVersion\":1,\"deviceProperties\":[");
	for (uint32_t i = 0; i < model->nr_devices; i++)
		vt_buffer_printf(&head, "%s{\"id\":%d,\"totalGlobalMem\":%" PRIu64 "}",
				 i ? "," : "", model->devices[i].id,
				 model->devices[i].total_bytes);
	vt_buffer_printf(&head,
			 "],\"distributedInfo\":{\"rank\":%" PRId64 ",\"world_size\":%" PRId64
			 "},\"baseTimeNanoseconds\":%" PRId64 ",",
			 vt_db_run_get_int(db, "rank", 0), vt_db_run_get_int(db, "world_size", 1),
			 vt_db_run_get_int(db, "start_realtime_ns", 0));
	vt_chrome_trace_begin(&t->trace, t->job, head.data);
	vt_buffer_release(&head);
}

void vt_write_kineto(struct vt_writer_job *job)
{
	const struct vt_model *model = &job->analysis->model;
	struct tracing t = { .job = job };

	vt_kept_blocks_init(&t.kept, job);
	begin(&t);
	vt_happenings_play(job, put_happening, &t);
	put_open_ranges(&t);
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_writer_has_device(job, model->devices[i].id))
			put_device(&t, model->devices[i].id, i, model->nr_devices);
	vt_chrome_trace_end(&t.trace);
	vt_kept_blocks_release(&t.kept);
}
