/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/trace.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/model/captures.h"
#include "analyzer/model/segments.h"
#include "analyzer/replay/causes.h"
#include "analyzer/replay/reservations.h"

enum mapping { MAPPED_NOWHERE, MAPPED_IN_SEGMENT, MAPPED_ELSEWHERE };

/* What is carried along while the events are read in order. */
struct reading {
	struct vt_trace *trace;
	const struct vt_model *model;
	struct vt_reservations reservations;
	struct vt_map handles;  /* live vmm handle -> allocation + 1 */
	struct vt_map mapped;   /* address -> allocation + 1 of what is mapped there */
	struct vt_map segments; /* allocation of a segment -> its number */
	uint8_t *mapping;       /* by allocation: enum mapping of its handle */
	size_t first_given;     /* first change of the current gap between steps */
	enum vt_cause cause;    /* of what was given back in it */
	int64_t given_event;
	uint64_t given_used_bytes; /* before that */
	uint64_t used_bytes;
	uint64_t max_used_bytes;
};

static struct vt_key key(uint64_t number)
{
	return (struct vt_key){ .a = number };
}

static void put(struct vt_map *map, uint64_t from, uint64_t to)
{
	vt_map_put(map, key(from), to + 1);
}

static uint32_t get(const struct vt_map *map, uint64_t from)
{
	const uint64_t *value = vt_map_find(map, key(from));

	return value ? (uint32_t)(*value - 1) : VT_NO_INDEX;
}

static void add_step(struct reading *reading, uint32_t index, enum vt_trace_op op)
{
	struct vt_trace_step step = { .allocation = index, .op = op };

	vt_vector_push(&reading->trace->steps, step);
}

static void empty_cache(struct reading *reading)
{
	struct vt_trace *trace = reading->trace;

	add_step(reading, (uint32_t)trace->emptied.len, VT_TRACE_EMPTY_CACHE);
	vt_vector_push(&trace->emptied, vt_allocation_event(reading->given_event));
}

/* Whether what was taken from the driver in this gap would not have fitted without giving back. */
static int was_needed(const struct reading *reading)
{
	const struct vt_trace *trace = reading->trace;
	uint64_t bytes = 0;

	for (size_t i = reading->first_given; i < trace->changes.len; i++)
		if (trace->changes.items[i].op == VT_SEGMENT_TAKE ||
		    trace->changes.items[i].op == VT_SEGMENT_MAP)
			bytes += trace->changes.items[i].bytes;
	return bytes && reading->given_used_bytes + bytes > trace->capacity_bytes;
}

/* The gap before a step is over.  What no request needed to be given back was empty_cache(). */
static void close_gap(struct reading *reading)
{
	struct vt_trace *trace = reading->trace;

	if (!reading->given_event)
		return;
	if (reading->cause == VT_CAUSE_EMPTY_CACHE ||
	    (reading->cause == VT_CAUSE_UNKNOWN && !was_needed(reading)))
		empty_cache(reading);
	trace->is_collected |= reading->cause == VT_CAUSE_COLLECTION;
	reading->given_event = 0;
}

static void add_change(struct reading *reading, struct vt_trace_change change)
{
	struct vt_trace *trace = reading->trace;

	vt_vector_push(&trace->changes, change);
}

static void note_given(struct reading *reading, int64_t event, const struct vt_allocation *a)
{
	if (!reading->given_event) {
		reading->given_event = event;
		reading->first_given = reading->trace->changes.len;
		reading->given_used_bytes = reading->used_bytes;
		reading->cause = VT_CAUSE_UNKNOWN;
	}
	if (a && reading->cause == VT_CAUSE_UNKNOWN)
		reading->cause = vt_causes_find(reading->model, a->common->freed->native_stack,
						a->common->freed->python_stack);
}

static uint32_t add_segment(struct vt_trace *trace, struct vt_trace_segment segment)
{
	segment.given_event = VT_NEVER;
	vt_vector_push(&trace->segments, segment);
	return (uint32_t)trace->segments.len - 1;
}

