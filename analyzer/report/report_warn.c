/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_warn.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/output/json.h"

int vt_report_warn_parse(const char *text, double *share)
{
	char *end;

	/* strtod() knows more than numbers: blanks, signs, "inf", "0x1p-3". */
	if (strspn(text, "0123456789.") != strcspn(text, "%"))
		return -1;
	*share = strtod(text, &end);
	if (end != text && !strcmp(end, "%"))
		*share /= 100;
	else if (end == text || *end)
		return -1;
	return *share > 0 && *share <= 1 ? 0 : -1;
}

struct limit {
	const struct vt_device *device;
	uint64_t bytes;
};

static int find_limit(const struct vt_report *report, const struct vt_report_device *row,
		      struct limit *limit)
{
	limit->device = row->device;
	limit->bytes = (uint64_t)(report->options->warn_share * (double)row->device->total_bytes);
	return limit->bytes != 0;
}

/* Of the run, whatever moment the report is of. */
static uint64_t highest_use(const struct vt_report *report, const struct limit *limit)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < report->nr_devices; i++)
		if (report->devices[i].device == limit->device)
			highest = vt_books_device_used(&report->devices[i].chosen.books);
	for (uint32_t i = 0; i < report->stages.nr; i++)
		if (report->stages.rows[i].device == limit->device->id &&
		    report->stages.rows[i].peak_device_bytes > highest)
			highest = report->stages.rows[i].peak_device_bytes;
	return highest;
}

static void print_stages(const struct vt_report *report, const struct limit *limit, FILE *out)
{
	const char *before = "; in stages ";
	char text[VT_UNITS_MAX];

	for (uint32_t i = 0; i < report->stages.nr; i++) {
		const struct vt_report_stage *row = &report->stages.rows[i];

		if (row->device != limit->device->id || row->peak_device_bytes <= limit->bytes)
			continue;
		fprintf(out, "%s%s %s", before, row->name,
			vt_units_bytes(text, sizeof(text), row->peak_device_bytes));
		before = ", ";
	}
}

/* Runs of steps, as most programs are above in all of them or in none. */
static void print_steps(const struct vt_report *report, const struct limit *limit, FILE *out)
{
	const char *before = "; in steps ";
	uint32_t first = 0, last = 0;

	for (uint32_t i = 0; i <= report->iterations.nr_steps; i++) {
		const struct vt_report_step *step =
			i < report->iterations.nr_steps ? &report->iterations.steps[i] : NULL;
		int is_over = step && step->device == limit->device->id &&
			      step->iteration.peak_device_bytes > limit->bytes;

		if (step && step->device != limit->device->id)
			continue;
		if (is_over) {
			first = first ? first : step->index;
			last = step->index;
			continue;
		}
		if (first && first == last)
			fprintf(out, "%s%u", before, first);
		else if (first)
			fprintf(out, "%s%u..%u", before, first, last);
		before = first ? ", " : before;
		first = 0;
	}
}

void vt_report_warn_print(const struct vt_report *report, FILE *out)
{
	struct limit limit;

	for (uint32_t i = 0; report->options->warn_share > 0 && i < report->nr_devices; i++) {
		char bytes[VT_UNITS_MAX], most[VT_UNITS_MAX];
		uint64_t highest;

		if (!find_limit(report, &report->devices[i], &limit)) {
			fprintf(out, "WARN  the size of cuda:%d is unknown\n",
				report->devices[i].device->id);
			continue;
		}
		highest = highest_use(report, &limit);
		fprintf(out, "WARN  cuda:%d  %s %.0f %% of the device (%s): %s", limit.device->id,
			highest > limit.bytes ? "above" : "nothing above",
			100 * report->options->warn_share,
			vt_units_bytes(bytes, sizeof(bytes), limit.bytes),
			vt_units_bytes(most, sizeof(most), highest));
		print_stages(report, &limit, out);
		print_steps(report, &limit, out);
		fputc('\n', out);
	}
}

static void add_over(json_t *array, const char *what, json_t *name, uint64_t bytes)
{
	json_t *object = vt_json_append_object(array);

	vt_json_set(object, "what", what);
	vt_json_set(object, "name", name);
	vt_json_set(object, "peak_device_bytes", bytes);
}

static json_t *over_json(const struct vt_report *report, const struct limit *limit)
{
	uint64_t highest = highest_use(report, limit);
	json_t *array = json_array();

	if (highest > limit->bytes)
		add_over(array, "peak", json_null(), highest);
	for (uint32_t i = 0; i < report->stages.nr; i++) {
		const struct vt_report_stage *row = &report->stages.rows[i];

		if (row->device == limit->device->id && row->peak_device_bytes > limit->bytes)
			add_over(array, "stage", vt_json_text(row->name), row->peak_device_bytes);
	}
	for (uint32_t i = 0; i < report->iterations.nr_steps; i++) {
		const struct vt_report_step *step = &report->iterations.steps[i];

		if (step->device == limit->device->id &&
		    step->iteration.peak_device_bytes > limit->bytes)
			add_over(array, "step", json_integer(step->index),
				 step->iteration.peak_device_bytes);
	}
	return array;
}

json_t *vt_report_warn_json(const struct vt_report *report)
{
	json_t *object, *devices;
	struct limit limit;

	if (report->options->warn_share <= 0)
		return json_null();
	object = json_object();
	devices = json_array();
	for (uint32_t i = 0; i < report->nr_devices; i++) {
		json_t *device = vt_json_append_object(devices);
		int is_known = find_limit(report, &report->devices[i], &limit);

		vt_json_set(device, "id", report->devices[i].device->id);
		vt_json_set_if(device, "limit_bytes", is_known, limit.bytes);
		vt_json_set(device, "over", is_known ? over_json(report, &limit) : json_array());
	}
	vt_json_set(object, "share", report->options->warn_share);
	vt_json_set(object, "devices", devices);
	return object;
}
