/* SPDX-License-Identifier: MIT */
#include "analyzer/report/frag.h"

#include "analyzer/analysis/limits.h"
#include "analyzer/output/json.h"
#include "analyzer/report/stacks_json.h"

static json_t *totals_json(const struct vt_layout_totals *totals)
{
	json_t *object = json_object();

	vt_json_set(object, "reserved_bytes", totals->reserved_bytes);
	vt_json_set(object, "allocated_bytes", totals->allocated_bytes);
	vt_json_set(object, "cached_bytes", totals->cached_bytes);
	vt_json_set(object, "free_segment_bytes", totals->free_bytes);
	vt_json_set(object, "pinned_bytes", totals->pinned_bytes);
	vt_json_set(object, "largest_free_bytes", totals->largest_free_bytes);
	vt_json_set(object, "free_pieces", totals->nr_free);
	vt_json_set(object, "segments", totals->nr_segments);
	return object;
}

static json_t *samples_json(const struct vt_frag_device *device)
{
	json_t *array = json_array();

	for (size_t i = 0; i < device->samples.len; i++) {
		json_t *object = totals_json(&device->samples.items[i].totals);

		vt_json_set(object, "event", device->samples.items[i].event);
		vt_json_set(object, "time_ns", device->samples.items[i].time_ns);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *account_json(const struct vt_frag_device *device)
{
	const struct vt_layout_account *account = &device->account;
	json_t *object = json_object();

	vt_json_set(object, "request_bytes", account->request_bytes);
	vt_json_set(object, "segment_bytes", account->segment_bytes);
	vt_json_set(object, "stream", device->request_stream);
	vt_json_set(object, "serving_bytes", account->serving_bytes);
	vt_json_set(object, "too_small_bytes", account->too_small_bytes);
	vt_json_set(object, "other_pool_bytes", account->other_pool_bytes);
	vt_json_set(object, "other_stream_bytes", account->other_stream_bytes);
	vt_json_set(object, "private_pool_bytes", account->private_pool_bytes);
	vt_json_set(object, "unsplittable_bytes", account->unsplittable_bytes);
	vt_json_set(object, "returnable_bytes", account->returnable_bytes);
	vt_json_set_if(object, "device_free_bytes", !(account->device_free_bytes == UINT64_MAX),
		       account->device_free_bytes);
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
		vt_json_set(object, "address", piece->address);
		vt_json_set(object, "size_bytes", piece->size_bytes);
		vt_json_set_if(object, "block", piece->is_allocated,
			       model->allocations[piece->holder].event);
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
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "address", of->address);
		vt_json_set(object, "size_bytes", segment->mapped_bytes);
		vt_json_set(object, "pool", of->is_small ? "small" : "large");
		vt_json_set(object, "expandable", json_boolean(of->is_expandable));
		vt_json_set(object, "stream", of->stream);
		vt_json_set_if(object, "private_pool", of->pool, of->pool);
		vt_json_set(object, "allocated_bytes", segment->allocated_bytes);
		vt_json_set(object, "free_segment_bytes", segment->free_bytes);
		vt_json_set(object, "pinned_bytes", segment->pinned_bytes);
		vt_json_set(object, "pieces", pieces_json(device, segment->segment));
	}
	return array;
}

static json_t *pins_json(struct vt_frag *frag, const struct vt_frag_device *device)
{
	json_t *array = json_array();

	for (size_t i = 0; i < device->pins.len; i++) {
		const struct vt_frag_pin *pin = &device->pins.items[i];
		const struct vt_allocation *a = &device->trace->model->allocations[pin->allocation];
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "pinned_bytes", pin->pinned_bytes);
		vt_json_set(object, "bytes", pin->size_bytes);
		vt_json_set(object, "blocks", pin->blocks);
		vt_json_set(object, "owner",
			    vt_attribution_owner(&frag->analysis->attribution, pin->owner));
		vt_stacks_json_set(object, &frag->describe, a);
	}
	return array;
}

static json_t *device_json(struct vt_frag *frag, const struct vt_frag_device *device)
{
	json_t *object = json_object(), *at = totals_json(&device->layout.totals);
	int64_t time_ns = vt_timeline_time(&frag->analysis->timeline, device->event);

	vt_json_set(object, "id", device->trace->device);
	vt_json_set(object, "peak_reserved_bytes", device->peak_reserved_bytes);
	vt_json_set(object, "peak_allocated_bytes", device->peak_allocated_bytes);
	vt_json_set(object, "lower_bound_bytes", device->peak_requested_bytes);
	vt_json_set_if(object, "packed_bytes", device->packed_bytes, device->packed_bytes);
	vt_json_set(object, "utilisation", vt_frag_utilisation(device));
	vt_json_set(object, "streams", device->ready->nr_streams);
	vt_json_set(object, "requests_bounded", device->ready->requests.nr_blocks);
	vt_json_set(object, "samples", samples_json(device));
	vt_json_set(at, "event", device->event);
	vt_json_set(at, "time_ns", time_ns);
	vt_json_set(at, "internal_bytes", device->rounding_bytes + device->tail_bytes);
	vt_json_set(at, "rounding_bytes", device->rounding_bytes);
	vt_json_set(at, "tail_bytes", device->tail_bytes);
	vt_json_set(at, "request", account_json(device));
	vt_json_set(at, "map", segments_json(device));
	vt_json_set(at, "pinned_by", pins_json(frag, device));
	vt_json_set(object, "at", at);
	return object;
}

void vt_frag_print_json(struct vt_frag *frag, FILE *out)
{
	json_t *object = json_object(), *array = json_array();

	for (uint32_t i = 0; i < frag->nr_devices; i++)
		json_array_append_new(array, device_json(frag, &frag->devices[i]));
	vt_json_set(object, "format", 1);
	vt_json_set(object, "devices", array);
	vt_json_set(object, "notes", vt_limits_json(frag->analysis));
	vt_json_print(object, out);
}
