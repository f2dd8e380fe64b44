/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/export/kept_blocks.h"
#include "analyzer/export/snapshot_segments.h"
#include "analyzer/model/samples.h"

/*
 * PyTorch's memory snapshot as of a moment: everything that happened until then, and the segments
 * as they are then.
 *
 *  S1  Sizes of blocks are the allocator's, after rounding, so that the viewer's peak is
 *      max_memory_allocated(); PyTorch writes what was asked for, which is "requested_size" here.
 *  S2  The category of a block is the first word of its owner, user_metadata all of it with the
 *      name after it; "owner" is where that begins, for vtrace import.
 *  S3  The viewer fails where there are categories and none is "unknown": the event "snapshot" at
 *      the end of each trace has that one.
 *  S4  A free is requested and completed at once: when a stream that still used the block was done
 *      with it is not recorded.
 */

struct tracing {
	struct vt_snapshot_pickle p;
	struct vt_writer_job *job;
	const struct vt_timeline *timeline;
	struct vt_kept_blocks kept;
	struct vt_trace *traces; /* by index of the device */
	uint8_t *has_trace;
	int64_t start_us; /* since 1970 */
	struct vt_pickle_list list; /* of what is being written */
};

static uint64_t time_us(const struct tracing *t, int64_t time_ns)
{
	return (uint64_t)(t->start_us + time_ns / 1000);
}

/* Begins an event; what it has besides follows, then vt_pickle_dict_end(). */
static void begin_event(struct tracing *t, enum vt_snapshot_word action, int64_t time_ns,
			const struct vt_caller *caller)
{
	vt_pickle_item(&t->p.pickle, &t->list);
	vt_pickle_dict(&t->p.pickle);
	vt_snapshot_choice(&t->p, VT_SNAPSHOT_action, action);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_stream, caller->stream);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_time_us, time_us(t, time_ns));
	vt_snapshot_frames(&t->p, caller);
}

static void put_range(struct tracing *t, enum vt_snapshot_word action, int64_t time_ns,
		      const struct vt_caller *caller, uint64_t address, uint64_t bytes)
{
	begin_event(t, action, time_ns, caller);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_addr, address);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_size, bytes);
	vt_pickle_dict_end(&t->p.pickle);
}

static void put_category(struct tracing *t, uint32_t index)
{
	char *path = vt_attribution_path(&t->job->analysis->attribution, index);
	char *category = vt_xstrndup(path, strcspn(path, "/"));
	struct vt_attribution *attribution = &t->job->analysis->attribution;
	uint32_t owner = vt_attribution_judge(attribution, index).owner;

	vt_snapshot_text(&t->p, VT_SNAPSHOT_owner, vt_attribution_owner(attribution, owner));
	vt_snapshot_text(&t->p, VT_SNAPSHOT_category, category);
	vt_snapshot_text(&t->p, VT_SNAPSHOT_user_metadata, path);
	free(category);
	free(path);
}

static void put_alloc(struct tracing *t, uint32_t index)
{
	const struct vt_allocation *a = &t->timeline->model->allocations[index];
	int64_t made_ns = vt_model_made_ns(t->timeline->model, a);

	if (vt_allocation_is_driver(a))
		put_range(t, VT_SNAPSHOT_segment_alloc, made_ns, a->common->made, a->address,
			  a->common->size_bytes);
	begin_event(t, VT_SNAPSHOT_alloc, made_ns, a->common->made);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_addr, a->address);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_size, a->common->size_bytes);
	if (a->common->requested_bytes && a->common->requested_bytes != a->common->size_bytes)
		vt_snapshot_number(&t->p, VT_SNAPSHOT_requested_size, a->common->requested_bytes);
	put_category(t, index);
	vt_snapshot_forward(&t->p, a->common->made->forward_python_stack);
	vt_pickle_dict_end(&t->p.pickle);
}

