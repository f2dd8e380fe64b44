/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"
#include "analyzer/input/input.h"
#include "analyzer/model/folded.h"
#include "analyzer/import/run_keys.h"
#include "analyzer/base/options.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/analysis/device_use.h"
#include "analyzer/analysis/ended.h"
#include "analyzer/output/json.h"

static const struct vt_option options[] = {
	{ 'j', "json", NULL, "print JSON" },
	{ 0, NULL, NULL, NULL },
};

static const struct vt_options_spec spec = {
	.command = "info",
	.synopsis = "[--json] FILE",
	.summary =
		"Shows what a recording contains: run, versions, devices, counts, losses, file "
		"size.",
	.options = options,
};

/* What is counted, in the order of the output: key in JSON, table. */
static const struct {
	const char *name;
	const char *table;
} counted[] = {
	{ "allocations", "allocation_row" },
	{ "other_events", "event" },
	{ "marks", "mark" },
	{ "out_of_memory", "out_of_memory" },
	{ "native_stacks", "native_stack" },
	{ "native_frames", "native_frame" },
	{ "python_stacks", "python_stack" },
	{ "python_frames", "python_frame" },
	{ "modules", "module" },
	{ "strings", "string" },
};

/* Facts of the run table that count losses. */
static const char *const losses[] = { "lost_events", "torn_records", "missing_slots",
				      "reused_addresses", "unknown_frees" };

/* What cannot be read has none. */
static int64_t count_rows(struct vt_db *db, const char *table)
{
	int64_t nr = vt_db_count(db, table);

	return nr < 0 ? 0 : nr;
}

static int64_t file_bytes(struct vt_db *db)
{
	struct stat st;

	return stat(vt_db_path(db), &st) ? 0 : (int64_t)st.st_size;
}

static int is_number(const char *key)
{
#define TEXT(name, text) text,
	static const char *const numbers[] = { VT_RUN_NUMBERS(TEXT) };
#undef TEXT

	for (size_t i = 0; i < VT_ARRAY_SIZE(numbers); i++)
		if (!strcmp(key, numbers[i]))
			return 1;
	return 0;
}

/* The type depends on the key alone: a host may be called 0123. */
static json_t *json_fact(const char *key, const char *value)
{
	json_t *command = strcmp(key, "command") ? NULL : json_loads(value, 0, NULL);

	if (command)
		return command;
	if (is_number(key))
		return json_integer(strtoll(value, NULL, 10));
	return vt_json_text(value);
}

static json_t *json_run(struct vt_db *db)
{
	struct vt_stmt *stmt = vt_db_prepare(db, "SELECT key, value FROM run ORDER BY key");
	json_t *run = json_object();

	while (vt_stmt_step(stmt) == 1)
		vt_json_set(run, vt_stmt_text(stmt, 0),
			    json_fact(vt_stmt_text(stmt, 0), vt_stmt_text(stmt, 1)));
	vt_stmt_free(stmt);
	return run;
}

#define DEVICE_QUERY                                                                               \
	"SELECT id, name, total_bytes, capability, multiprocessors, driver_version, simulated,"    \
	" p.used_bytes, p.allocated_bytes, p.max_allocated_bytes"                                  \
	" FROM device LEFT JOIN peak p ON p.device = id ORDER BY id"

static json_t *json_int_or_null(struct vt_stmt *stmt, int column)
{
	return vt_stmt_is_null(stmt, column) ? json_null()
					     : json_integer(vt_stmt_int(stmt, column));
}

#define PERIOD_COLUMNS                                                                             \
	"id", "start_time_ns", "end_time_ns", "first_event", "last_event", "allocations", "frees", \
		"failed_requests", "marks", "lost_events", "device", "peak_event",                 \
		"peak_used_bytes", "peak_allocated_bytes", "max_allocated_event",                  \
		"max_allocated_bytes"
