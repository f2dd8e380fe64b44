/* SPDX-License-Identifier: MIT */
#include "analyzer/report/whatif.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/analysis/limits.h"
#include "analyzer/base/units.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

static char *settings_text(const struct vt_settings *settings)
{
	struct vt_buffer buffer;

	vt_buffer_init(&buffer);
	vt_settings_print(settings, &buffer);
	return vt_buffer_detach(&buffer);
}

static json_t *failure_json(const struct vt_replay_failure *failure)
{
	json_t *object;

	if (!failure->event)
		return json_null();
	object = json_object();
	vt_json_set(object, "event", failure->event);
	vt_json_set(object, "requested_bytes", failure->request_bytes);
	vt_json_set(object, "reserved_bytes", failure->reserved_bytes);
	vt_json_set(object, "allocated_bytes", failure->allocated_bytes);
	return object;
}

static json_t *replay_json(const struct vt_replay *replay, const struct vt_settings *settings,
			   uint64_t capacity_bytes)
{
	json_t *object = json_object();
	char *text = settings_text(settings);

	vt_json_set(object, "settings", text);
	vt_json_set_if(object, "capacity_bytes", capacity_bytes != UINT64_MAX, capacity_bytes);
	vt_json_set(object, "peak_reserved_bytes", replay->peak_reserved_bytes);
	vt_json_set(object, "peak_reserved_event", replay->peak_reserved_event);
	vt_json_set(object, "peak_allocated_bytes", replay->peak_allocated_bytes);
	vt_json_set(object, "peak_used_bytes", replay->peak_used_bytes);
	vt_json_set(object, "end_reserved_bytes", replay->end_reserved_bytes);
	vt_json_set(object, "retries", replay->nr_retries);
	vt_json_set(object, "rescued_requests", replay->nr_rescued);
	vt_json_set(object, "out_of_memory", failure_json(&replay->failure));
	free(text);
	return object;
}

static json_t *comparison_json(const struct vt_whatif_device *device)
{
	const struct vt_replay *replay = device->recorded;
	const struct vt_requests *requests = &device->ready->requests;
	json_t *object = json_object();

	vt_json_set(object, "exact", json_boolean(vt_replay_is_exact(replay)));
	vt_json_set(object, "blocks", replay->nr_blocks);
	vt_json_set(object, "blocks_elsewhere", replay->nr_blocks_elsewhere);
	vt_json_set(object, "segment_events", replay->nr_changes);
	vt_json_set(object, "segment_events_other", replay->nr_changes_other);
	vt_json_set(object, "reserved_other", replay->nr_reserved_other);
	vt_json_set_if(object, "first_difference", replay->first_difference,
		       replay->first_difference);
	vt_json_set(object, "streams", device->ready->nr_streams);
	vt_json_set(object, "requests_known", requests->nr_known);
	vt_json_set(object, "requests_likely", requests->nr_likely);
	vt_json_set(object, "requests_bounded", requests->nr_blocks);
	return object;
}

static json_t *batch_json(const struct vt_whatif *whatif, const struct vt_whatif_device *device)
{
	json_t *object;

	if (!whatif->is_resized)
		return json_null();
	object = json_object();
	vt_json_set(object, "recorded", whatif->scalings.was.batch);
	vt_json_set(object, "asked", whatif->is.batch);
	vt_json_set(object, "blocks", device->met_batch.blocks);
	vt_json_set(object, "bytes", device->met_batch.bytes);
	return object;
}

static json_t *changed_json(const struct vt_whatif *whatif, const struct vt_whatif_device *device)
{
	const struct vt_whatif_options *options = whatif->options;
	json_t *object = json_object(), *scales = json_array();

	vt_json_set(object, "settings", json_boolean(options->settings || options->changes));
	vt_json_set_if(object, "memory_bytes", options->memory_bytes, options->memory_bytes);
	for (size_t i = 0; i < options->nr_scales; i++) {
		json_t *scale = vt_json_append_object(scales);

		vt_json_set(scale, "owner", options->scales[i].owner);
		vt_json_set(scale, "factor", options->scales[i].factor);
		vt_json_set(scale, "blocks", device->met[i].blocks);
		vt_json_set(scale, "bytes", device->met[i].bytes);
	}
	vt_json_set(object, "scales", scales);
	vt_json_set(object, "batch", batch_json(whatif, device));
	return object;
}

/* NULL: nothing contradicts what was asked for. */
static char *note_of(const struct vt_whatif *whatif)
{
	return whatif->is_resized ? vt_scaling_size_note(whatif->analysis->attribution.facts,
							 whatif->scalings.was)
				  : NULL;
}

