/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "analyzer/base/shell.h"
#include "analyzer/base/units.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"
#include "analyzer/planner/card_table.h"
#include "analyzer/planner/model_run.h"

/* Rows of less are left out of the text. */
#define SHOWN 0x1p20

#define FORMAT 1

static const char *gib(char *buf, double bytes)
{
	snprintf(buf, VT_UNITS_MAX, bytes < 0 ? "-" : "%.3f", bytes / VT_GIB);
	return buf;
}

static const char *text_at(const struct vt_model_run *run, const char *key)
{
	const char *text = json_string_value(json_object_get(run->result, key));

	return text ? text : "?";
}

static uint64_t parameters_of(const struct vt_model_run *run)
{
	return (uint64_t)json_integer_value(json_object_get(run->result, "parameters"));
}

static void print_versions(const struct vt_model_run *run, FILE *out)
{
	const json_t *versions = json_object_get(run->result, "versions");
	const char *library = text_at(run, "library");
	const char *version = json_string_value(json_object_get(versions, library));
	const char *torch = json_string_value(json_object_get(versions, "torch"));

	if (version)
		fprintf(out, "built by %s %s with PyTorch %s", library, version,
			torch ? torch : "?");
	else
		fprintf(out, "built by its script with PyTorch %s", torch ? torch : "?");
}

static void print_head(const struct vt_model_run *run, FILE *out)
{
	const json_t *notes = json_object_get(run->result, "notes");
	char buf[VT_UNITS_MAX], word[32];
	const json_t *note;
	size_t i;

	fprintf(out, "%s  %s parameters  %s, ", run->model,
		vt_units_count(buf, sizeof(buf), parameters_of(run)), text_at(run, "class"));
	print_versions(run, out);
	fprintf(out, "\nsettings:");
	for (int id = 0; id < VT_NR_SETTINGS; id++)
		if (run->settings->is_given[id] || id == VT_SET_MODE || id == VT_SET_BATCH ||
		    id == VT_SET_SEQ)
			fprintf(out, " %s=%s", vt_plan_settings_row((enum vt_setting)id)->name,
				vt_plan_settings_text(run->settings, (enum vt_setting)id, word,
						      sizeof(word)));
	fprintf(out, " weights=%s\n", text_at(run, "dtype"));
	json_array_foreach(notes, i, note)
		fprintf(out, "note: %s\n", json_string_value(note));
	if (run->plan_error)
		fprintf(out, "note: no formulas: %s\n", run->plan_error);
	else if (run->plan && run->plan->model->note)
		fprintf(out, "note: formulas: %s\n", run->plan->model->note);
	if (!run->measured.weights_dtype)
		fprintf(out, "note: no names of tensors in the recording: owners are guessed\n");
}

static void print_peak(const struct vt_model_run *run, FILE *out)
{
	double need = vt_model_run_need(run, run->gpu);
	char b[4][VT_UNITS_MAX];

	fprintf(out,
		"\nPEAK  %s GiB of the device: %s allocated at the peak, %s reserved, %s "
		"context\n\n",
		gib(b[0], need), gib(b[1], run->allocated), gib(b[2], run->used),
		gib(b[3], need - run->used));
}

/* One figure of the run beside that of the formulas. */
static void add_pair(struct vt_table *table, const char *name, double measured, double planned)
{
	char b[3][VT_UNITS_MAX];

	b[2][0] = '\0';
	if (planned >= 0 && measured >= SHOWN)
		snprintf(b[2], sizeof(b[2]), "%+.1f", 100 * (planned / measured - 1));
	vt_table_add(table, (const char *[]){ name, gib(b[0], measured), gib(b[1], planned),
					      b[2] });
}

static void print_owners(const struct vt_model_run *run, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "OWNER", 0 }, { "run GiB", 1 }, { "formulas", 1 }, { "%", 1 },
	};
	const struct vt_measured_stage *stage = &run->measured.stages[run->peak];
	struct vt_model_run_rows rows = { 0 };
	struct vt_table table;

	vt_model_run_rows(run, run->peak, &rows);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < rows.len; i++)
		if (fmax(rows.items[i].bytes, rows.items[i].planned) >= SHOWN)
			add_pair(&table, rows.items[i].owner, rows.items[i].bytes,
				 rows.items[i].planned);
	vt_table_add_line(&table);
	add_pair(&table, "allocated", (double)stage->allocated_bytes,
		 vt_model_run_planned(run, run->peak));
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
	vt_vector_release(&rows);
}

static void print_stages(const struct vt_model_run *run, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "STAGE", 0 }, { "run GiB", 1 }, { "formulas", 1 }, { "%", 1 },
	};
	struct vt_table table;

	fputc('\n', out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (unsigned i = 0; i < run->measured.nr_stages; i++)
		add_pair(&table, run->measured.stages[i].name,
			 (double)run->measured.stages[i].allocated_bytes,
			 vt_model_run_planned(run, i));
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
}