#define PERIOD_QUERY                                                                               \
	"SELECT p.*, device, event, used_bytes, allocated_bytes, max_allocated_event,"             \
	" max_allocated_bytes FROM period p JOIN period_peak ON period = id ORDER BY id, device"

static json_t *json_periods(struct vt_db *db)
{
	static const char *const keys[] = { PERIOD_COLUMNS };
	struct vt_stmt *stmt = vt_db_prepare(db, PERIOD_QUERY);
	json_t *periods = json_array();

	while (vt_stmt_step(stmt) == 1) {
		json_t *period = vt_json_append_object(periods);

		for (int i = 0; i < (int)VT_ARRAY_SIZE(keys); i++)
			vt_json_set(period, keys[i], json_integer(vt_stmt_int(stmt, i)));
	}
	vt_stmt_free(stmt);
	return periods;
}

/* What was in use at each device's peak. */
struct uses {
	struct vt_device_use *items;
	int nr;
};

/* NULL: the device has no peak. */
static const struct vt_device_use *use_of(const struct uses *uses, int64_t device)
{
	for (int i = 0; i < uses->nr; i++)
		if (uses->items[i].device == device)
			return &uses->items[i];
	return NULL;
}

static json_t *json_devices(struct vt_db *db, const struct uses *uses)
{
	static const char *const keys[] = {
		"id",
		"name",
		"total_bytes",
		"capability",
		"multiprocessors",
		"driver_version",
		"simulated",
		"peak_used_bytes",
		"peak_allocated_bytes",
		"max_allocated_bytes",
	};
	struct vt_stmt *stmt = vt_db_prepare(db, DEVICE_QUERY);
	json_t *devices = json_array();

	while (vt_stmt_step(stmt) == 1) {
		const struct vt_device_use *use = use_of(uses, vt_stmt_int(stmt, 0));
		json_t *device = vt_json_append_object(devices);

		for (int i = 0; i < (int)VT_ARRAY_SIZE(keys); i++)
			vt_json_set(device, keys[i], json_int_or_null(stmt, i));
		vt_json_set(device, "name", vt_stmt_text(stmt, 1));
		vt_json_set(device, "simulated", json_boolean(vt_stmt_int(stmt, 6)));
		vt_json_set_if(device, "device_used_bytes", use != NULL, use ? use->peak_bytes : 0);
		vt_json_set_if(device, "context_bytes", use && use->has_context,
			       use ? use->context_bytes : 0);
	}
	vt_stmt_free(stmt);
	return devices;
}

static void print_json(struct vt_db *db, const struct uses *uses)
{
	json_t *root = json_object(), *counts = json_object(), *file = json_object();

	for (size_t i = 0; i < VT_ARRAY_SIZE(counted); i++)
		vt_json_set(counts, counted[i].name, count_rows(db, counted[i].table));
	vt_json_set(file, "path", vt_db_path(db));
	vt_json_set(file, "size_bytes", file_bytes(db));
	vt_json_set(file, "schema", vt_db_query_int(db, "PRAGMA user_version", 0));
	vt_json_set(root, "format", 1);
	vt_json_set(root, "file", file);
	vt_json_set(root, "run", json_run(db));
	vt_json_set(root, "devices", json_devices(db, uses));
	vt_json_set(root, "counts", counts);
	vt_json_set(root, "periods", json_periods(db));
	json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | vt_json_escapes(stdout));
	putchar('\n');
	json_decref(root);
}

/* Takes the value; NULL: it is not known. */
static void print_line(const char *label, char *value)
{
	if (value)
		printf("%-20s %s\n", label, vt_printable_make(value));
	free(value);
}

static void print_fact(struct vt_db *db, const char *label, const char *key)
{
	print_line(label, vt_db_run_get(db, key));
}

static void print_ended(struct vt_db *db)
{
	char *ended = vt_db_run_get(db, "ended");

	print_line("ended", ended ? vt_xstrdup(vt_ended_text(ended)) : NULL);
	free(ended);
}

