/* SPDX-License-Identifier: MIT */
#include "analyzer/base/hash.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"
#include "analyzer/export/counters.h"
#include "analyzer/export/happenings.h"
#include "analyzer/export/protobuf.h"

/*
 * A trace of Perfetto (protos/perfetto/trace/trace.proto): a process, below it tracks of steps,
 * stages, marks and devices, below each device its counters.  Times are those of the machine's
 * monotonic clock, and tracks and the sequence are named by the process: the files of a machine's
 * ranks concatenated are one trace.  (With a snapshot of the wall clock in each they would
 * have to be in order of time.)
 */

/* A point takes 25 bytes, and the viewer has room for 2 GB: of 10^6 events all are written. */
#define MOST_EVENTS 1200000
#define NR_BUCKETS  65536

enum packet {
	TRACE_PACKET = 1, /* of the trace */
	TIMESTAMP = 8,
	SEQUENCE_ID = 10,
	TRACK_EVENT = 11,
	TRACK_DESCRIPTOR = 60,
};
enum descriptor { UUID = 1, NAME = 2, PROCESS = 3, PARENT = 5, COUNTER = 8 };
enum process { PID = 1, PROCESS_NAME = 6 };
enum counter { UNIT = 3, UNIT_BYTES = 3 };
enum event { TYPE = 9, TRACK = 11, EVENT_NAME = 23, COUNTER_VALUE = 30 };
enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER_POINT = 4 };

/* Tracks of the trace; counters have separate numbers. */
enum track { TRACK_PROCESS, TRACK_DEVICES, TRACK_COUNTERS, TRACK_LANES };

struct tracing {
	struct vt_writer_job *job;
	struct vt_counters counters;
	uint64_t start_ns; /* of the monotonic clock */
	uint64_t pid;
	uint64_t run; /* different for any two recordings */
	uint8_t *is_declared; /* by counter */
	uint8_t *has_device;  /* by number of the device */
	struct vt_map lanes;  /* threads that have marks */
	struct vt_buffer packet, inner, value;
};

static uint64_t uuid(const struct tracing *t, enum track track, uint64_t number)
{
	return vt_hash_mix(vt_hash_mix(t->run, track), number) >> 1 | 1;
}

static void put_packet(struct tracing *t)
{
	vt_protobuf_number(&t->packet, SEQUENCE_ID, t->pid);
	/* "inner" is free by now. */
	vt_protobuf_message(&t->inner, TRACE_PACKET, &t->packet);
	fwrite(t->inner.data, 1, t->inner.len, t->job->out);
	t->inner.len = 0;
}

/* `add` may have put the kind of track into t->inner already. */
static void put_track(struct tracing *t, uint64_t id, uint64_t parent, const char *name)
{
	vt_protobuf_number(&t->inner, UUID, id);
	vt_protobuf_text(&t->inner, NAME, name);
	if (parent)
		vt_protobuf_number(&t->inner, PARENT, parent);
	vt_protobuf_message(&t->packet, TRACK_DESCRIPTOR, &t->inner);
	put_packet(t);
}

static void put_process(struct tracing *t)
{
	char *name = vt_writer_program(t->job);

	vt_protobuf_number(&t->value, PID, t->pid);
	vt_protobuf_text(&t->value, PROCESS_NAME, name);
	vt_protobuf_message(&t->inner, PROCESS, &t->value);
	put_track(t, uuid(t, TRACK_PROCESS, 0), 0, NULL);
	free(name);
}

static uint64_t device_track(struct tracing *t, int device)
{
	uint64_t id = uuid(t, TRACK_DEVICES, (uint64_t)device);
	char name[16];

	if (!t->has_device[device]) {
		t->has_device[device] = 1;
		put_track(t, id, uuid(t, TRACK_PROCESS, 0), vt_writer_device_name(name, device));
	}
	return id;
}

static void begin_event(struct tracing *t, enum event_type type, uint64_t track, int64_t time_ns)
{
	vt_protobuf_number(&t->packet, TIMESTAMP, t->start_ns + (uint64_t)time_ns);
	vt_protobuf_number(&t->inner, TYPE, type);
	vt_protobuf_number(&t->inner, TRACK, track);
}

