/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/diff_json.h"

#include "analyzer/diff/figures.h"
#include "analyzer/diff/verdict.h"
#include "analyzer/model/producer.h"
#include "analyzer/output/json.h"

static json_t *runs(const struct vt_runs *all)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < all->nr; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "what", vt_json_text(all->rows[i].what));
		json_object_set_new(object, "base", vt_json_text(all->rows[i].text[0]));
		json_object_set_new(object, "new", vt_json_text(all->rows[i].text[1]));
		json_array_append_new(array, object);
	}
	return array;
}

static void set_bytes(json_t *object, const uint64_t *bytes)
{
	json_object_set_new(object, "base_bytes", vt_json_integer(bytes[VT_DIFF_BASE]));
	json_object_set_new(object, "new_bytes", vt_json_integer(bytes[VT_DIFF_NEW]));
	json_object_set_new(object, "change_bytes",
			    json_integer((json_int_t)(bytes[VT_DIFF_NEW] - bytes[VT_DIFF_BASE])));
}

/* With how far equal runs lie apart, and whether the difference says more than that. */
static void set_change(json_t *object, const struct vt_diff_device *device, const uint64_t *bytes,
		       uint64_t noise_bytes)
{
	set_bytes(object, bytes);
	json_object_set_new(object, "noise_bytes", vt_json_integer(noise_bytes));
	json_object_set_new(object, "is_change",
			    json_boolean(vt_diff_is_change(device, bytes, noise_bytes)));
}

static json_t *total_json(const struct vt_diff_device *device, const uint64_t *bytes,
			  uint64_t noise_bytes)
{
	json_t *object = json_object();

	set_change(object, device, bytes, noise_bytes);
	return object;
}

static json_t *owners(const struct vt_diff_device *device)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < device->nr_owners; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "owner", vt_json_text(device->owners[i].owner));
		set_change(object, device, device->owners[i].bytes, device->owners[i].noise_bytes);
		json_object_set_new(object, "is_rest",
				    json_boolean(device->owners[i].is_rest));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *stack_of(const struct vt_diff *diff, const struct vt_change *change, int side)
{
	if (change->allocation[side] == VT_NO_INDEX)
		return json_array();
	return vt_json_lines(vt_producer_lines(
		&diff->sides[side]->describe,
		&diff->sides[side]->analysis.model.allocations[change->allocation[side]]));
}

static json_t *change_json(const struct vt_diff *diff, const struct vt_diff_device *device,
			   const struct vt_change *change)
{
	json_t *object = json_object();

	json_object_set_new(object, "what", vt_json_text(vt_figures_word(change->bytes)));
	set_change(object, device, change->bytes, change->noise_bytes);
	json_object_set_new(object, "base_blocks", json_integer(change->blocks[VT_DIFF_BASE]));
	json_object_set_new(object, "new_blocks", json_integer(change->blocks[VT_DIFF_NEW]));
	if (diff->options->by != VT_CHANGES_BY_STACK) {
		json_object_set_new(object, vt_changes_word(diff->options->by),
				    vt_json_text(change->name));
		return object;
	}
	json_object_set_new(object, "base_owner", vt_json_text(change->owner[VT_DIFF_BASE]));
	json_object_set_new(object, "new_owner", vt_json_text(change->owner[VT_DIFF_NEW]));
	json_object_set_new(object, "base_stack", stack_of(diff, change, VT_DIFF_BASE));
	json_object_set_new(object, "new_stack", stack_of(diff, change, VT_DIFF_NEW));
	return object;
}

static json_t *places(const struct vt_diff *diff, const struct vt_diff_device *device)
{
	const struct vt_changes *changes = &device->changes;
	json_t *array = json_array();

	for (uint32_t i = 0; i < changes->nr && i < diff->options->top; i++)
		json_array_append_new(array, change_json(diff, device, &changes->items[i]));
	return array;
}

