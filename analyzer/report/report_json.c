/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report.h"

#include <math.h>
#include <string.h>

#include "analyzer/model/samples.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/books_json.h"
#include "analyzer/report/findings_print.h"
#include "analyzer/report/json.h"
#include "analyzer/report/report_stages_json.h"
#include "analyzer/report/keeper_table.h"
#include "analyzer/report/limits.h"
#include "analyzer/report/report_warn.h"
#include "analyzer/base/util.h"

#define FORMAT 1

static json_t *run_text(const struct vt_report *report, const char *key)
{
	char *text = vt_db_run_get(report->analysis->db, key);
	json_t *value = vt_json_text(text);

	free(text);
	return value;
}

static json_t *run_int(const struct vt_report *report, const char *key, int64_t fallback)
{
	return json_integer(vt_db_run_get_int(report->analysis->db, key, fallback));
}

/* The command is stored as a JSON array; anything else becomes an array of one. */
static json_t *command(const struct vt_report *report)
{
	char *text = vt_db_run_get(report->analysis->db, "command");
	json_t *value = text ? json_loads(text, 0, NULL) : json_array();

	if (!json_is_array(value)) {
		json_decref(value);
		value = json_pack("[o]", vt_json_text(text));
	}
	free(text);
	return value;
}

static json_t *settings(const struct vt_report *report)
{
	struct vt_stmt *stmt = vt_db_prepare(report->analysis->db,
					     "SELECT substr(key, 5), value FROM run"
					     " WHERE key GLOB 'env:*' ORDER BY key");
	json_t *object = json_object();

	while (vt_stmt_step(stmt) == 1)
		json_object_set_new(object, vt_stmt_text(stmt, 0),
				    vt_json_text(vt_stmt_text(stmt, 1)));
	vt_stmt_free(stmt);
	return object;
}

static json_t *run(const struct vt_report *report)
{
	json_t *object = json_object();

	json_object_set_new(object, "command", command(report));
	json_object_set_new(object, "pid", run_int(report, "pid", 0));
	json_object_set_new(object, "ended", vt_json_text(report->ended));
	json_object_set_new(object, "duration_ns", run_int(report, "duration_ns", 0));
	json_object_set_new(object, "events",
			    run_int(report, "events", report->analysis->model.last_event));
	json_object_set_new(object, "lost", run_int(report, "lost_events", 0));
	json_object_set_new(object, "torn_records", run_int(report, "torn_records", 0));
	json_object_set_new(object, "missing_slots", run_int(report, "missing_slots", 0));
	json_object_set_new(object, "python", run_text(report, "python"));
	json_object_set_new(object, "torch", run_text(report, "torch"));
	json_object_set_new(object, "recorder", run_text(report, "recorder"));
	json_object_set_new(object, "settings", settings(report));
	return object;
}

/* "forward_python" is empty where it is not the place that counts. */
static void set_stacks(json_t *object, const struct vt_report *report,
		       const struct vt_allocation *a)
{
	const struct vt_describe *describe = &report->describe;
	uint32_t producer = vt_producer_stack(describe->model, a);

	json_object_set_new(object, "python",
			    vt_json_lines(vt_describe_python(describe, a->made->python_stack)));
	json_object_set_new(object, "forward_python",
			    vt_json_lines(vt_describe_python(
				    describe, producer == a->made->python_stack ? 0 : producer)));
	json_object_set_new(object, "native",
			    vt_json_lines(vt_describe_native(describe, a->made->native_stack)));
}

/* The largest places; all, or only those that no rule names. */
static json_t *stacks(const struct vt_report *report, const struct vt_hotspots *hotspots,
		      int is_unknown)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < hotspots->nr && json_array_size(array) < report->options->top;
	     i++) {
		const struct vt_hotspot *spot = &hotspots->items[i];
		json_t *object;

		if (is_unknown && !vt_report_is_unknown(report, spot))
			continue;
		object = json_object();
		json_object_set_new(object, "bytes", vt_json_integer(spot->bytes));
		json_object_set_new(object, "blocks", json_integer(spot->blocks));
		json_object_set_new(object, "owner",
				    vt_json_text(vt_attribution_owner(
					    &report->analysis->attribution, spot->owner)));
		set_stacks(object, report, spot->first);
		json_array_append_new(array, object);
	}
	return array;
}