static void end_event(struct tracing *t)
{
	vt_protobuf_message(&t->packet, TRACK_EVENT, &t->inner);
	put_packet(t);
}

static void put_point(void *context, uint32_t number, int64_t time_ns, uint64_t bytes)
{
	struct tracing *t = context;
	const struct vt_counter *counter = &t->counters.items[number];
	uint64_t id = uuid(t, TRACK_COUNTERS, number);
	char device[16];
	char *name;

	if (!vt_writer_has_device(t->job, counter->device))
		return;
	if (!t->is_declared[number]) {
		uint64_t parent = device_track(t, counter->device);

		t->is_declared[number] = 1;
		name = vt_xasprintf("%s %s", vt_writer_device_name(device, counter->device),
				    counter->name);
		vt_protobuf_number(&t->value, UNIT, UNIT_BYTES);
		vt_protobuf_message(&t->inner, COUNTER, &t->value);
		put_track(t, id, parent, name);
		free(name);
	}
	begin_event(t, COUNTER_POINT, id, time_ns);
	vt_protobuf_number(&t->inner, COUNTER_VALUE, bytes);
	end_event(t);
}

/* The track of a lane, which is declared when it is first used. */
static uint64_t lane_track(struct tracing *t, const struct vt_happening *happening)
{
	static const char *const names[] = { "steps", "stages", "marks" };
	struct vt_key key = { happening->lane, happening->number, 0 };
	uint64_t id = uuid(t, TRACK_LANES + happening->lane, happening->number);
	char *name;

	if (happening->lane == VT_LANE_DEVICE)
		return device_track(t, (int)happening->number);
	if (vt_map_find(&t->lanes, key))
		return id;
	vt_map_put(&t->lanes, key, 1);
	name = happening->number ? vt_xasprintf("%s of thread %u", names[happening->lane],
						happening->number)
				 : vt_xstrdup(names[happening->lane]);
	put_track(t, id, uuid(t, TRACK_PROCESS, 0), name);
	free(name);
	return id;
}

static void put_happening(void *context, const struct vt_happening *happening)
{
	static const enum event_type types[] = { [VT_HAPPENING_SPAN] = SLICE_BEGIN,
						 [VT_HAPPENING_BEGIN] = SLICE_BEGIN,
						 [VT_HAPPENING_END] = SLICE_END,
						 [VT_HAPPENING_INSTANT] = INSTANT };
	struct tracing *t = context;
	uint64_t track;

	if (happening->lane == VT_LANE_DEVICE &&
	    !vt_writer_has_device(t->job, (int)happening->number))
		return;
	track = lane_track(t, happening);
	begin_event(t, types[happening->kind], track, happening->time_ns);
	if (happening->kind != VT_HAPPENING_END)
		vt_protobuf_text(&t->inner, EVENT_NAME, happening->name);
	end_event(t);
	if (happening->kind != VT_HAPPENING_SPAN)
		return;
	begin_event(t, SLICE_END, track, happening->end_ns);
	end_event(t);
}

void vt_write_perfetto(struct vt_writer_job *job)
{
	const struct vt_model *model = &job->analysis->model;
	struct tracing t = { .job = job };

	t.start_ns = (uint64_t)model->start_time_ns;
	t.pid = (uint64_t)vt_db_run_get_int(job->analysis->db, "pid", 1);
	t.run = vt_hash_mix(t.pid, t.start_ns);
	vt_counters_init(&t.counters, job, MOST_EVENTS, NR_BUCKETS);
	t.is_declared = vt_xcalloc((size_t)t.counters.nr + 1, 1);
	t.has_device = vt_xcalloc(INT16_MAX + 1, 1);
	put_process(&t);
	vt_happenings_play(job, put_happening, &t);
	vt_counters_play(&t.counters, put_point, &t);
	free(t.is_declared);
	free(t.has_device);
	vt_map_release(&t.lanes);
	vt_buffer_release(&t.packet);
	vt_buffer_release(&t.inner);
	vt_buffer_release(&t.value);
	vt_counters_release(&t.counters);
}
