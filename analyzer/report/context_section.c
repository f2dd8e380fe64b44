/* SPDX-License-Identifier: MIT */
#include "analyzer/report/context_section.h"

#include <stdlib.h>

#include "analyzer/analysis/context_parts.h"
#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"
#include "analyzer/output/json.h"

/* Less than that comes of samples a little older than the moment. */
#define LEAST_BYTES ((int64_t)VT_MIB)

static void find_parts(struct vt_context_parts *parts, const struct vt_report *report,
		       const struct vt_report_device *row)
{
	vt_context_parts_find(
		parts, &report->analysis->model, row->device->id,
		vt_timeline_time(&report->analysis->timeline, row->chosen.books.event));
}

static char *line_of(const struct vt_report *report, uint32_t python_stack, uint32_t native_stack)
{
	const struct vt_producer at = { .python_stack = python_stack,
					.native_stack = native_stack };

	return vt_producer_first_line(&report->describe, &at);
}

static const char *limit_name(uint64_t which)
{
	static const char *const names[] = { "stack of a thread", "printf buffer", "device heap" };

	return which < VT_ARRAY_SIZE(names) ? names[which] : NULL;
}

/* "2 modules, 1 limit set" */
static char *say_causes(const struct vt_context_part *part)
{
	char *limits = part->nr_limits
			       ? vt_xasprintf("%s%u limit%s set", part->nr_loads ? ", " : "",
					      part->nr_limits, part->nr_limits == 1 ? "" : "s")
			       : vt_xstrdup("");
	char *text;

	if (part->nr_loads)
		text = vt_xasprintf("%u module%s%s", part->nr_loads, part->nr_loads == 1 ? "" : "s",
				    limits);
	else
		text = vt_xasprintf("%s", part->nr_limits   ? limits
					  : part->bytes < 0 ? "released"
							    : "nothing loaded: probably kernel "
							      "code, local memory or graphs");
	free(limits);
	return text;
}

static void print_part(const struct vt_report *report, const struct vt_context_part *part,
		       FILE *out)
{
	char bytes[VT_UNITS_MAX], *causes = say_causes(part);
	char *line =
		part->nr_places ? line_of(report, part->python_stack, part->native_stack) : NULL;

	fprintf(out, "  %12s  %s", vt_units_bytes_signed(bytes, sizeof(bytes), part->bytes),
		causes);
	if (line)
		fprintf(out, "  %s", line);
	if (part->nr_places > 1)
		fprintf(out, " and %u more call site%s", part->nr_places - 1,
			part->nr_places == 2 ? "" : "s");
	fputc('\n', out);
	free(line);
	free(causes);
}

static void print_limits(const struct vt_context_parts *parts, FILE *out)
{
	char value[VT_UNITS_MAX];
	unsigned nr = 0;

	for (size_t i = 0; i < parts->limits.len; i++) {
		const struct vt_context_limit *limit = &parts->limits.items[i];

		if (limit_name(limit->which))
			fprintf(out, "%s%s %s",
				nr++ ? ", " : "  limits: ", limit_name(limit->which),
				vt_units_bytes(value, sizeof(value), limit->value));
	}
	fputs(nr ? "\n" : "", out);
}

static int is_worth_it(const struct vt_context_parts *parts)
{
	if (parts->limits.len)
		return 1;
	for (size_t i = 0; i < parts->parts.len; i++)
		if (llabs(parts->parts.items[i].bytes) >= LEAST_BYTES)
			return 1;
	return 0;
}

void vt_context_section_print(const struct vt_report *report, const struct vt_report_device *row,
			      FILE *out)
{
	struct vt_context_parts parts;
	char total[VT_UNITS_MAX], first[VT_UNITS_MAX];

	find_parts(&parts, report, row);
	if (parts.is_known && is_worth_it(&parts)) {
		fprintf(out, "\nCONTEXT  %s on cuda:%d%s, of which %s when it was first measured\n",
			vt_units_bytes(total, sizeof(total), (uint64_t)parts.total_bytes),
			row->device->id,
			parts.has_others ? "" : ", including memory of other processes if any",
			vt_units_bytes(first, sizeof(first), (uint64_t)parts.first_bytes));
		for (size_t i = 0; i < parts.parts.len; i++)
			print_part(report, &parts.parts.items[i], out);
		print_limits(&parts, out);
		if (parts.nr_unmeasured)
			fprintf(out,
				"  unknown: the size of what was loaded after the last measurement"
				" (%u module%s or libraries)\n",
				parts.nr_unmeasured, parts.nr_unmeasured == 1 ? "" : "s");
	}
	vt_context_parts_release(&parts);
}

static json_t *parts_json(const struct vt_report *report, const struct vt_context_parts *parts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < parts->parts.len; i++) {
		const struct vt_context_part *part = &parts->parts.items[i];
		json_t *object = vt_json_append_object(array);
		char *line = part->nr_places
				     ? line_of(report, part->python_stack, part->native_stack)
				     : NULL;

		vt_json_set(object, "bytes", part->bytes);
		vt_json_set(object, "modules", part->nr_loads);
		vt_json_set(object, "limits", part->nr_limits);
		vt_json_set(object, "places", part->nr_places);
		vt_json_set(object, "where", line);
		free(line);
	}
	return array;
}

static json_t *limits_json(const struct vt_report *report, const struct vt_context_parts *parts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < parts->limits.len; i++) {
		const struct vt_context_limit *limit = &parts->limits.items[i];
		json_t *object = vt_json_append_object(array);
		char *line = line_of(report, limit->python_stack, limit->native_stack);

		vt_json_set(object, "limit", limit->which);
		vt_json_set(object, "name", limit_name(limit->which));
		vt_json_set(object, "value", limit->value);
		vt_json_set(object, "where", line);
		free(line);
	}
	return array;
}

json_t *vt_context_section_json(const struct vt_report *report, const struct vt_report_device *row)
{
	struct vt_context_parts parts;
	json_t *object = json_null();

	find_parts(&parts, report, row);
	if (parts.is_known) {
		object = json_object();
		vt_json_set(object, "bytes", parts.total_bytes);
		vt_json_set(object, "first_bytes", parts.first_bytes);
		vt_json_set(object, "parts", parts_json(report, &parts));
		vt_json_set(object, "limits", limits_json(report, &parts));
		vt_json_set(object, "unmeasured_modules", parts.nr_unmeasured);
		vt_json_set(object, "is_of_process", json_boolean(parts.has_others));
	}
	vt_context_parts_release(&parts);
	return object;
}
