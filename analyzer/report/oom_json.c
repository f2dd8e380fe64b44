/* SPDX-License-Identifier: MIT */
#include "analyzer/report/oom.h"

#include "analyzer/analysis/books_json.h"
#include "analyzer/model/when.h"
#include "analyzer/output/json.h"
#include "analyzer/report/stacks_json.h"

static void set_bytes(json_t *object, const char *key, uint64_t bytes)
{
	json_object_set_new(object, key,
			    bytes == UINT64_MAX ? json_null() : vt_json_integer(bytes));
}

static json_t *account_json(const struct vt_oom *oom, const struct vt_frag_device *device)
{
	const struct vt_layout_account *account = &device->account;
	json_t *object = json_object();

	set_bytes(object, "rounded_bytes", account->request_bytes);
	set_bytes(object, "segment_bytes", account->segment_bytes);
	set_bytes(object, "too_small_bytes", account->too_small_bytes);
	set_bytes(object, "largest_free_bytes", device->layout.totals.largest_free_bytes);
	set_bytes(object, "other_pool_bytes", account->other_pool_bytes);
	set_bytes(object, "other_stream_bytes", account->other_stream_bytes);
	set_bytes(object, "private_pool_bytes", account->private_pool_bytes);
	set_bytes(object, "unsplittable_bytes", account->unsplittable_bytes);
	set_bytes(object, "awaited_stream_bytes", account->serving_bytes);
	set_bytes(object, "device_free_bytes", oom->device_free_bytes);
	return object;
}