/* The private pool of the segment, or granule, that the allocation with that index is. */
static void join_pool(const struct reading *reading, struct vt_trace_segment *segment,
		      uint32_t index)
{
	const struct vt_segment *found = vt_segments_find(reading->model, index);

	if (!found || !found->capture || segment->pool)
		return;
	segment->pool = found->capture;
	segment->kept_until = vt_captures_pool_gone(reading->model, found->capture);
}

static int is_small_segment(const struct vt_trace *trace, uint64_t size_bytes)
{
	return size_bytes == vt_settings_segment(&trace->settings, 1);
}

static void take_segment(struct reading *reading, uint32_t index)
{
	const struct vt_allocation *a = &reading->model->allocations[index];
	struct vt_trace *trace = reading->trace;
	uint32_t number = add_segment(
		trace, (struct vt_trace_segment){
			       .address = a->address,
			       .size_bytes = a->common->size_bytes,
			       .taken_event = a->event,
			       .is_small = (uint8_t)is_small_segment(trace, a->common->size_bytes),
		       });

	join_pool(reading, &trace->segments.items[number], index);
	put(&reading->segments, index, number);
	add_change(reading, (struct vt_trace_change){ a->event, a->address, a->common->size_bytes,
						      number, VT_SEGMENT_TAKE });
}

static void give_segment(struct reading *reading, uint32_t index)
{
	const struct vt_allocation *a = &reading->model->allocations[index];
	uint32_t number = get(&reading->segments, index);

	if (number == VT_NO_INDEX)
		return;
	note_given(reading, a->freed_event, a);
	reading->trace->segments.items[number].given_event = a->freed_event;
	add_change(reading,
		   (struct vt_trace_change){ a->freed_event, a->address, a->common->size_bytes,
					     number, VT_SEGMENT_GIVE_BACK });
}

/* The expandable segment of this device around an address, NULL where it is none. */
static struct vt_reservation *run_at(struct reading *reading, uint64_t address, int64_t event)
{
	struct vt_reservation *r = vt_reservations_at(&reading->reservations, address, event);
	struct vt_trace *trace = reading->trace;

	if (!r || !r->has_blocks || r->device != trace->device)
		return NULL;
	if (r->segment == VT_NO_INDEX)
		r->segment = add_segment(trace, (struct vt_trace_segment){
							.address = r->address,
							.size_bytes = r->size_bytes,
							.taken_event = r->event,
							.is_small = (uint8_t)is_small_segment(
								trace, r->granule_bytes),
							.is_expandable = 1,
						});
	return r;
}

static void map_or_unmap(struct reading *reading, const struct vt_other_event *event)
{
	int is_map = event->op == VT_OP_MAP;
	struct vt_reservation *r = run_at(reading, event->address, event->event);
	uint32_t owner = get(is_map ? &reading->handles : &reading->mapped,
			     is_map ? event->extra : event->address);

	if (!r)
		return;
	if (is_map && owner != VT_NO_INDEX) {
		join_pool(reading, &reading->trace->segments.items[r->segment], owner);
		put(&reading->mapped, event->address, owner);
	}
	if (!is_map)
		note_given(reading, event->event,
			   owner == VT_NO_INDEX ? NULL : &reading->model->allocations[owner]);
	add_change(reading, (struct vt_trace_change){ event->event, event->address,
						     event->size_bytes, r->segment,
						     is_map ? VT_SEGMENT_MAP : VT_SEGMENT_UNMAP });
}

/* Destroying a graph, or ending a capture in vain, may leave pools that nothing needs. */
static void end_pools(struct reading *reading, int64_t event)
{
	const struct vt_model *model = reading->model;

	for (uint32_t i = 0; i < model->nr_captures; i++) {
		uint32_t pool = i + 1;

		if (model->captures[i].pool != pool || vt_captures_pool_gone(model, pool) != event)
			continue;
		close_gap(reading);
		add_step(reading, pool, VT_TRACE_POOL_GONE);
	}
}