static void print_time(struct vt_db *db)
{
	int64_t start_ns = vt_db_run_get_int(db, "start_realtime_ns", 0);
	int64_t duration_ns = vt_ended_ran_ns(db);
	time_t seconds = (time_t)(start_ns / 1000000000);
	char text[64], duration[VT_UNITS_MAX];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", localtime_r(&seconds, &tm));
	printf("%-20s %s, %s\n", "started", text,
	       vt_units_duration(duration, sizeof(duration),
				 duration_ns > 0 ? (uint64_t)duration_ns : 0));
}

/* What was in use at the peak, and what of it. */
static void print_use(const struct vt_device_use *use, uint64_t driver_bytes, uint64_t blocks_bytes)
{
	const struct {
		const char *before, *after;
		uint64_t bytes;
		int is_known;
	} parts[] = {
		{ "", " from the driver", driver_bytes, 1 },
		{ "unfilled pages ", "", use->rounding_bytes, use->rounding_bytes != 0 },
		{ "context ", "", use->context_bytes, use->has_context },
		{ "other processes ", "", use->other_bytes, use->other_bytes != 0 },
	};
	char text[VT_UNITS_MAX];

	printf("%-20s peak %s: ", "", vt_units_bytes(text, sizeof(text), use->peak_bytes));
	for (size_t i = 0; i < VT_ARRAY_SIZE(parts); i++)
		if (parts[i].is_known)
			printf("%s%s%s%s", i ? ", " : "", parts[i].before,
			       vt_units_bytes(text, sizeof(text), parts[i].bytes), parts[i].after);
	if (blocks_bytes)
		printf("; most allocated %s", vt_units_bytes(text, sizeof(text), blocks_bytes));
	putchar('\n');
}

static void print_device(struct vt_stmt *stmt, const struct vt_device_use *use)
{
	char total[VT_UNITS_MAX];
	int64_t capability = vt_stmt_int(stmt, 3), driver = vt_stmt_int(stmt, 5);
	char *name = vt_printable_copy(vt_stmt_text(stmt, 1));

	printf("cuda:%-15" PRId64 " %s%s, %s, compute %" PRId64 ".%" PRId64 ", %" PRId64
	       " SMs, driver %" PRId64 ".%" PRId64 "\n",
	       vt_stmt_int(stmt, 0), name && *name ? name : "?",
	       vt_stmt_int(stmt, 6) ? " (simulated)" : "",
	       vt_units_bytes(total, sizeof(total), (uint64_t)vt_stmt_int(stmt, 2)),
	       capability / 10, capability % 10, vt_stmt_int(stmt, 4), driver / 1000,
	       driver % 1000 / 10);
	free(name);
	if (use)
		print_use(use, (uint64_t)vt_stmt_int(stmt, 7), (uint64_t)vt_stmt_int(stmt, 9));
}

static void print_counts(struct vt_db *db)
{
	char text[VT_UNITS_MAX];

	printf("%-20s %s\n", "events",
	       vt_units_count(text, sizeof(text), (uint64_t)vt_db_run_get_int(db, "events", 0)));
	for (size_t i = 0; i < VT_ARRAY_SIZE(losses); i++)
		printf("  %-18s %s\n", losses[i],
		       vt_units_count(text, sizeof(text),
				      (uint64_t)vt_db_run_get_int(db, losses[i], 0)));
	for (size_t i = 0; i < VT_ARRAY_SIZE(counted); i++)
		printf("%-20s %s\n", counted[i].name,
		       vt_units_count(text, sizeof(text),
				      (uint64_t)count_rows(db, counted[i].table)));
}