static json_t *pins_json(const struct vt_oom *oom, const struct vt_frag_device *device)
{
	json_t *array = json_array();

	for (size_t i = 0; i < device->pins.len; i++) {
		const struct vt_frag_pin *pin = &device->pins.items[i];
		const struct vt_allocation *a = &oom->analysis->model.allocations[pin->allocation];
		json_t *object = json_object();

		set_bytes(object, "pinned_bytes", pin->pinned_bytes);
		set_bytes(object, "bytes", pin->size_bytes);
		json_object_set_new(object, "blocks", json_integer(pin->blocks));
		json_object_set_new(
			object, "owner",
			vt_json_text(vt_attribution_owner(&oom->analysis->attribution,
							  pin->owner)));
		vt_stacks_json_set(object, oom->describe, a);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *remedies_json(const struct vt_oom_remedies *remedies)
{
	json_t *array = json_array();

	for (int i = 0; i < VT_NR_REMEDIES; i++) {
		const struct vt_oom_remedy *remedy = &remedies->items[i];
		json_t *object = json_object();

		json_object_set_new(object, "setting", vt_json_text(remedy->text));
		json_object_set_new(object, "already_on", json_boolean(remedy->is_on));
		json_object_set_new(object, "serves", json_boolean(remedy->is_served));
		json_object_set_new(object, "fails_at_event",
				    remedy->failed_event ? json_integer(remedy->failed_event)
							 : json_null());
		set_bytes(object, "peak_reserved_bytes", remedy->reserved_bytes);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *number_or_null(uint64_t number)
{
	return number ? vt_json_integer(number) : json_null();
}

static json_t *smaller_json(const struct vt_smaller *smaller)
{
	json_t *object;

	if (!smaller->batch)
		return json_null();
	object = json_object();
	json_object_set_new(object, "batch", number_or_null(smaller->batch));
	json_object_set_new(object, "length", number_or_null(smaller->length));
	json_object_set_new(object, "fits_batch", number_or_null(smaller->fits_batch));
	json_object_set_new(object, "fits_length", number_or_null(smaller->fits_length));
	json_object_set_new(object, "whole_step", json_boolean(smaller->has_whole_step));
	return object;
}

static json_t *whole_json(const struct vt_whole_step *whole)
{
	json_t *object;

	if (!whole->is_unseen)
		return json_null();
	object = json_object();
	set_bytes(object, "gradient_bytes", whole->gradient_bytes);
	set_bytes(object, "parameter_bytes", whole->parameter_bytes);
	set_bytes(object, "optimizer_state_bytes", whole->state_bytes);
	json_object_set_new(object, "layers", json_integer(whole->nr_layers));
	json_object_set_new(object, "layers_left", json_integer(whole->nr_layers_left));
	set_bytes(object, "layers_left_bytes", whole->layer_bytes);
	json_object_set_new(object, "no_batch_above",
			    whole->has_most ? vt_json_integer(whole->most_batch) : json_null());
	return object;
}

static json_t *next_json(const struct vt_oom *oom)
{
	struct vt_attribution *attribution = &oom->analysis->attribution;
	const struct vt_next_passes *next = &oom->next;
	json_t *object;

	if (!next->nr)
		return json_null();
	object = json_object();
	json_object_set_new(object, "each", json_string(next->is_decoding ? "token" : "batch"));
	set_bytes(object, "bytes", next->bytes_each);
	json_object_set_new(object, "seen", json_integer(next->nr));
	json_object_set_new(object, "at_most_more", json_integer(next->more));
	json_object_set_new(
		object, "owner",
		vt_json_text(vt_attribution_owner(
			attribution,
			vt_attribution_judge(attribution, next->allocation).owner)));
	return object;
}

static void set_replayed(json_t *object, const struct vt_oom *oom)
{
	const struct vt_frag_device *device = vt_oom_device(oom);
	int is_exact = device && vt_replay_is_exact(&oom->remedies.recorded);

	json_object_set_new(object, "cause", vt_json_text(vt_oom_causes[oom->cause]));
	set_bytes(object, "missing_bytes", oom->missing_bytes);
	set_bytes(object, "kept_for_backward_bytes", oom->kept_bytes);
	json_object_set_new(object, "not_replayed",
			    device ? json_null() : vt_json_text(oom->unplayed.text));
	json_object_set_new(object, "replay_exact", json_boolean(is_exact));
	json_object_set_new(object, "free", device ? account_json(oom, device) : json_null());
	json_object_set_new(object, "pinned_by", device ? pins_json(oom, device) : json_array());
	json_object_set_new(object, "remedies",
			    device ? remedies_json(&oom->remedies) : json_array());
	json_object_set_new(object, "smaller",
			    device ? smaller_json(&oom->smaller) : json_null());
	json_object_set_new(object, "still_to_come",
			    device ? whole_json(&oom->whole) : json_null());
}

static json_t *failures_json(const struct vt_oom *oom)
{
	const struct vt_model *model = &oom->analysis->model;
	json_t *array = json_array();

	for (uint32_t i = 0; i < model->nr_ooms; i++) {
		const struct vt_out_of_memory *failed = &model->ooms[i];
		const struct vt_producer producer = vt_producer_of_failed(model, failed);
		json_t *object;

		if (oom->device != VT_WHEN_ALL_DEVICES && failed->device != oom->device)
			continue;
		object = json_object();
		json_object_set_new(object, "event", json_integer(failed->event));
		json_object_set_new(object, "time_ns", json_integer(failed->time_ns));
		json_object_set_new(object, "device", json_integer(failed->device));
		set_bytes(object, "requested_bytes", failed->requested_bytes);
		json_object_set_new(object, "python",
				    vt_json_lines(vt_producer_python(oom->describe,
								     &producer)));
		json_array_append_new(array, object);
	}
	return array;
}

static void set_own_line(json_t *object, const struct vt_oom *oom)
{
	char *line = vt_producer_own_line(oom->describe, &oom->producer);

	json_object_set_new(object, "own_line", vt_json_text(line));
	free(line);
}

json_t *vt_oom_json(const struct vt_oom *oom)
{
	json_t *object;

	if (!oom->oom)
		return json_null();
	object = json_object();
	json_object_set_new(object, "device", json_integer(oom->oom->device));
	json_object_set_new(object, "requested_bytes", vt_json_integer(oom->oom->requested_bytes));
	json_object_set_new(object, "requested_for", vt_json_text(oom->owner));
	json_object_set_new(object, "requests_failed", json_integer(oom->nr_ooms));
	json_object_set_new(object, "failures", failures_json(oom));
	vt_peak_context_json(&oom->place, object);
	vt_books_json_set(object, &oom->books);
	json_object_set_new(
		object, "python",
		vt_json_lines(vt_producer_python(oom->describe, &oom->producer)));
	json_object_set_new(
		object, "native",
		vt_json_lines(vt_describe_native(oom->describe, oom->oom->native_stack)));
	set_own_line(object, oom);
	json_object_set_new(object, "further_passes", next_json(oom));
	set_replayed(object, oom);
	return object;
}