static void take_other_event(struct reading *reading, const struct vt_other_event *event)
{
	struct vt_reservation *r;

	if (event->op == VT_OP_MAP || event->op == VT_OP_UNMAP) {
		map_or_unmap(reading, event);
	} else if (event->op == VT_OP_UNRESERVE) {
		r = run_at(reading, event->address, event->event);
		if (r)
			reading->trace->segments.items[r->segment].given_event = event->event;
	} else if (event->op == VT_OP_DESTROY || event->op == VT_OP_UNBIND ||
		   event->op == VT_OP_CAPTURE_END) {
		end_pools(reading, event->event);
	}
}

static uint32_t segment_of_block(struct reading *reading, const struct vt_allocation *block)
{
	const struct vt_reservation *r;

	if (block->container != VT_NO_CONTAINER &&
	    reading->model->allocations[block->container].common->kind == VT_KIND_SEGMENT)
		return get(&reading->segments, block->container);
	r = run_at(reading, block->address, block->event);
	return r ? r->segment : VT_NO_INDEX;
}

/*
 * A block that was asked for with a stream given explicitly is recorded with the current one: the
 * majority of a segment's blocks is right (Boyer and Moore's vote, in one pass).
 */
static void vote(struct reading *reading, uint32_t segment, uint64_t stream)
{
	struct vt_trace_segment *of = &reading->trace->segments.items[segment];

	if (!of->nr_votes)
		of->stream_id = stream;
	of->nr_votes += of->stream_id == stream ? 1 : (uint32_t)-1;
}

static void take_block(struct reading *reading, uint32_t index)
{
	const struct vt_allocation *block = &reading->model->allocations[index];
	struct vt_trace *trace = reading->trace;
	uint32_t segment = segment_of_block(reading, block);

	close_gap(reading);
	trace->nr_blocks++;
	trace->nr_homeless += segment == VT_NO_INDEX;
	if (segment != VT_NO_INDEX)
		vote(reading, segment, block->common->made->stream);
	if (segment != VT_NO_INDEX)
		vt_narrow_set(&trace->block_segments, index, segment + 1);
	add_step(reading, index, VT_TRACE_TAKE);
}

static void count_use(struct reading *reading, uint64_t bytes, int is_more)
{
	reading->used_bytes += is_more ? bytes : 0 - bytes;
	if (reading->used_bytes > reading->max_used_bytes)
		reading->max_used_bytes = reading->used_bytes;
}

/*
 * A handle that is never mapped is the allocator's, too: when the device is full it drops the ones
 * that it made for the granules before the one that failed.
 */
static int is_others(const struct reading *reading, uint32_t index)
{
	const struct vt_allocation *a = &reading->model->allocations[index];

	if (a->common->kind == VT_KIND_VMM && reading->reservations.len)
		return reading->mapping[index] == MAPPED_ELSEWHERE;
	return vt_allocation_is_driver(a);
}

static void begin(struct reading *reading, uint32_t index)
{
	const struct vt_allocation *a = &reading->model->allocations[index];

	if (a->common->device != reading->trace->device)
		return;
	if (vt_allocation_is_driver(a))
		count_use(reading, a->common->size_bytes, 1);
	if (a->common->kind == VT_KIND_BLOCK)
		take_block(reading, index);
	else if (a->common->kind == VT_KIND_SEGMENT && a->holds_blocks)
		take_segment(reading, index);
	else if (is_others(reading, index))
		add_step(reading, index, VT_TRACE_OTHER_TAKE);
	if (a->common->kind == VT_KIND_VMM)
		put(&reading->handles, a->address, index);
}

