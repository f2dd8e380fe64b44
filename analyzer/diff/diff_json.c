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

		vt_json_set(object, "what", all->rows[i].what);
		vt_json_set(object, "base", all->rows[i].text[0]);
		vt_json_set(object, "new", all->rows[i].text[1]);
		json_array_append_new(array, object);
	}
	return array;
}

static void set_bytes(json_t *object, const uint64_t *bytes)
{
	vt_json_set(object, "base_bytes", bytes[VT_DIFF_BASE]);
	vt_json_set(object, "new_bytes", bytes[VT_DIFF_NEW]);
	vt_json_set(object, "change_bytes", (json_int_t)(bytes[VT_DIFF_NEW] - bytes[VT_DIFF_BASE]));
}

/* With how far equal runs lie apart, and whether the difference says more than that. */
static void set_change(json_t *object, const struct vt_diff_device *device, const uint64_t *bytes,
		       uint64_t noise_bytes)
{
	set_bytes(object, bytes);
	vt_json_set(object, "noise_bytes", noise_bytes);
	vt_json_set(object, "is_change",
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

		vt_json_set(object, "owner", device->owners[i].owner);
		set_change(object, device, device->owners[i].bytes, device->owners[i].noise_bytes);
		vt_json_set(object, "is_rest", json_boolean(device->owners[i].is_rest));
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

	vt_json_set(object, "what", vt_figures_word(change->bytes));
	set_change(object, device, change->bytes, change->noise_bytes);
	vt_json_set(object, "base_blocks", change->blocks[VT_DIFF_BASE]);
	vt_json_set(object, "new_blocks", change->blocks[VT_DIFF_NEW]);
	if (diff->options->by != VT_CHANGES_BY_STACK) {
		vt_json_set(object, vt_changes_word(diff->options->by), change->name);
		return object;
	}
	vt_json_set(object, "base_owner", change->owner[VT_DIFF_BASE]);
	vt_json_set(object, "new_owner", change->owner[VT_DIFF_NEW]);
	vt_json_set(object, "base_stack", stack_of(diff, change, VT_DIFF_BASE));
	vt_json_set(object, "new_stack", stack_of(diff, change, VT_DIFF_NEW));
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

		vt_json_set(object, "base", move->from);
		vt_json_set(object, "new", move->to);
		vt_json_set(object, "bytes", move->bytes);
		vt_json_set(object, "blocks", move->blocks);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *device_json(const struct vt_diff *diff, const struct vt_diff_device *device)
{
	json_t *object = json_object();

	vt_json_set(object, "id", device->device);
	vt_json_set(object, "process_used",
		    total_json(device, device->peak_bytes, device->peak_noise_bytes));
	vt_json_set(
		object, "allocated",
		total_json(device, device->most_allocated_bytes, device->allocated_noise_bytes));
	vt_json_set(object, "base_doing", device->sides[VT_DIFF_BASE]->doing);
	vt_json_set(object, "new_doing", device->sides[VT_DIFF_NEW]->doing);
	vt_json_set(object, "noise_bytes", device->noise_bytes);
	vt_json_set(object, "spread_bytes", device->spread_bytes);
	vt_json_set(object, "used_spread_bytes", device->used_spread_bytes);
	vt_json_set(object, "owners", owners(device));
	vt_json_set(object, "places", places(diff, device));
	vt_json_set(object, "moved", moved(&device->changes));
	vt_json_set(object, "places_differing", device->changes.nr);
	vt_json_set(object, "places_equal", device->changes.nr_equal);
	return object;
}

static json_t *failed(const struct vt_diff *diff, const struct vt_fail_on *thresholds,
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
			vt_json_set(object, "threshold", thresholds[i].text);
			vt_json_set(object, "device", diff->devices[d].device);
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

		vt_json_set(object, names[side], text);
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

json_t *vt_diff_json(struct vt_diff *diff, const struct vt_fail_on *thresholds,
		     unsigned nr_thresholds)
{
	json_t *object = json_object(), *devices = json_array();
	char *verdict = vt_verdict_make(diff);

	vt_json_set(object, "format", 1);
	vt_json_set(object, "base", vt_db_path(diff->sides[VT_DIFF_BASE]->analysis.db));
	vt_json_set(object, "new", vt_db_path(diff->sides[VT_DIFF_NEW]->analysis.db));
	vt_json_set(object, "base_recordings", paths(diff, VT_DIFF_BASE));
	vt_json_set(object, "new_recordings", paths(diff, VT_DIFF_NEW));
	vt_json_set(object, "at", diff->options->when);
	vt_json_set(object, "by", vt_changes_word(diff->options->by));
	vt_json_set(object, "verdict", verdict);
	vt_json_set(object, "is_different", json_boolean(vt_diff_is_different(diff)));
	vt_json_set(object, "runs", runs(&diff->runs));
	vt_json_set(object, "incomplete", incomplete(diff));
	for (uint32_t i = 0; i < diff->nr_devices; i++)
		json_array_append_new(devices, device_json(diff, &diff->devices[i]));
	vt_json_set(object, "devices", devices);
	vt_json_set(object, "failed", failed(diff, thresholds, nr_thresholds));
	free(verdict);
	return object;
}