static void put_free(struct tracing *t, uint32_t index)
{
	const struct vt_allocation *a = &t->timeline->model->allocations[index];
	int64_t freed_ns = vt_model_freed_ns(t->timeline->model, a);
	struct vt_caller freed = *a->common->freed;

	freed.stream = a->common->made->stream;
	put_range(t, VT_SNAPSHOT_free_requested, freed_ns, &freed, a->address,
		  a->common->size_bytes);
	put_range(t, VT_SNAPSHOT_free_completed, freed_ns, &freed, a->address,
		  a->common->size_bytes);
	if (vt_allocation_is_driver(a))
		put_range(t, VT_SNAPSHOT_segment_free, freed_ns, &freed, a->address,
			  a->common->size_bytes);
}

/* Whether `next` continues where `bytes` from `first` on end. */
static int follows(const struct vt_trace_change *first, const struct vt_trace_change *next,
		   uint64_t bytes)
{
	return (first->op == VT_SEGMENT_MAP || first->op == VT_SEGMENT_UNMAP) &&
	       next->op == first->op && next->segment == first->segment &&
	       next->address == first->address + bytes;
}

/* What the allocator got and gave back at the driver up to `event`; returns the next change. */
static size_t put_changes(struct tracing *t, const struct vt_trace *trace, size_t next,
			  int64_t event)
{
	static const enum vt_snapshot_word actions[] = {
		[VT_SEGMENT_TAKE] = VT_SNAPSHOT_segment_alloc,
		[VT_SEGMENT_GIVE_BACK] = VT_SNAPSHOT_segment_free,
		[VT_SEGMENT_MAP] = VT_SNAPSHOT_segment_map,
		[VT_SEGMENT_UNMAP] = VT_SNAPSHOT_segment_unmap,
	};

	while (next < trace->changes.len && trace->changes.items[next].event <= event) {
		const struct vt_trace_change *change = &trace->changes.items[next];
		struct vt_caller caller = *vt_snapshot_maker(t->timeline->model, change->event);
		uint64_t bytes = 0;

		/* Granules side by side are mapped one after the other by one call. */
		do
			bytes += trace->changes.items[next++].bytes;
		while (next < trace->changes.len && trace->changes.items[next].event <= event &&
		       follows(change, &trace->changes.items[next], bytes));
		caller.stream = trace->segments.items[change->segment].stream_id;
		put_range(t, actions[change->op], vt_timeline_time(t->timeline, change->event),
			  &caller, change->address, bytes);
	}
	return next;
}

static void put_out_of_memory(struct tracing *t, const struct vt_out_of_memory *oom,
			      uint64_t used_bytes)
{
	const struct vt_device *device = vt_model_device(t->timeline->model, oom->device);
	uint64_t total = device ? device->total_bytes : 0;
	const struct vt_caller caller = { .stream = oom->stream,
					  .native_stack = oom->native_stack,
					  .python_stack = oom->python_stack };

	used_bytes =
		vt_samples_device_used(t->timeline->model, oom->device, used_bytes, oom->time_ns);
	begin_event(t, VT_SNAPSHOT_oom, oom->time_ns, &caller);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_device_free,
			   total > used_bytes ? total - used_bytes : 0);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_size, oom->requested_bytes);
	vt_pickle_dict_end(&t->p.pickle);
}

static void put_moment(struct tracing *t, const struct vt_moment *moment, uint64_t used_bytes)
{
	if (moment->what == VT_MOMENT_OUT_OF_MEMORY)
		put_out_of_memory(t, &t->timeline->model->ooms[moment->index], used_bytes);
	else if (moment->what == VT_MOMENT_ALLOC)
		put_alloc(t, moment->index);
	else
		put_free(t, moment->index);
}

static int is_shown(const struct tracing *t, const struct vt_moment *moment, int device)
{
	const struct vt_model *model = t->timeline->model;

	if (moment->what == VT_MOMENT_OUT_OF_MEMORY)
		return model->ooms[moment->index].device == device;
	return (moment->what == VT_MOMENT_ALLOC || moment->what == VT_MOMENT_FREE) &&
	       model->allocations[moment->index].common->device == device &&
	       vt_kept_blocks_has(&t->kept, moment->index);
}