static void end(struct reading *reading, uint32_t index)
{
	const struct vt_allocation *a = &reading->model->allocations[index];

	if (a->common->device != reading->trace->device)
		return;
	if (a->common->kind == VT_KIND_BLOCK) {
		close_gap(reading);
		add_step(reading, index, VT_TRACE_GIVE);
	} else if (a->common->kind == VT_KIND_SEGMENT && a->holds_blocks) {
		give_segment(reading, index);
	} else if (is_others(reading, index)) {
		add_step(reading, index, VT_TRACE_OTHER_GIVE);
	}
	if (vt_allocation_is_driver(a))
		count_use(reading, a->common->size_bytes, 0);
}

/*
 * A failed request bounds what there was: a new segment for it did not fit beside what was in use.
 * A limit that the program set by a call is seen only so.
 */
static void fail(struct reading *reading, uint32_t index)
{
	const struct vt_out_of_memory *oom = &reading->model->ooms[index];
	struct vt_trace *trace = reading->trace;
	uint64_t rounded = vt_settings_round(&trace->settings, oom->requested_bytes);
	uint64_t needed = vt_settings_segment(&trace->settings, rounded);

	if (oom->device != trace->device)
		return;
	close_gap(reading);
	trace->failed_segments[index] = add_segment(
		trace,
		(struct vt_trace_segment){ .taken_event = oom->event,
					   .is_request = 1,
					   .stream_id = oom->stream,
					   .is_small = (uint8_t)vt_settings_is_small(rounded) });
	add_step(reading, index, VT_TRACE_FAILED);
	if (trace->settings.is_expandable)
		return;
	if (trace->capacity_bytes >= reading->used_bytes + needed)
		trace->capacity_bytes = reading->used_bytes + needed - 1;
}

static void read_moment(struct reading *reading, const struct vt_moment *moment)
{
	switch (moment->what) {
	case VT_MOMENT_ALLOC:
		begin(reading, moment->index);
		break;
	case VT_MOMENT_FREE:
		end(reading, moment->index);
		break;
	case VT_MOMENT_OTHER:
		take_other_event(reading, &reading->model->events[moment->index]);
		break;
	case VT_MOMENT_OUT_OF_MEMORY:
		fail(reading, moment->index);
		break;
	default:
		break;
	}
}

/* Which physical memory lies behind expandable segments: it comes before its map, so first. */
static void find_granules(struct reading *reading, const struct vt_timeline *timeline)
{
	const struct vt_model *model = reading->model;

	for (uint32_t i = 0; reading->reservations.len && i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		const struct vt_other_event *event = &model->events[moment->index];
		const struct vt_reservation *r;
		uint32_t owner;

		if (moment->what == VT_MOMENT_ALLOC &&
		    model->allocations[moment->index].common->kind == VT_KIND_VMM)
			put(&reading->handles, model->allocations[moment->index].address,
			    moment->index);
		if (moment->what != VT_MOMENT_OTHER || event->op != VT_OP_MAP)
			continue;
		r = vt_reservations_at(&reading->reservations, event->address, event->event);
		owner = get(&reading->handles, event->extra);
		if (owner != VT_NO_INDEX)
			reading->mapping[owner] =
				r && r->has_blocks ? MAPPED_IN_SEGMENT : MAPPED_ELSEWHERE;
	}
	vt_map_clear(&reading->handles);
}

int vt_trace_settings(struct vt_settings *settings, struct vt_db *db, struct vt_diag *diag)
{
	/* Since 2.9 the second name is read where the first is not set. */
	static const char *const names[] = { "env:PYTORCH_CUDA_ALLOC_CONF",
					     "env:PYTORCH_ALLOC_CONF" };
	char *version = vt_db_run_get(db, "torch"), *text = NULL;
	int rc;

	vt_settings_init(settings, version);
	for (size_t i = 0; i < VT_ARRAY_SIZE(names) && !text; i++)
		text = vt_db_run_get(db, names[i]);
	rc = text ? vt_settings_parse(settings, text, diag) : 0;
	free(text);
	free(version);
	return rc;
}

