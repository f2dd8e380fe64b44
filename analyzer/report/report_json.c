/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report.h"

#include <math.h>
#include <string.h>

#include "analyzer/model/samples.h"
#include "analyzer/analysis/books_json.h"
#include "analyzer/analysis/ended.h"
#include "analyzer/report/context_section.h"
#include "analyzer/report/findings_print.h"
#include "analyzer/output/json.h"
#include "analyzer/report/report_stages_json.h"
#include "analyzer/report/keeper_table.h"
#include "analyzer/analysis/limits.h"
#include "analyzer/report/report_warn.h"
#include "analyzer/report/reached_thresholds.h"
#include "analyzer/base/util.h"
#include "analyzer/report/stacks_json.h"
#include "analyzer/report/zero_reads.h"

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
		vt_json_set(object, vt_stmt_text(stmt, 0), vt_stmt_text(stmt, 1));
	vt_stmt_free(stmt);
	return object;
}

static json_t *run(const struct vt_report *report)
{
	json_t *object = json_object();
	int64_t ran_ns = vt_ended_ran_ns(report->analysis->db);

	vt_json_set(object, "command", command(report));
	vt_json_set(object, "pid", run_int(report, "pid", 0));
	vt_json_set(object, "ended", report->ended);
	vt_json_set(object, "duration_ns", ran_ns > 0 ? ran_ns : 0);
	vt_json_set(object, "events",
		    run_int(report, "events", report->analysis->model.last_event));
	vt_json_set(object, "lost", run_int(report, "lost_events", 0));
	vt_json_set(object, "torn_records", run_int(report, "torn_records", 0));
	vt_json_set(object, "missing_slots", run_int(report, "missing_slots", 0));
	vt_json_set(object, "python", run_text(report, "python"));
	vt_json_set(object, "torch", run_text(report, "torch"));
	vt_json_set(object, "recorder", run_text(report, "recorder"));
	vt_json_set(object, "settings", settings(report));
	return object;
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
		vt_json_set(object, "bytes", spot->bytes);
		vt_json_set(object, "blocks", spot->blocks);
		vt_json_set(object, "owner",
			    vt_attribution_owner(&report->analysis->attribution, spot->owner));
		vt_stacks_json_set(object, &report->describe, spot->first);
		json_array_append_new(array, object);
	}
	return array;
}

/* Of the whole run; need not be the moment of highest use. */
static void set_most_allocated(json_t *object, const struct vt_peak *peak)
{
	if (!peak)
		return;
	vt_json_set(object, "max_allocated_event", peak->max_allocated_event);
	vt_json_set(object, "max_allocated_bytes", peak->max_allocated_bytes);
}

/* Over the whole run, where samples tell. */
static void set_context_growth(json_t *object, const struct vt_model *model, int device)
{
	uint64_t first = 0, last = 0;
	int is_known = vt_samples_context_growth(model, device, &first, &last);

	vt_json_set_if(object, "first_context_bytes", is_known, first);
	vt_json_set_if(object, "last_context_bytes", is_known, last);
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
	vt_json_set(object, "stacks", stacks(report, &at->hotspots, 0));
	vt_json_set(object, "unknown", stacks(report, &at->hotspots, 1));
	return object;
}

static json_t *device(const struct vt_report *report, const struct vt_report_device *row)
{
	json_t *object = json_object(), *peak = moment(report, row, &row->chosen);

	if (report->options->is_by_keeper)
		vt_json_set(peak, "keepers", keepers(report, row));
	vt_json_set(object, "id", row->device->id);
	vt_json_set(object, "name", row->device->name);
	vt_json_set(object, "total_bytes", row->device->total_bytes);
	vt_json_set(object, "simulated", json_boolean(row->device->is_simulated));
	set_context_growth(object, &report->analysis->model, row->device->id);
	vt_json_set(object, "context", vt_context_section_json(report, row));
	/* With --at it is another moment; the key stays, so that readers need one path. */
	vt_json_set(object, "peak", peak);
	/* null: the same moment, or another one was asked for. */
	vt_json_set_if(object, "most_allocated", vt_report_has_most_allocated(row),
		       moment(report, row, &row->most_allocated));
	return object;
}

static json_t *coverage(const struct vt_report *report)
{
	json_t *object = json_object();

	/* Rounded, so that no compiler's last digit shows. */
	for (unsigned p = 0; p < VT_NR_PROVENANCES; p++)
		vt_json_set(object, vt_evidence_provenances[p],
			    round(report->coverage[p] * 1e5) / 1e5);
	return object;
}

json_t *vt_report_json(const struct vt_report *report)
{
	json_t *object = json_object(), *devices = json_array();

	for (uint32_t i = 0; i < report->nr_devices; i++)
		json_array_append_new(devices, device(report, &report->devices[i]));
	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "run", run(report));
	vt_json_set(object, "devices", devices);
	vt_report_stages_json_add(report, object);
	vt_json_set(object, "findings", vt_findings_print_json(&report->findings));
	vt_json_set(object, "out_of_memory", vt_oom_json(&report->out_of_memory));
	vt_json_set(object, "pinned_host", vt_pinned_host_json(&report->pinned));
	vt_json_set(object, "coverage", coverage(report));
	vt_json_set(object, "warn", vt_report_warn_json(report));
	vt_json_set(object, "warnings", vt_reached_thresholds_json(report->analysis->db));
	vt_json_set(object, "zero_reads", vt_zero_reads_json(report));
	vt_json_set(object, "notes", vt_limits_json(report->analysis));
	return object;
}

void vt_report_json_print(const struct vt_report *report, FILE *out)
{
	vt_json_print(vt_report_json(report), out);
}
