/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/rank.h"

#include <jansson.h>
#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/attribution/moments.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"
#include "analyzer/diagnosis/find_contexts.h"
#include "analyzer/model/samples.h"
#include "analyzer/output/json.h"
#include "analyzer/report/report.h"

/* Of a launcher that set no facts itself (recordings of earlier versions) its variables. */
static int64_t number_of(struct vt_db *db, const char *key, const char *variable, int64_t fallback)
{
	return vt_db_run_get_int(db, key, vt_db_run_get_int(db, variable, fallback));
}

/* A damaged file's must not make us allocate the world. */
static int64_t clamp(int64_t number, int64_t least)
{
	return number < least || number > VT_RANK_MOST ? least : number;
}

static void read_run(struct vt_rank *rank, struct vt_analysis *analysis)
{
	struct vt_db *db = analysis->db;

	rank->number = clamp(
		number_of(db, "rank", "env:RANK", VT_RANK_NONE), VT_RANK_NONE);
	rank->world_size = clamp(number_of(db, "world_size", "env:WORLD_SIZE", 0), 0);
	rank->local_rank = number_of(db, "local_rank", "env:LOCAL_RANK", VT_RANK_NONE);
	rank->pid = vt_db_run_get_int(db, "pid", 0);
	rank->start_time_ns = vt_db_run_get_int(db, "start_time_ns", 0);
	rank->start_realtime_ns = vt_db_run_get_int(db, "start_realtime_ns", 0);
	rank->duration_ns = vt_ended_ran_ns(db);
	if (rank->duration_ns < 0)
		rank->duration_ns = 0;
	rank->is_snapshot = vt_db_run_get_int(db, "snapshot_realtime_ns", 0) != 0;
	rank->events = vt_db_run_get_int(db, "events", analysis->model.last_event);
	rank->lost = vt_db_run_get_int(db, "lost_events", 0);
	rank->missing_slots = vt_db_run_get_int(db, "missing_slots", 0);
	rank->out_of_memory = analysis->model.nr_ooms;
	rank->host = vt_printable_make(vt_db_run_get(db, "hostname"));
	rank->job = vt_printable_make(vt_db_run_get(db, "job"));
	rank->command = vt_printable_make(vt_db_run_get(db, "command"));
	rank->ended = vt_printable_make(vt_report_ended(analysis));
}

static uint64_t peak_of(const struct vt_analysis *analysis, const struct vt_device *device)
{
	const struct vt_peak *peak = vt_model_peak(&analysis->model, device->id);

	return peak ? vt_samples_process_used(&analysis->model, device->id, peak->used_bytes,
					      vt_timeline_time(&analysis->timeline, peak->event))
		    : 0;
}

/* A rank has one device; memory on another one, by mistake or for peers, is only counted. */
static const struct vt_device *choose_device(struct vt_rank *rank,
					     const struct vt_analysis *analysis)
{
	const struct vt_model *model = &analysis->model;
	const struct vt_device *chosen = NULL;

	for (uint32_t i = 0; i < model->nr_devices; i++) {
		if (!vt_model_peak(model, model->devices[i].id))
			continue;
		rank->nr_devices++;
		if (!chosen || peak_of(analysis, &model->devices[i]) > peak_of(analysis, chosen))
			chosen = &model->devices[i];
	}
	return chosen;
}

/* The largest context on a device that the rank does not work on. */
static void read_idle_context(struct vt_rank *rank, const struct vt_analysis *analysis)
{
	struct vt_idle_contexts contexts = { 0 };
	const struct vt_idle_context *largest = NULL;
	struct vt_describe describe;

	vt_find_contexts_elsewhere(&analysis->model, &contexts);
	for (size_t i = 0; i < contexts.len; i++)
		if (!largest || contexts.items[i].context_bytes > largest->context_bytes)
			largest = &contexts.items[i];
	if (largest) {
		vt_describe_init(&describe, &analysis->model, 0);
		rank->idle_device = largest->device;
		rank->idle_bytes = (int64_t)(largest->context_bytes + largest->used_bytes);
		rank->idle_where = vt_find_contexts_line(&describe, largest);
		vt_describe_release(&describe);
	}
	vt_vector_release(&contexts);
}

