/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/recording_list.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/program_name.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/shell.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

#define FORMAT 1

const struct vt_rank **vt_recording_list_sorted(const struct vt_ranks_runs *runs, uint32_t *nr)
{
	const struct vt_rank **rows = vt_xcalloc((size_t)runs->nr_files + 1, sizeof(*rows));

	*nr = 0;
	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (!runs->files[i].problem)
			rows[(*nr)++] = &runs->files[i];
	vt_sort(rows, *nr, vt_ranks_runs_compare_starts);
	return rows;
}

static void add_row(struct vt_table *table, const struct vt_rank *rank)
{
	char started[32] = "", used[VT_UNITS_MAX], allocated[VT_UNITS_MAX], ran[VT_UNITS_MAX];
	time_t seconds = (time_t)(rank->start_realtime_ns / 1000000000);
	char *file = vt_printable_copy(vt_util_base_name(rank->file));
	char *program = vt_program_name(rank->command);
	struct tm utc;

	if (rank->start_realtime_ns > 0 && gmtime_r(&seconds, &utc))
		strftime(started, sizeof(started), "%Y-%m-%d %H:%M:%S", &utc);
	vt_units_bytes(used, sizeof(used), (uint64_t)rank->peak_bytes);
	vt_units_bytes(allocated, sizeof(allocated), (uint64_t)rank->allocated_bytes);
	vt_units_duration(ran, sizeof(ran),
			  rank->duration_ns > 0 ? (uint64_t)rank->duration_ns : 0);
	vt_table_add(table, (const char *[]){ file, started, program, ran,
					      rank->device_name ? rank->device_name : "none", used,
					      allocated, vt_ended_text(rank->ended) });
	free(program);
	free(file);
}

void vt_recording_list_text(const struct vt_ranks_runs *runs, const char *folder, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "file", 0 },   { "started (UTC)", 0 }, { "program", 0 },        { "ran", 1 },
		{ "device", 0 }, { "process used", 1 },  { "most allocated", 1 }, { "ended", 0 },
	};
	uint32_t nr;
	const struct vt_rank **rows = vt_recording_list_sorted(runs, &nr), *highest = NULL;
	struct vt_table table;
	char *name = vt_printable_copy(folder), *file;

	fprintf(out, "%s: %u recording%s%s\n\n", name, nr, nr == 1 ? "" : "s",
		runs->is_unrelated ? " of separate runs" : "");
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < nr; i++) {
		add_row(&table, rows[i]);
		if (!highest || rows[i]->peak_bytes > highest->peak_bytes)
			highest = rows[i];
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (runs->files[i].problem)
			fprintf(out, "not readable: %s\n", runs->files[i].problem);
	file = vt_shell_copy(highest->file);
	fprintf(out, "\nnext: vtrace report %s\n", file);
	free(file);
	free(name);
	free(rows);
}

static json_t *row_json(const struct vt_rank *rank)
{
	json_t *object = json_object();
	json_t *command = rank->command ? json_loads(rank->command, 0, NULL) : NULL;

	vt_json_set(object, "file", rank->file);
	vt_json_set_if(object, "command", command, command);
	vt_json_set(object, "host", rank->host);
	vt_json_set(object, "pid", rank->pid);
	vt_json_set(object, "start_realtime_ns", rank->start_realtime_ns);
	vt_json_set(object, "duration_ns", rank->duration_ns);
	vt_json_set(object, "ended", rank->ended);
	vt_json_set(object, "device_name", rank->device_name);
	vt_json_set(object, "process_used_bytes", rank->peak_bytes);
	vt_json_set(object, "allocated_bytes", rank->allocated_bytes);
	return object;
}

void vt_recording_list_json(const struct vt_ranks_runs *runs, const char *folder, FILE *out)
{
	json_t *object = json_object(), *array = json_array(), *problems = json_array();
	uint32_t nr;
	const struct vt_rank **rows = vt_recording_list_sorted(runs, &nr);

	for (uint32_t i = 0; i < nr; i++)
		json_array_append_new(array, row_json(rows[i]));
	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (runs->files[i].problem)
			vt_json_append(problems, runs->files[i].problem);
	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "folder", folder);
	vt_json_set(object, "recordings", array);
	vt_json_set(object, "not_readable", problems);
	vt_json_print(object, out);
	free(rows);
}