/* Of the whole run; need not be the moment of highest use. */
static void set_most_allocated(json_t *object, const struct vt_peak *peak)
{
	if (!peak)
		return;
	json_object_set_new(object, "max_allocated_event", json_integer(peak->max_allocated_event));
	json_object_set_new(object, "max_allocated_bytes",
			    vt_json_integer(peak->max_allocated_bytes));
}

/* Over the whole run, where samples tell. */
static void set_context_growth(json_t *object, const struct vt_model *model, int device)
{
	uint64_t first = 0, last = 0;
	int is_known = vt_samples_context_growth(model, device, &first, &last);

	json_object_set_new(object, "first_context_bytes",
			    is_known ? vt_json_integer(first) : json_null());
	json_object_set_new(object, "last_context_bytes",
			    is_known ? vt_json_integer(last) : json_null());
}

static json_t *keepers(const struct vt_report *report, const struct vt_report_device *row)
{
	struct vt_keeper_table table;
	json_t *array;

	vt_keeper_table_init(&table, report, row);
	array = vt_keeper_table_json(&table);
	vt_keeper_table_release(&table);
	return array;
}

static json_t *moment(const struct vt_report *report, const struct vt_report_device *row,
		      const struct vt_report_moment *at)
{
	json_t *object = json_object();

	vt_peak_context_json(&at->place, object);
	vt_books_json_set(object, &at->books);
	set_most_allocated(object, vt_model_peak(&report->analysis->model, row->device->id));
	json_object_set_new(object, "stacks", stacks(report, &at->hotspots, 0));
	json_object_set_new(object, "unknown", stacks(report, &at->hotspots, 1));
	return object;
}

static json_t *device(const struct vt_report *report, const struct vt_report_device *row)
{
	json_t *object = json_object(), *peak = moment(report, row, &row->chosen);

	if (report->options->is_by_keeper)
		json_object_set_new(peak, "keepers", keepers(report, row));
	json_object_set_new(object, "id", json_integer(row->device->id));
	json_object_set_new(object, "name", vt_json_text(row->device->name));
	json_object_set_new(object, "total_bytes", vt_json_integer(row->device->total_bytes));
	json_object_set_new(object, "simulated", json_boolean(row->device->is_simulated));
	set_context_growth(object, &report->analysis->model, row->device->id);
	/* With --at it is another moment; the key stays, so that readers need one path. */
	json_object_set_new(object, "peak", peak);
	/* null: the same moment, or another one was asked for. */
	json_object_set_new(object, "most_allocated",
			    vt_report_has_most_allocated(row)
				    ? moment(report, row, &row->most_allocated)
				    : json_null());
	return object;
}

static json_t *coverage(const struct vt_report *report)
{
	json_t *object = json_object();

	/* Rounded, so that no compiler's last digit shows. */
	for (unsigned p = 0; p < VT_NR_PROVENANCES; p++)
		json_object_set_new(object, vt_evidence_provenances[p],
				    json_real(round(report->coverage[p] * 1e5) / 1e5));
	return object;
}

json_t *vt_report_json(const struct vt_report *report)
{
	json_t *object = json_object(), *devices = json_array();

	for (uint32_t i = 0; i < report->nr_devices; i++)
		json_array_append_new(devices, device(report, &report->devices[i]));
	json_object_set_new(object, "format", json_integer(FORMAT));
	json_object_set_new(object, "run", run(report));
	json_object_set_new(object, "devices", devices);
	vt_report_stages_json_add(report, object);
	json_object_set_new(object, "findings", vt_findings_print_json(&report->findings));
	json_object_set_new(object, "out_of_memory", vt_oom_json(&report->out_of_memory));
	json_object_set_new(object, "coverage", coverage(report));
	json_object_set_new(object, "warn", vt_report_warn_json(report));
	json_object_set_new(object, "notes", vt_limits_json(report->analysis));
	return object;
}

void vt_report_json_print(const struct vt_report *report, FILE *out)
{
	vt_json_print(vt_report_json(report), out);
}