static void add_owner(struct vt_rank *rank, const char *owner, uint64_t bytes)
{
	if (!bytes)
		return;
	rank->owners[rank->nr_owners++] =
		(struct vt_rank_owner){ .owner = vt_xstrdup(owner), .bytes = bytes };
}

static void read_owners(struct vt_rank *rank, struct vt_analysis *analysis)
{
	struct vt_books books;

	vt_books_init(&books, &analysis->attribution, (int)rank->device, rank->event);
	rank->owners = vt_xcalloc(books.nr_lines + books.nr_rest + 2, sizeof(*rank->owners));
	for (uint32_t i = 0; i < books.nr_lines; i++) {
		add_owner(rank, books.lines[i].owner, books.lines[i].bytes);
		rank->owned_now_bytes += (int64_t)books.lines[i].bytes;
	}
	for (uint32_t i = 0; i < books.nr_rest; i++)
		add_owner(rank, books.rest[i].owner, books.rest[i].bytes);
	if (books.unseen_bytes > 0)
		add_owner(rank, "unaccounted", (uint64_t)books.unseen_bytes);
	rank->used_now_bytes = (int64_t)vt_books_device_used(&books);
	rank->process_now_bytes = (int64_t)vt_books_process_used(&books);
	rank->has_others = books.has_other;
	rank->reserved_now_bytes = (int64_t)books.reserved_bytes;
	vt_books_release(&books);
}

static void read_steps(struct vt_rank *rank, struct vt_analysis *analysis)
{
	const struct vt_device *device = vt_model_device(&analysis->model, (int)rank->device);
	const struct vt_stages *stages = &analysis->stages;
	struct vt_report_iterations iterations = { 0 };

	rank->step_ends = vt_xcalloc(VT_RANK_MOST_STEPS, sizeof(*rank->step_ends));
	for (uint32_t i = 0; i < stages->steps.nr; i++) {
		const struct vt_step *step = &stages->steps.steps[i];

		if (!step->is_complete)
			continue;
		rank->steps++;
		if (rank->nr_step_ends == i && i < VT_RANK_MOST_STEPS)
			rank->step_ends[rank->nr_step_ends++] = vt_timeline_time(
				stages->timeline, stages->spans[step->last_span].last_event);
	}
	vt_report_iterations_init(&iterations, analysis, &device, 1);
	rank->has_growth = vt_report_iterations_step_growth(&iterations, (int)rank->device,
						       &rank->growth_bytes);
	vt_report_iterations_release(&iterations);
}

static int read_device(struct vt_rank *rank, struct vt_analysis *analysis,
		       const struct vt_device *device, const struct vt_rank_options *options,
		       struct vt_diag *diag)
{
	const struct vt_peak *peak = vt_model_peak(&analysis->model, device->id);

	rank->device = device->id;
	rank->device_name = vt_xstrdup(device->name);
	rank->device_bytes = (int64_t)device->total_bytes;
	rank->peak_bytes = (int64_t)peak_of(analysis, device);
	rank->peak_time_ns = vt_timeline_time(&analysis->timeline, peak->event);
	rank->device_peak_bytes = (int64_t)vt_samples_device_used(
		&analysis->model, device->id, peak->used_bytes, rank->peak_time_ns);
	rank->allocated_bytes = (int64_t)vt_model_most_allocated(peak);
	if (vt_moments_resolve(&analysis->stages, options->when, device->id, &rank->event, diag))
		return -1;
	rank->doing = vt_stages_doing(&analysis->stages, rank->event);
	read_owners(rank, analysis);
	read_steps(rank, analysis);
	return 0;
}

static void begin(struct vt_rank *rank, const char *path)
{
	memset(rank, 0, sizeof(*rank));
	rank->file = vt_xstrdup(path);
	rank->device = VT_RANK_NONE;
	rank->idle_device = VT_RANK_NONE;
}

static int read_analysis(struct vt_rank *rank, struct vt_analysis *analysis,
			 const struct vt_rank_options *options, struct vt_diag *diag)
{
	const struct vt_device *device;

	read_run(rank, analysis);
	read_idle_context(rank, analysis);
	device = choose_device(rank, analysis);
	return device ? read_device(rank, analysis, device, options, diag) : 0;
}