/* What is known of a past that is folded: one line for each period and device. */
static void print_periods(struct vt_db *db)
{
	struct vt_stmt *stmt = vt_db_prepare(db, PERIOD_QUERY);
	int64_t start_ns = vt_db_run_get_int(db, "start_time_ns", 0);
	char time[VT_UNITS_MAX], used[VT_UNITS_MAX], most[VT_UNITS_MAX], events[VT_UNITS_MAX];

	print_line("folded", vt_folded_describe(db));
	while (vt_stmt_step(stmt) == 1) {
		int64_t from_ns = vt_stmt_int(stmt, 1) - start_ns;

		printf("period %-13" PRId64 " from t=%s: peak %s from the driver (event %" PRId64
		       "), %s in blocks (event %" PRId64 ") on cuda:%" PRId64
		       ", %s allocations and frees, %" PRId64 " failed, %" PRId64 " lost\n",
		       vt_stmt_int(stmt, 0),
		       vt_units_duration(time, sizeof(time), from_ns > 0 ? (uint64_t)from_ns : 0),
		       vt_units_bytes(used, sizeof(used), (uint64_t)vt_stmt_int(stmt, 12)),
		       vt_stmt_int(stmt, 11),
		       vt_units_bytes(most, sizeof(most), (uint64_t)vt_stmt_int(stmt, 15)),
		       vt_stmt_int(stmt, 14), vt_stmt_int(stmt, 10),
		       vt_units_count(events, sizeof(events),
				      (uint64_t)(vt_stmt_int(stmt, 5) + vt_stmt_int(stmt, 6))),
		       vt_stmt_int(stmt, 7), vt_stmt_int(stmt, 9));
	}
	vt_stmt_free(stmt);
}

static void print_text(struct vt_db *db, const struct uses *uses)
{
	struct vt_stmt *stmt;
	char size[VT_UNITS_MAX];

	printf("%-20s %s, %s\n", "file", vt_db_shown_path(db),
	       vt_units_bytes(size, sizeof(size), (uint64_t)file_bytes(db)));
	print_fact(db, "command", "command");
	print_fact(db, "executable", "executable");
	print_fact(db, "folder", "cwd");
	print_fact(db, "host", "hostname");
	print_fact(db, "pid", "pid");
	print_time(db);
	print_ended(db);
	print_fact(db, "recording stopped", "recording_stopped");
	print_fact(db, "recorder", "recorder");
	print_fact(db, "python", "python");
	print_fact(db, "torch", "torch");
	stmt = vt_db_prepare(
		db, "SELECT substr(key, 5), value FROM run WHERE key LIKE 'env:%' ORDER BY key");
	while (vt_stmt_step(stmt) == 1)
		print_line("environment",
			   vt_xasprintf("%s=%s", vt_stmt_text(stmt, 0), vt_stmt_text(stmt, 1)));
	vt_stmt_free(stmt);
	stmt = vt_db_prepare(db, DEVICE_QUERY);
	while (vt_stmt_step(stmt) == 1)
		print_device(stmt, use_of(uses, vt_stmt_int(stmt, 0)));
	vt_stmt_free(stmt);
	print_counts(db);
	print_periods(db);
}

int vt_cmd_info(int argc, char **argv)
{
	struct vt_diag diag = { 0 };
	struct vt_db *db = NULL;
	struct uses uses;
	int is_json = 0, id;

	while ((id = vt_options_next(&spec, argc, argv)) > 0)
		is_json |= id == 'j';
	if (id < 0)
		return vt_options_exit_code(id);
	if (argc - optind != 1)
		return vt_options_wrong(&spec, "needs one file");
	if (vt_input_open(argv[optind], &db, &diag))
		return vt_diag_print(&diag);
	uses.nr = vt_device_use_read(&uses.items, db, &diag);
	if (uses.nr < 0) {
		vt_db_close(db);
		return vt_diag_print(&diag);
	}
	if (is_json)
		print_json(db, &uses);
	else
		print_text(db, &uses);
	free(uses.items);
	vt_db_close(db);
	return VT_EXIT_OK;
}