static void put_trace(struct tracing *t, uint32_t index, uint32_t nr_devices)
{
	const struct vt_model *model = t->timeline->model;
	const struct vt_trace *trace = t->has_trace[index] ? &t->traces[index] : NULL;
	int device = model->devices[index].id;
	uint32_t nr = vt_timeline_after(t->timeline, t->job->event);
	struct vt_totals totals = { 0 };
	size_t next = 0;

	vt_pickle_list(&t->p.pickle);
	vt_pickle_items(&t->p.pickle, &t->list);
	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_moment *moment = &t->timeline->moments[i];

		if (!vt_writer_continues(t->job, (uint64_t)index * nr + i,
					 (uint64_t)nr_devices * nr))
			break;
		if (is_shown(t, moment, device)) {
			next = trace ? put_changes(t, trace, next, vt_moment_event(model, moment))
				     : 0;
			put_moment(t, moment, totals.used_bytes);
		}
		vt_timeline_add(t->timeline, moment, device, &totals);
	}
	if (trace)
		put_changes(t, trace, next, t->job->event);
	begin_event(t, VT_SNAPSHOT_snapshot, vt_timeline_time(t->timeline, t->job->event),
		    &vt_caller_nobody);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_addr, 0);
	vt_snapshot_number(&t->p, VT_SNAPSHOT_size, totals.allocated_bytes);
	vt_snapshot_choice(&t->p, VT_SNAPSHOT_category, VT_SNAPSHOT_unknown);
	vt_pickle_dict_end(&t->p.pickle);
	vt_pickle_items_end(&t->p.pickle);
}

/* The list is by number of the device: of one that was not used, or is not wanted, it is empty. */
static void put_traces(struct tracing *t)
{
	const struct vt_model *model = t->timeline->model;
	struct vt_pickle_list traces;
	int next = 0;

	vt_snapshot_word(&t->p, VT_SNAPSHOT_device_traces);
	vt_pickle_list(&t->p.pickle);
	vt_pickle_items(&t->p.pickle, &traces);
	for (uint32_t i = 0; i < model->nr_devices; i++) {
		for (; next < model->devices[i].id; next++) {
			vt_pickle_item(&t->p.pickle, &traces);
			vt_pickle_list(&t->p.pickle);
		}
		vt_pickle_item(&t->p.pickle, &traces);
		next++;
		if (vt_writer_has_device(t->job, model->devices[i].id))
			put_trace(t, i, model->nr_devices);
		else
			vt_pickle_list(&t->p.pickle);
	}
	vt_pickle_items_end(&t->p.pickle);
}

static void put_segments(struct tracing *t)
{
	const struct vt_model *model = t->timeline->model;

	vt_snapshot_word(&t->p, VT_SNAPSHOT_segments);
	vt_pickle_list(&t->p.pickle);
	vt_pickle_items(&t->p.pickle, &t->list);
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_writer_has_device(t->job, model->devices[i].id))
			vt_snapshot_segments(&t->p, &t->list, model->devices[i].id,
					     t->has_trace[i] ? &t->traces[i] : NULL);
	vt_pickle_items_end(&t->p.pickle);
}

/* What differs from PyTorch's defaults is in the text; the viewer prints all of it as it is. */
static void put_settings(struct tracing *t)
{
	const struct vt_settings *settings = &t->job->analysis->traces.settings;
	struct vt_buffer text;

	vt_buffer_init(&text);
	vt_settings_print(settings, &text);
	vt_snapshot_word(&t->p, VT_SNAPSHOT_allocator_settings);
	vt_pickle_dict(&t->p.pickle);
	vt_pickle_text(&t->p.pickle, "PYTORCH_CUDA_ALLOC_CONF");
	vt_pickle_text(&t->p.pickle, text.data);
	vt_pickle_text(&t->p.pickle, "expandable_segments");
	vt_pickle_bool(&t->p.pickle, settings->is_expandable);
	vt_pickle_text(&t->p.pickle, "max_split_size");
	vt_pickle_int(&t->p.pickle, settings->max_split_bytes == VT_SETTINGS_UNLIMITED
					    ? -1
					    : (int64_t)settings->max_split_bytes);
	vt_pickle_text(&t->p.pickle, "garbage_collection_threshold");
	vt_pickle_float(&t->p.pickle, settings->gc_threshold);
	vt_pickle_dict_end(&t->p.pickle);
	vt_buffer_release(&text);
}

