/* SPDX-License-Identifier: MIT */
#include "analyzer/report/frag.h"

#include "analyzer/report/json.h"
#include "analyzer/report/limits.h"

static void set_bytes(json_t *object, const char *key, uint64_t bytes)
{
	json_object_set_new(object, key, vt_json_integer(bytes));
}

static json_t *totals_json(const struct vt_layout_totals *totals)
{
	json_t *object = json_object();

	set_bytes(object, "reserved_bytes", totals->reserved_bytes);
	set_bytes(object, "allocated_bytes", totals->allocated_bytes);
	set_bytes(object, "cached_bytes", totals->cached_bytes);
	set_bytes(object, "free_segment_bytes", totals->free_bytes);
	set_bytes(object, "pinned_bytes", totals->pinned_bytes);
	set_bytes(object, "largest_free_bytes", totals->largest_free_bytes);
	json_object_set_new(object, "free_pieces", json_integer(totals->nr_free));
	json_object_set_new(object, "segments", json_integer(totals->nr_segments));
	return object;
}

static json_t *samples_json(const struct vt_frag_device *device)
{
	json_t *array = json_array();

	for (size_t i = 0; i < device->samples.len; i++) {
		json_t *object = totals_json(&device->samples.items[i].totals);

		json_object_set_new(object, "event", json_integer(device->samples.items[i].event));
		json_object_set_new(object, "time_ns",
				    json_integer(device->samples.items[i].time_ns));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *account_json(const struct vt_frag_device *device)
{
	const struct vt_layout_account *account = &device->account;
	json_t *object = json_object();

	set_bytes(object, "request_bytes", account->request_bytes);
	set_bytes(object, "segment_bytes", account->segment_bytes);
	json_object_set_new(object, "stream", json_integer(device->request_stream));
	set_bytes(object, "serving_bytes", account->serving_bytes);
	set_bytes(object, "too_small_bytes", account->too_small_bytes);
	set_bytes(object, "other_pool_bytes", account->other_pool_bytes);
	set_bytes(object, "other_stream_bytes", account->other_stream_bytes);
	set_bytes(object, "private_pool_bytes", account->private_pool_bytes);
	set_bytes(object, "unsplittable_bytes", account->unsplittable_bytes);
	set_bytes(object, "returnable_bytes", account->returnable_bytes);
	json_object_set_new(object, "device_free_bytes",
			    account->device_free_bytes == UINT64_MAX
				    ? json_null()
				    : vt_json_integer(account->device_free_bytes));
	return object;
}

/* Pieces in order of address: [size, allocation event or 0 where it is free]. */
static json_t *pieces_json(const struct vt_frag_device *device, uint32_t segment)
{
	const struct vt_model *model = device->trace->model;
	json_t *array = json_array();

	for (const struct vt_piece *piece = vt_follow_segment(&device->follow, segment); piece;
	     piece = piece->next) {
		json_t *object = json_object();

		if (!piece->is_mapped) {
			json_decref(object);
			continue;
		}
		set_bytes(object, "address", piece->address);
		set_bytes(object, "size_bytes", piece->size_bytes);
		json_object_set_new(object, "block",
				    piece->is_allocated
					    ? json_integer(model->allocations[piece->holder].event)
					    : json_null());
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *segments_json(const struct vt_frag_device *device)
{
	json_t *array = json_array();

	for (size_t i = 0; i < device->layout.segments.len; i++) {
		const struct vt_layout_segment *segment = &device->layout.segments.items[i];
		const struct vt_trace_segment *of =
			&device->trace->segments.items[segment->segment];
		json_t *object = json_object();

		set_bytes(object, "address", of->address);
		set_bytes(object, "size_bytes", segment->mapped_bytes);
		json_object_set_new(object, "pool", vt_json_text(of->is_small ? "small" : "large"));
		json_object_set_new(object, "expandable", json_boolean(of->is_expandable));
		json_object_set_new(object, "stream", json_integer(of->stream));
		json_object_set_new(object, "private_pool",
				    of->pool ? json_integer(of->pool) : json_null());
		set_bytes(object, "allocated_bytes", segment->allocated_bytes);
		set_bytes(object, "free_segment_bytes", segment->free_bytes);
		set_bytes(object, "pinned_bytes", segment->pinned_bytes);
		json_object_set_new(object, "pieces", pieces_json(device, segment->segment));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *pins_json(struct vt_frag *frag, const struct vt_frag_device *device)
{
	json_t *array = json_array();

	for (size_t i = 0; i < device->pins.len; i++) {
		const struct vt_frag_pin *pin = &device->pins.items[i];
		const struct vt_allocation *a = &device->trace->model->allocations[pin->allocation];
		json_t *object = json_object();

		set_bytes(object, "pinned_bytes", pin->pinned_bytes);
		set_bytes(object, "bytes", pin->size_bytes);
		json_object_set_new(object, "blocks", json_integer(pin->blocks));
		json_object_set_new(object, "owner",
				    vt_json_text(vt_attribution_owner(&frag->analysis->attribution,
								      pin->owner)));
		json_object_set_new(
			object, "python",
			vt_json_lines(vt_describe_python(&frag->describe, a->made->python_stack)));
		json_object_set_new(
			object, "native",
			vt_json_lines(vt_describe_native(&frag->describe, a->made->native_stack)));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *device_json(struct vt_frag *frag, const struct vt_frag_device *device)
{
	json_t *object = json_object(), *at = totals_json(&device->layout.totals);
	int64_t time_ns = vt_timeline_time(&frag->analysis->timeline, device->event);

	json_object_set_new(object, "id", json_integer(device->trace->device));
	set_bytes(object, "peak_reserved_bytes", device->peak_reserved_bytes);
	set_bytes(object, "peak_allocated_bytes", device->peak_allocated_bytes);
	set_bytes(object, "lower_bound_bytes", device->peak_requested_bytes);
	json_object_set_new(object, "utilisation", json_real(vt_frag_utilisation(device)));
	json_object_set_new(object, "streams", json_integer(device->ready->nr_streams));
	json_object_set_new(object, "requests_bounded",
			    json_integer(device->ready->requests.nr_blocks));
	json_object_set_new(object, "samples", samples_json(device));
	json_object_set_new(at, "event", json_integer(device->event));
	json_object_set_new(at, "time_ns", json_integer(time_ns));
	set_bytes(at, "internal_bytes", device->rounding_bytes + device->tail_bytes);
	set_bytes(at, "rounding_bytes", device->rounding_bytes);
	set_bytes(at, "tail_bytes", device->tail_bytes);
	json_object_set_new(at, "request", account_json(device));
	json_object_set_new(at, "map", segments_json(device));
	json_object_set_new(at, "pinned_by", pins_json(frag, device));
	json_object_set_new(object, "at", at);
	return object;
}

void vt_frag_print_json(struct vt_frag *frag, FILE *out)
{
	json_t *object = json_object(), *array = json_array();

	for (uint32_t i = 0; i < frag->nr_devices; i++)
		json_array_append_new(array, device_json(frag, &frag->devices[i]));
	json_object_set_new(object, "format", json_integer(1));
	json_object_set_new(object, "devices", array);
	json_object_set_new(object, "notes", vt_limits_json(frag->analysis));
	vt_json_print(object, out);
}