static json_t *moved(const struct vt_changes *changes)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < changes->moves.nr; i++) {
		const struct vt_change_move *move = &changes->moves.items[i];
		json_t *object = json_object();

		json_object_set_new(object, "base", vt_json_text(move->from));
		json_object_set_new(object, "new", vt_json_text(move->to));
		json_object_set_new(object, "bytes", vt_json_integer(move->bytes));
		json_object_set_new(object, "blocks", json_integer(move->blocks));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *device_json(const struct vt_diff *diff, const struct vt_diff_device *device)
{
	json_t *object = json_object();

	json_object_set_new(object, "id", json_integer(device->device));
	json_object_set_new(object, "process_used",
			    total_json(device, device->peak_bytes, device->peak_noise_bytes));
	json_object_set_new(object, "allocated",
			    total_json(device, device->most_allocated_bytes,
				       device->allocated_noise_bytes));
	json_object_set_new(object, "base_doing", vt_json_text(device->sides[VT_DIFF_BASE]->doing));
	json_object_set_new(object, "new_doing", vt_json_text(device->sides[VT_DIFF_NEW]->doing));
	json_object_set_new(object, "noise_bytes", vt_json_integer(device->noise_bytes));
	json_object_set_new(object, "spread_bytes", vt_json_integer(device->spread_bytes));
	json_object_set_new(object, "used_spread_bytes",
			    vt_json_integer(device->used_spread_bytes));
	json_object_set_new(object, "owners", owners(device));
	json_object_set_new(object, "places", places(diff, device));
	json_object_set_new(object, "moved", moved(&device->changes));
	json_object_set_new(object, "places_differing", json_integer(device->changes.nr));
	json_object_set_new(object, "places_equal", json_integer(device->changes.nr_equal));
	return object;
}

static json_t *failed(const struct vt_diff *diff, const struct vt_threshold *thresholds,
		      unsigned nr_thresholds)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < nr_thresholds; i++)
		for (uint32_t d = 0; d < diff->nr_devices; d++) {
			uint64_t bytes[VT_DIFF_SIDES];
			json_t *object;

			if (!vt_fail_on_is_exceeded(&thresholds[i], diff, &diff->devices[d],
						       bytes))
				continue;
			object = json_object();
			json_object_set_new(object, "threshold", vt_json_text(thresholds[i].text));
			json_object_set_new(object, "device",
					    json_integer(diff->devices[d].device));
			set_bytes(object, bytes);
			json_array_append_new(array, object);
		}
	return array;
}

static json_t *incomplete(const struct vt_diff *diff)
{
	static const char *const names[VT_DIFF_SIDES] = { "base", "new" };
	json_t *object = json_object();

	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		char *text = vt_diff_incomplete(diff, side);

		json_object_set_new(object, names[side], vt_json_text(text));
		free(text);
	}
	return object;
}

static json_t *paths(const struct vt_diff *diff, int side)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < diff->nr_recordings[side]; i++)
		json_array_append_new(
			array,
			vt_json_text(vt_db_path(diff->recordings[side][i].analysis.db)));
	return array;
}

json_t *vt_diff_json(struct vt_diff *diff, const struct vt_threshold *thresholds,
		     unsigned nr_thresholds)
{
	json_t *object = json_object(), *devices = json_array();
	char *verdict = vt_verdict_make(diff);

	json_object_set_new(object, "format", json_integer(1));
	json_object_set_new(object, "base",
			    vt_json_text(vt_db_path(diff->sides[VT_DIFF_BASE]->analysis.db)));
	json_object_set_new(object, "new",
			    vt_json_text(vt_db_path(diff->sides[VT_DIFF_NEW]->analysis.db)));
	json_object_set_new(object, "base_recordings", paths(diff, VT_DIFF_BASE));
	json_object_set_new(object, "new_recordings", paths(diff, VT_DIFF_NEW));
	json_object_set_new(object, "at", vt_json_text(diff->options->when));
	json_object_set_new(object, "by", vt_json_text(vt_changes_word(diff->options->by)));
	json_object_set_new(object, "verdict", vt_json_text(verdict));
	json_object_set_new(object, "is_different", json_boolean(vt_diff_is_different(diff)));
	json_object_set_new(object, "runs", runs(&diff->runs));
	json_object_set_new(object, "incomplete", incomplete(diff));
	for (uint32_t i = 0; i < diff->nr_devices; i++)
		json_array_append_new(devices, device_json(diff, &diff->devices[i]));
	json_object_set_new(object, "devices", devices);
	json_object_set_new(object, "failed", failed(diff, thresholds, nr_thresholds));
	free(verdict);
	return object;
}