static void put_annotation(struct tracing *t, const char *name, enum vt_snapshot_word stage,
			   int64_t time_ns)
{
	const struct vt_model *model = t->timeline->model;

	for (uint32_t i = 0; i < model->nr_devices; i++) {
		if (!vt_writer_has_device(t->job, model->devices[i].id))
			continue;
		vt_pickle_item(&t->p.pickle, &t->list);
		vt_pickle_dict(&t->p.pickle);
		vt_snapshot_number(&t->p, VT_SNAPSHOT_device, (uint64_t)model->devices[i].id);
		vt_snapshot_text(&t->p, VT_SNAPSHOT_name, name);
		vt_snapshot_choice(&t->p, VT_SNAPSHOT_stage, stage);
		vt_snapshot_number(&t->p, VT_SNAPSHOT_time_us, time_us(t, time_ns));
		vt_pickle_dict_end(&t->p.pickle);
	}
}

/* The ends and beginnings of steps up to `event`; returns twice the number of the next one. */
static uint32_t put_steps(struct tracing *t, uint32_t next, int64_t event)
{
	const struct vt_stages *stages = &t->job->analysis->stages;

	for (; next < 2 * stages->steps.nr; next++) {
		const struct vt_step *step = &stages->steps.steps[next / 2];
		int is_end = next % 2;
		int64_t at = is_end ? stages->spans[step->last_span].last_event
				    : stages->spans[step->first_span].first_event;
		char *name;

		if (at > event)
			break;
		name = vt_xasprintf("step %u", next / 2 + 1);
		put_annotation(t, name, is_end ? VT_SNAPSHOT_END : VT_SNAPSHOT_START,
			       vt_timeline_time(t->timeline, at));
		free(name);
	}
	return next;
}

static void put_annotations(struct tracing *t)
{
	const struct vt_model *model = t->timeline->model;
	uint32_t next = 0;

	vt_snapshot_word(&t->p, VT_SNAPSHOT_external_annotations);
	vt_pickle_list(&t->p.pickle);
	vt_pickle_items(&t->p.pickle, &t->list);
	for (uint32_t i = 0; i < model->nr_marks; i++) {
		const struct vt_mark *mark = &model->marks[i];
		const char *name = vt_model_text(model, mark->name);

		if (mark->event > t->job->event)
			break;
		next = put_steps(t, next, mark->event);
		if (mark->kind != VT_MARK_END)
			put_annotation(t, name ? name : "", VT_SNAPSHOT_START, mark->time_ns);
		if (mark->kind != VT_MARK_BEGIN)
			put_annotation(t, name ? name : "", VT_SNAPSHOT_END, mark->time_ns);
	}
	put_steps(t, next, t->job->event);
	vt_pickle_items_end(&t->p.pickle);
}

static void read_traces(struct tracing *t)
{
	const struct vt_model *model = t->timeline->model;
	const struct vt_traces *traces = &t->job->analysis->traces;

	t->traces = vt_xcalloc(model->nr_devices + 1, sizeof(*t->traces));
	t->has_trace = vt_xcalloc(model->nr_devices + 1, 1);
	for (uint32_t i = 0; i < model->nr_devices; i++)
		t->has_trace[i] = !traces->are_misread &&
				 vt_writer_has_device(t->job, model->devices[i].id) &&
				 !vt_trace_init(&t->traces[i], t->timeline, model->devices[i].id,
					       &traces->settings, NULL);
}

void vt_write_pytorch(struct vt_writer_job *job)
{
	struct tracing t = { .job = job, .timeline = &job->analysis->timeline };
	const struct vt_model *model = t.timeline->model;

	t.start_us = vt_db_run_get_int(job->analysis->db, "start_realtime_ns", 0) / 1000;
	read_traces(&t);
	vt_kept_blocks_init(&t.kept, job);
	vt_snapshot_pickle_init(&t.p, job);
	vt_pickle_dict(&t.p.pickle);
	put_segments(&t);
	put_traces(&t);
	put_settings(&t);
	put_annotations(&t);
	vt_pickle_dict_end(&t.p.pickle);
	vt_pickle_end(&t.p.pickle);
	vt_snapshot_pickle_release(&t.p);
	vt_kept_blocks_release(&t.kept);
	for (uint32_t i = 0; i < model->nr_devices; i++)
		vt_trace_release(&t.traces[i]);
	free(t.traces);
	free(t.has_trace);
}