static void read_device(struct vt_trace *trace)
{
	const struct vt_device *device = vt_model_device(trace->model, trace->device);

	trace->device_bytes = device ? device->total_bytes : 0;
	trace->capacity_bytes = UINT64_MAX;
	/* Without its size: what was in use when a request failed is all that there was. */
	for (uint32_t i = 0; !trace->device_bytes && i < trace->model->nr_ooms; i++)
		if (trace->model->ooms[i].device == trace->device)
			trace->capacity_bytes = 0;
	if (!trace->device_bytes)
		return;
	trace->capacity_bytes = trace->device_bytes;
	if (device->has_context && device->context_bytes < trace->device_bytes)
		trace->capacity_bytes -= device->context_bytes;
}

/* Blocks decide: settings changed by a call are not in the environment. */
static void correct_settings(struct vt_trace *trace)
{
	for (size_t i = 0; i < trace->segments.len; i++)
		if (!trace->segments.items[i].is_request) {
			trace->settings.is_expandable = trace->segments.items[i].is_expandable;
			return;
		}
}

int vt_trace_has_blocks(const struct vt_model *model, int device)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->kind == VT_KIND_BLOCK &&
		    model->allocations[i].common->device == device)
			return 1;
	return 0;
}

static int is_usable(const struct vt_trace *trace, struct vt_diag *diag)
{
	const char *why = NULL;

	if (!trace->settings.is_native)
		why = "backend:cudaMallocAsync leaves placing to the driver, which cannot be "
		      "replayed";
	else if (!trace->nr_blocks)
		why = "no blocks of PyTorch's caching allocator on this device: there is nothing "
		      "to replay";
	else if (trace->nr_homeless > trace->nr_blocks / 2)
		why = "its blocks lie in no memory that was recorded: there is nothing to replay";
	if (why)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", vt_db_path(trace->model->db), why);
	return !why;
}

int vt_trace_init(struct vt_trace *trace, const struct vt_timeline *timeline, int device,
		 const struct vt_settings *settings, struct vt_diag *diag)
{
	const struct vt_model *model = timeline->model;
	struct reading reading = { .trace = trace, .model = model };

	memset(trace, 0, sizeof(*trace));
	trace->model = model;
	trace->device = device;
	trace->settings = *settings;
	read_device(trace);
	vt_narrow_init(&trace->block_segments, model->nr_allocations);
	trace->failed_segments =
		vt_xcalloc((size_t)model->nr_ooms + 1, sizeof(*trace->failed_segments));
	reading.mapping = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	vt_reservations_find(&reading.reservations, timeline);
	find_granules(&reading, timeline);
	/* Nearly every moment is a step: a vector that doubles would take twice as much. */
	vt_vector_reserve(&trace->steps, timeline->nr);
	for (uint32_t i = 0; i < timeline->nr; i++)
		read_moment(&reading, &timeline->moments[i]);
	close_gap(&reading);
	if (trace->capacity_bytes < reading.max_used_bytes)
		trace->capacity_bytes = reading.max_used_bytes;
	correct_settings(trace);
	vt_reservations_release(&reading.reservations);
	vt_map_release(&reading.handles);
	vt_map_release(&reading.mapped);
	vt_map_release(&reading.segments);
	free(reading.mapping);
	return is_usable(trace, diag) ? 0 : -1;
}

void vt_trace_release(struct vt_trace *trace)
{
	vt_vector_release(&trace->steps);
	vt_vector_release(&trace->changes);
	vt_vector_release(&trace->segments);
	vt_vector_release(&trace->laps.items);
	vt_vector_release(&trace->laps.kinds);
	vt_vector_release(&trace->laps.distances);
	vt_vector_release(&trace->emptied);
	vt_narrow_release(&trace->block_segments);
	free(trace->failed_segments);
	free(trace->guessed_bytes);
	trace->guessed_bytes = NULL;
}