/* NULL: each setting that was asked for can change something. */
static const char *settings_note_of(const struct vt_whatif *whatif)
{
	for (uint32_t i = 0; i < whatif->nr_devices; i++) {
		const struct vt_settings *settings = &whatif->devices[i].settings;

		if (settings->gc_threshold > 0 && settings->memory_fraction >= 1)
			return "garbage_collection_threshold (--gc) has no effect without a memory "
			       "fraction (--fraction)";
	}
	return NULL;
}

static json_t *notes_json(const struct vt_whatif *whatif)
{
	json_t *notes = vt_limits_json(whatif->analysis);
	const char *settings_note = settings_note_of(whatif);
	char *note = note_of(whatif);

	if (settings_note)
		vt_json_append(notes, settings_note);
	if (note)
		vt_json_append(notes, note);
	free(note);
	return notes;
}

void vt_whatif_print_json(const struct vt_whatif *whatif, FILE *out)
{
	json_t *object = json_object(), *array = json_array();

	for (uint32_t i = 0; i < whatif->nr_devices; i++) {
		const struct vt_whatif_device *device = &whatif->devices[i];
		json_t *entry = vt_json_append_object(array);

		vt_json_set(entry, "id", device->trace->device);
		vt_json_set(entry, "changed", changed_json(whatif, device));
		vt_json_set(entry, "recorded",
			    replay_json(device->recorded, &device->trace->settings,
					device->trace->capacity_bytes));
		vt_json_set(entry, "comparison", comparison_json(device));
		vt_json_set(
			entry, "predicted",
			replay_json(&device->predicted, &device->settings, device->capacity_bytes));
		vt_json_set(entry, "scaled_bytes", device->scaled_bytes);
	}
	vt_json_set(object, "format", 1);
	vt_json_set(object, "devices", array);
	vt_json_set(object, "notes", notes_json(whatif));
	vt_json_print(object, out);
}

/* A replay that ends with a failure has no peak to compare with: it would be a saving. */
static void add_row(struct vt_table *table, const char *name, uint64_t recorded, uint64_t predicted,
		    int is_cut)
{
	char a[VT_UNITS_MAX], b[VT_UNITS_MAX], c[VT_UNITS_MAX];
	const char *cells[] = { name, vt_units_bytes(a, sizeof(a), recorded),
				vt_units_bytes(b, sizeof(b), predicted),
				is_cut ? NULL :
					 vt_units_bytes_signed(c, sizeof(c),
							       (int64_t)predicted -
								       (int64_t)recorded) };

	vt_table_add(table, cells);
}

/*
 * The allocator gives its cache back before it fails, so a full device with a cache is not full of
 * what must stay; split segments may hold some of it, hence "up to".
 */
static void print_spare(const struct vt_whatif_device *device, FILE *out)
{
	const struct vt_replay *replay = &device->predicted;
	char left[VT_UNITS_MAX], cached[VT_UNITS_MAX];

	fprintf(out, "fits with %s to spare",
		vt_units_bytes(left, sizeof(left),
			       device->capacity_bytes - replay->peak_used_bytes));
	if (replay->peak_reserved_bytes > replay->peak_allocated_bytes)
		fprintf(out, ", plus up to %s of releasable cache",
			vt_units_bytes(cached, sizeof(cached),
				       replay->peak_reserved_bytes - replay->peak_allocated_bytes));
	fputc('\n', out);
}

static void print_verdict(const struct vt_whatif_device *device, FILE *out)
{
	const struct vt_replay *replay = &device->predicted;
	const struct vt_replay_failure *failure = &replay->failure;
	char bytes[VT_UNITS_MAX], reserved[VT_UNITS_MAX];

	if (failure->event) {
		fprintf(out,
			"out of memory at event %" PRId64
			": a further %s does not fit on top of %s reserved\n",
			failure->event,
			vt_units_bytes(bytes, sizeof(bytes), failure->request_bytes),
			vt_units_bytes(reserved, sizeof(reserved), failure->reserved_bytes));
		return;
	}
	if (replay->nr_rescued) {
		char *rescued = vt_limits_rescued(replay->nr_rescued);

		fprintf(out, "%s\n", rescued);
		free(rescued);
	}
	if (replay->nr_rescued < device->nr_failed) {
		fprintf(out, "%u of the %u failed requests would fail again\n",
			device->nr_failed - replay->nr_rescued, device->nr_failed);
		return;
	}
	if (device->capacity_bytes != UINT64_MAX)
		print_spare(device, out);
}

