/* SPDX-License-Identifier: MIT */
#include "analyzer/live/top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/program_name.h"
#include "analyzer/base/clock.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/live/top_rows.h"
#include "analyzer/output/table.h"
#include "analyzer/report/report.h"

#define BAR_WIDTH 30
#define MOST_UNREADABLE 5
#define NS	  1000000000

static void print_bar(uint64_t used, uint64_t total, unsigned width, FILE *out)
{
	unsigned full = total ? (unsigned)((double)used / (double)total * width + 0.5) : 0;

	fputc('[', out);
	for (unsigned i = 0; i < width; i++)
		fputc(i < full ? '#' : '.', out);
	fputc(']', out);
}

/* The device that holds most; NULL: nothing was allocated yet. */
static const struct vt_device *fullest(const struct vt_model *model)
{
	const struct vt_device *found = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < model->nr_devices; i++) {
		const struct vt_peak *peak = vt_model_peak(model, model->devices[i].id);

		if (peak && (!found || peak->used_bytes > most)) {
			found = &model->devices[i];
			most = peak->used_bytes;
		}
	}
	return found;
}

/* Since the start: of a program that runs this moment, of another its end. */
static int64_t now_of(const struct vt_analysis *analysis, const struct vt_rank *rank)
{
	int64_t last = vt_timeline_time(&analysis->timeline, analysis->model.last_event);

	return rank->duration_ns > last ? rank->duration_ns : last;
}

static void print_head(struct vt_analysis *analysis, const char *ended, int64_t now_ns, FILE *out)
{
	char *program = vt_program_name_of(analysis->db);
	char *doing = vt_stages_doing(&analysis->stages, analysis->model.last_event);
	char ran[VT_UNITS_MAX], events[VT_UNITS_MAX], lost[VT_UNITS_MAX];

	fprintf(out, "%s  pid %" PRId64 "  %s  %s", program,
		vt_db_run_get_int(analysis->db, "pid", 0), ended,
		vt_units_duration(ran, sizeof(ran), now_ns > 0 ? (uint64_t)now_ns : 0));
	fprintf(out, "%s%s  %s events, %s lost\n", doing ? "  " : "", doing ? doing : "",
		vt_units_count(events, sizeof(events), (uint64_t)analysis->model.last_event),
		vt_units_count(lost, sizeof(lost),
			       (uint64_t)vt_db_run_get_int(analysis->db, "lost_events", 0)));
	free(doing);
	free(program);
}

static void print_device(const struct vt_device *device, const struct vt_books *books, FILE *out)
{
	uint64_t used = vt_books_device_used(books);
	char text[VT_UNITS_MAX], total[VT_UNITS_MAX];

	fprintf(out, "cuda:%d %s ", device->id, device->name ? device->name : "");
	print_bar(used, device->total_bytes, BAR_WIDTH, out);
	fprintf(out, " %.1f %%\n",
		device->total_bytes ? 100.0 * (double)used / (double)device->total_bytes : 0);
	fprintf(out, "used %s of %s", vt_units_bytes(text, sizeof(text), used),
		vt_units_bytes(total, sizeof(total), device->total_bytes));
	fprintf(out, "  blocks %s", vt_units_bytes(text, sizeof(text), books->allocated_bytes));
	fprintf(out, "  reserved %s\n\n",
		vt_units_bytes(text, sizeof(text), books->reserved_bytes));
}

static void print_recording(struct vt_analysis *analysis, const struct vt_rank *rank,
			    const struct vt_top_options *options, FILE *out)
{
	const struct vt_device *device = fullest(&analysis->model);
	int64_t now = now_of(analysis, rank);
	struct vt_top_rows rows = { 0 };

	print_head(analysis, rank->ended, now, out);
	if (!device) {
		fputs("no GPU memory was allocated yet\n", out);
		return;
	}
	vt_top_rows_init(&rows, analysis, device->id, now - options->window_s * NS);
	print_device(device, &rows.books, out);
	vt_top_rows_print(&rows, options, out);
	vt_top_rows_release(&rows);
}

static void add_row(struct vt_table *table, const struct vt_rank *rank, int is_numbered_here)
{
	char name[32], used[VT_UNITS_MAX], owned[VT_UNITS_MAX], growth[VT_UNITS_MAX] = "";
	char bar[16] = "", steps[VT_UNITS_MAX], *text = NULL, *file;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	file = vt_printable_copy(vt_util_base_name(rank->file));
	snprintf(name, sizeof(name), strlen(file) < sizeof(name) ? "%s" : "%.28s...", file);
	if (!is_numbered_here && rank->number != VT_RANK_NONE)
		snprintf(name, sizeof(name), "%" PRId64, rank->number);
	if (stream) {
		print_bar((uint64_t)rank->used_now_bytes, (uint64_t)rank->device_bytes, 10, stream);
		fclose(stream);
		snprintf(bar, sizeof(bar), "%s", text);
	}
	if (rank->has_growth)
		vt_units_bytes_signed(growth, sizeof(growth), rank->growth_bytes);
	vt_units_bytes(used, sizeof(used), (uint64_t)rank->used_now_bytes);
	vt_units_bytes(owned, sizeof(owned), (uint64_t)rank->owned_now_bytes);
	vt_units_count(steps, sizeof(steps), (uint64_t)rank->steps);
	vt_table_add(table, (const char *[]){ name, used, bar, owned, growth, steps,
					      vt_ended_text(rank->ended) });
	free(text);
	free(file);
}

static void print_unreadable(const struct vt_ranks_runs *runs, FILE *out)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < runs->nr_files; i++) {
		char *problem = vt_printable_copy(runs->files[i].problem);

		if (problem && nr++ < MOST_UNREADABLE)
			fprintf(out, "not readable: %s\n", problem);
		free(problem);
	}
	if (nr > MOST_UNREADABLE)
		fprintf(out, "not readable: %u more (vtrace list)\n", nr - MOST_UNREADABLE);
}

static void print_folder(const struct vt_ranks_runs *runs, const char *path, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "recording", 0 }, { "used now", 1 }, { "of card", 0 }, { "allocated", 1 },
		{ "per step", 1 },  { "steps", 1 },    { "ended", 0 },
	};
	char *name = vt_printable_copy(path);
	struct vt_table table;

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (vt_ranks_runs_is_process(&runs->files[i]))
			add_row(&table, &runs->files[i], runs->is_numbered_here);
	fprintf(out, "%s: %u recording%s\n\n", name, table.nr_rows,
		table.nr_rows == 1 ? "" : "s");
	vt_table_print(&table, out, 0);
	print_unreadable(runs, out);
	vt_table_release(&table);
	free(name);
}

void vt_top_print(struct vt_look *look, const char *path, const struct vt_top_options *options,
		  FILE *out)
{
	if (look->is_folder)
		print_folder(&look->runs, path, out);
	else
		print_recording(&look->analysis, &look->runs.files[0], options, out);
}
