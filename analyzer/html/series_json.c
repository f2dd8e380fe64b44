/* SPDX-License-Identifier: MIT */
#include "analyzer/html/series.h"

#include "analyzer/output/json.h"

static void put_numbers(struct vt_pack *pack, const uint64_t *numbers, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		vt_pack_put(pack, (int64_t)numbers[i]);
}

static void pack_buckets(const struct vt_series *series, uint32_t number, struct vt_pack *pack)
{
	const struct vt_series_device *device = &series->devices[number];
	uint32_t nr = series->nr_buckets;

	vt_pack_begin(pack, "%u.used", number);
	put_numbers(pack, device->used, nr);
	vt_pack_end(pack);
	vt_pack_begin(pack, "%u.reserved", number);
	put_numbers(pack, device->reserved, nr);
	vt_pack_end(pack);
	for (uint16_t i = 0; i < device->nr_columns; i++) {
		const struct vt_series_column *column = &device->columns[i];

		vt_pack_begin(pack, "%u.top.%u", number, i);
		put_numbers(pack, column->top, nr);
		vt_pack_end(pack);
		/* Mostly the same, so that differences from the top compress to nothing. */
		vt_pack_begin(pack, "%u.most.%u", number, i);
		for (uint32_t b = 0; b < nr; b++)
			vt_pack_put(pack, (int64_t)(column->most[b] - column->top[b]));
		vt_pack_end(pack);
		vt_pack_begin(pack, "%u.least.%u", number, i);
		for (uint32_t b = 0; b < nr; b++)
			vt_pack_put(pack, (int64_t)(column->top[b] - column->least[b]));
		vt_pack_end(pack);
	}
}

/* One column for each field of the rows. */
static void pack_rows(const struct vt_series *series, uint32_t number, struct vt_pack *pack)
{
	const struct vt_series_device *device = &series->devices[number];

	vt_pack_begin(pack, "%u.row.event", number);
	for (size_t i = 0; i < device->windows.rows.len; i++)
		vt_pack_put(pack, device->windows.rows.items[i].event);
	vt_pack_end(pack);
	vt_pack_begin(pack, "%u.row.us", number);
	for (size_t i = 0; i < device->windows.rows.len; i++)
		vt_pack_put(pack, device->windows.rows.items[i].time_ns / 1000);
	vt_pack_end(pack);
	vt_pack_begin(pack, "%u.row.bytes", number);
	for (size_t i = 0; i < device->windows.rows.len; i++)
		vt_pack_put(pack, device->windows.rows.items[i].change_bytes);
	vt_pack_end(pack);
	vt_pack_begin(pack, "%u.row.what", number);
	for (size_t i = 0; i < device->windows.rows.len; i++) {
		const struct vt_series_row *row = &device->windows.rows.items[i];
		uint16_t column = row->column == VT_SERIES_NO_COLUMN ? device->nr_columns
								     : row->column;

		vt_pack_put(pack, column << 2 | (row->is_used && row->is_reserved) << 1 |
					  row->is_used);
	}
	vt_pack_end(pack);
}

static json_t *windows_json(const struct vt_series_device *device)
{
	json_t *array = json_array();

	for (size_t i = 0; i < device->windows.all.len; i++) {
		const struct vt_series_window *window = &device->windows.all.items[i];
		json_t *object, *before;

		if (!window->before)
			continue;
		object = json_object();
		before = json_array();
		for (uint32_t k = 0; k < device->nr_columns + 2u; k++)
			json_array_append_new(before, vt_json_integer(window->before[k]));
		json_object_set_new(object, "first_event", json_integer(window->first_event));
		json_object_set_new(object, "last_event", json_integer(window->last_event));
		json_object_set_new(object, "first_row",
				    json_integer((json_int_t)window->first_row));
		json_object_set_new(object, "end_row", json_integer((json_int_t)window->end_row));
		json_object_set_new(object, "before", before);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *device_json(const struct vt_series_device *device)
{
	json_t *object = json_object(), *owners = json_array();

	for (uint16_t i = 0; i < device->nr_columns; i++)
		json_array_append_new(owners, vt_json_text(device->columns[i].owner));
	json_object_set_new(object, "id", json_integer(device->device->id));
	json_object_set_new(object, "name", vt_json_text(device->device->name));
	json_object_set_new(object, "total_bytes", vt_json_integer(device->device->total_bytes));
	json_object_set_new(object, "owners", owners);
	json_object_set_new(object, "other_owners", json_integer(device->nr_others));
	json_object_set_new(object, "windows", windows_json(device));
	return object;
}

json_t *vt_series_json(const struct vt_series *series, struct vt_pack *pack)
{
	json_t *object = json_object(), *devices = json_array();

	vt_pack_begin(pack, "end_us");
	for (uint32_t i = 0; i < series->nr_buckets; i++)
		vt_pack_put(pack, series->end_ns[i] / 1000);
	vt_pack_end(pack);
	for (uint32_t d = 0; d < series->nr_devices; d++) {
		pack_buckets(series, d, pack);
		pack_rows(series, d, pack);
		json_array_append_new(devices, device_json(&series->devices[d]));
	}
	json_object_set_new(object, "events_per_bucket", json_integer(series->events_per_bucket));
	json_object_set_new(object, "buckets", json_integer(series->nr_buckets));
	json_object_set_new(object, "last_event",
			    json_integer(series->analysis->model.last_event));
	json_object_set_new(object, "devices", devices);
	return object;
}