static void print_comparison(const struct vt_whatif_device *device, FILE *out)
{
	const struct vt_replay *replay = device->recorded;

	if (vt_replay_is_exact(replay)) {
		fprintf(out, "replay check: all %u blocks and %u segment events reproduced\n",
			replay->nr_blocks, replay->nr_changes);
		return;
	}
	fprintf(out,
		"replay check: %u of %u blocks and %u of %u segment events differ, first at event "
		"%" PRId64 ": the prediction is no more accurate than that\n",
		replay->nr_blocks_elsewhere, replay->nr_blocks, replay->nr_changes_other,
		replay->nr_changes, replay->first_difference);
}

/* What was asked for, after what there was. */
static void print_changes(const struct vt_whatif *whatif, const struct vt_whatif_device *device,
			  FILE *out)
{
	const struct vt_whatif_options *options = whatif->options;
	char *recorded = settings_text(&device->trace->settings);
	char *asked = settings_text(&device->settings);
	char bytes[VT_UNITS_MAX];

	fprintf(out, "WHAT IF  cuda:%d  %s", device->trace->device,
		recorded[0] ? recorded : "default settings");
	if (options->settings || options->changes)
		fprintf(out, " -> %s", asked[0] ? asked : "default settings");
	if (options->memory_bytes)
		fprintf(out, ", %s of memory",
			vt_units_bytes(bytes, sizeof(bytes), options->memory_bytes));
	if (whatif->is_resized)
		fprintf(out, ", batch %" PRIu64 " -> %" PRIu64 " (%u block%s, %s in all)",
			whatif->scalings.was.batch, whatif->is.batch, device->met_batch.blocks,
			device->met_batch.blocks == 1 ? "" : "s",
			vt_units_bytes(bytes, sizeof(bytes), device->met_batch.bytes));
	for (size_t i = 0; i < options->nr_scales; i++) {
		const struct vt_whatif_scale *scale = &options->scales[i];
		const struct vt_whatif_met *met = &device->met[i];

		fprintf(out, scale->factor > 0 ? ", %s x %g" : ", without %s", scale->owner,
			scale->factor);
		fprintf(out, " (%u block%s, %s in all)", met->blocks, met->blocks == 1 ? "" : "s",
			vt_units_bytes(bytes, sizeof(bytes), met->bytes));
	}
	if (!options->settings && !options->changes && !options->memory_bytes &&
	    !options->nr_scales && !whatif->is_resized)
		fputs(", nothing changed", out);
	fputc('\n', out);
	free(recorded);
	free(asked);
}

static void print_device(const struct vt_whatif *whatif, const struct vt_whatif_device *device,
			 FILE *out)
{
	int is_cut = device->predicted.failure.event != 0;
	const struct vt_column columns[] = { { "", 0 },
					     { "recorded", 1 },
					     { is_cut ? "until it failed" : "predicted", 1 },
					     { is_cut ? "" : "difference", 1 } };
	char retries[2][16];
	const char *cells[] = { "retries", retries[0], retries[1], NULL };
	struct vt_table table;

	print_changes(whatif, device, out);
	print_comparison(device, out);
	fputc('\n', out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	add_row(&table, "peak reserved", device->recorded->peak_reserved_bytes,
		device->predicted.peak_reserved_bytes, is_cut);
	add_row(&table, "peak allocated", device->recorded->peak_allocated_bytes,
		device->predicted.peak_allocated_bytes, is_cut);
	add_row(&table, "reserved at the end", device->recorded->end_reserved_bytes,
		device->predicted.end_reserved_bytes, is_cut);
	snprintf(retries[0], sizeof(retries[0]), "%u", device->recorded->nr_retries);
	snprintf(retries[1], sizeof(retries[1]), "%u", device->predicted.nr_retries);
	vt_table_add(&table, cells);
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
	fputc('\n', out);
	print_verdict(device, out);
}

void vt_whatif_print_text(const struct vt_whatif *whatif, FILE *out)
{
	const char *settings_note = settings_note_of(whatif);
	char *note = note_of(whatif);

	for (uint32_t i = 0; i < whatif->nr_devices; i++) {
		if (i)
			fputc('\n', out);
		print_device(whatif, &whatif->devices[i], out);
	}
	if (settings_note)
		fprintf(out, "note: %s\n", settings_note);
	if (note)
		fprintf(out, "note: %s\n", note);
	free(note);
	vt_limits_print(whatif->analysis, out);
}