int vt_rank_take(struct vt_rank *rank, struct vt_analysis *analysis, const char *path,
		 const struct vt_rank_options *options, struct vt_diag *diag)
{
	begin(rank, path);
	return read_analysis(rank, analysis, options, diag);
}

int vt_rank_read(struct vt_rank *rank, const char *path, const struct vt_rank_options *options,
		 struct vt_diag *diag)
{
	struct vt_analysis analysis = { 0 };
	int rc;

	begin(rank, path);
	rc = vt_analysis_open(&analysis, path, options->rules, diag);
	if (!rc)
		rc = read_analysis(rank, &analysis, options, diag);
	vt_analysis_close(&analysis);
	return rc;
}

void vt_rank_release(struct vt_rank *rank)
{
#define TEXT(field) free(rank->field);
	VT_RANK_TEXTS(TEXT)
#undef TEXT
	for (uint32_t i = 0; i < rank->nr_owners; i++)
		free(rank->owners[i].owner);
	free(rank->owners);
	free(rank->step_ends);
	free(rank->file);
	free(rank->problem);
	memset(rank, 0, sizeof(*rank));
}

int vt_rank_has_died(const struct vt_rank *rank)
{
	return vt_ended_has_failed(rank->ended);
}

char *vt_rank_pack(const struct vt_rank *rank)
{
	json_t *object = json_object(), *owners = json_array(), *ends = json_array();
	char *text;

#define NUMBER(field) vt_json_set(object, #field, rank->field);
#define TEXT(field) \
	if (rank->field) \
		vt_json_set(object, #field, rank->field);
	VT_RANK_NUMBERS(NUMBER)
	VT_RANK_TEXTS(TEXT)
#undef NUMBER
#undef TEXT
	if (rank->problem)
		vt_json_set(object, "problem", rank->problem);
	for (uint32_t i = 0; i < rank->nr_owners; i++)
		json_array_append_new(owners, json_pack("[oI]", vt_json_text(rank->owners[i].owner),
							(json_int_t)rank->owners[i].bytes));
	for (uint32_t i = 0; i < rank->nr_step_ends; i++)
		vt_json_append(ends, rank->step_ends[i]);
	vt_json_set(object, "owners", owners);
	vt_json_set(object, "step_ends", ends);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

static char *copy_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? vt_xstrdup(text) : NULL;
}

static void unpack_lists(struct vt_rank *rank, const json_t *object)
{
	const json_t *owners = json_object_get(object, "owners");
	const json_t *ends = json_object_get(object, "step_ends");

	rank->nr_owners = (uint32_t)json_array_size(owners);
	rank->owners = vt_xcalloc(rank->nr_owners + 1, sizeof(*rank->owners));
	for (uint32_t i = 0; i < rank->nr_owners; i++) {
		const json_t *row = json_array_get(owners, i);
		const char *owner = json_string_value(json_array_get(row, 0));

		rank->owners[i].owner = vt_xstrdup(owner ? owner : "");
		rank->owners[i].bytes = (uint64_t)json_integer_value(json_array_get(row, 1));
	}
	rank->nr_step_ends = (uint32_t)json_array_size(ends);
	rank->step_ends = vt_xcalloc(rank->nr_step_ends + 1, sizeof(*rank->step_ends));
	for (uint32_t i = 0; i < rank->nr_step_ends; i++)
		rank->step_ends[i] = json_integer_value(json_array_get(ends, i));
}

int vt_rank_unpack(struct vt_rank *rank, const char *text, size_t len)
{
	json_t *object = json_loadb(text, len, 0, NULL);

	memset(rank, 0, sizeof(*rank));
	if (!json_is_object(object)) {
		json_decref(object);
		return -1;
	}
#define NUMBER(field) rank->field = json_integer_value(json_object_get(object, #field));
#define TEXT(field) rank->field = copy_text(object, #field);
	VT_RANK_NUMBERS(NUMBER)
	VT_RANK_TEXTS(TEXT)
#undef NUMBER
#undef TEXT
	rank->problem = copy_text(object, "problem");
	unpack_lists(rank, object);
	json_decref(object);
	return 0;
}