static void fill_card(const void *of, const struct vt_gpu *gpu, struct vt_card_row *row)
{
	const struct vt_model_run *run = of;

	snprintf(row->name, sizeof(row->name), "%s", gpu->name);
	row->usable_bytes = (double)gpu->usable_bytes;
	row->headroom_bytes = row->usable_bytes - vt_model_run_need(run, gpu);
	row->verdict = vt_card_fit_text(vt_model_run_judge(run, gpu));
	if (run->is_out_of_memory >= 0)
		snprintf(row->note, sizeof(row->note), "run with this memory");
}

void vt_model_run_print_text(const struct vt_model_run *run, FILE *out)
{
	char *path = vt_shell_copy(run->recording);

	print_head(run, out);
	print_peak(run, out);
	print_owners(run, out);
	print_stages(run, out);
	vt_card_table_print(run->gpu, fill_card, run, out);
	fprintf(out, "\nrecorded %s\nnext: vtrace report %s | vtrace html %s\n",
		run->is_kept ? "by an earlier command" : "on the simulator", path, path);
	free(path);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *bytes_of(double bytes)
{
	return bytes < 0 ? json_null() : json_integer((json_int_t)llround(bytes));
}

static json_t *owners_of(const struct vt_model_run *run, unsigned stage)
{
	struct vt_model_run_rows rows = { 0 };
	json_t *array = json_array();

	vt_model_run_rows(run, stage, &rows);
	for (size_t i = 0; i < rows.len; i++) {
		json_t *object = json_object();

		vt_json_set(object, "owner", rows.items[i].owner);
		vt_json_set(object, "bytes", bytes_of(rows.items[i].bytes));
		vt_json_set(object, "formula_bytes", bytes_of(rows.items[i].planned));
		json_array_append_new(array, object);
	}
	vt_vector_release(&rows);
	return array;
}

static json_t *stages_of(const struct vt_model_run *run)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < run->measured.nr_stages; i++) {
		json_t *object = json_object();

		vt_json_set(object, "name", run->measured.stages[i].name);
		vt_json_set(object, "allocated_bytes", run->measured.stages[i].allocated_bytes);
		vt_json_set(object, "formula_bytes", bytes_of(vt_model_run_planned(run, i)));
		vt_json_set(object, "owners", owners_of(run, i));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *gpu_of(const struct vt_model_run *run, const struct vt_gpu *gpu)
{
	double usable = (double)gpu->usable_bytes;
	json_t *object = json_object();

	vt_json_set(object, "name", gpu->name);
	vt_json_set(object, "usable_bytes", gpu->usable_bytes);
	vt_json_set(object, "headroom_bytes",
		    (json_int_t)llround(usable - vt_model_run_need(run, gpu)));
	vt_json_set(object, "fit", vt_card_fit_text(vt_model_run_judge(run, gpu)));
	vt_json_set(object, "tried", json_boolean(run->is_out_of_memory >= 0));
	return object;
}

static json_t *gpus_of(const struct vt_model_run *run)
{
	json_t *array = json_array();
	struct vt_gpu gpu;

	if (run->gpu)
		json_array_append_new(array, gpu_of(run, run->gpu));
	for (size_t i = 0; !run->gpu && !vt_gpus_at(i, &gpu); i++)
		json_array_append_new(array, gpu_of(run, &gpu));
	return array;
}

static json_t *settings_of(const struct vt_model_run *run)
{
	json_t *object = json_object();
	char word[32];

	for (int id = 0; id < VT_NR_SETTINGS; id++)
		vt_json_set(object, vt_plan_settings_row((enum vt_setting)id)->name,
			    vt_plan_settings_text(run->settings, (enum vt_setting)id, word,
						  sizeof(word)));
	return object;
}

void vt_model_run_print_json(const struct vt_model_run *run, FILE *out)
{
	json_t *object = json_object(), *peak = json_object(), *recorded = json_object();

	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "model", run->model);
	vt_json_set(object, "settings", settings_of(run));
	json_object_update(recorded, (json_t *)run->result);
	vt_json_set(recorded, "recording", run->recording);
	vt_json_set(recorded, "is_kept", json_boolean(run->is_kept));
	vt_json_set(object, "run", recorded);
	vt_json_set(peak, "allocated_bytes", bytes_of(run->allocated));
	vt_json_set(peak, "reserved_bytes", bytes_of(run->used));
	vt_json_set(peak, "device_bytes", bytes_of(vt_model_run_need(run, run->gpu)));
	vt_json_set(object, "peak", peak);
	vt_json_set(object, "peak_stage", run->measured.stages[run->peak].name);
	vt_json_set(object, "owners", owners_of(run, run->peak));
	vt_json_set(object, "stages", stages_of(run));
	vt_json_set(object, "formulas_error", run->plan_error);
	vt_json_set(object, "gpus", gpus_of(run));
	vt_json_print(object, out);
}
