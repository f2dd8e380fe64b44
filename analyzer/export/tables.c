/* SPDX-License-Identifier: MIT */
#include "analyzer/export/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/analysis/books.h"
#include "analyzer/base/map.h"
#include "analyzer/base/util.h"
#include "analyzer/export/csv.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/blocks.h"
#include "analyzer/report/report_iterations.h"

#define NUMBER(name) { #name, 0 },
#define TEXT(name) { #name, 1 },
#define COLUMNS(NAME, name)                                                                        \
	static const struct vt_tables_column name##_columns[] = { VT_TABLES_##NAME(NUMBER, TEXT) };
VT_TABLES(COLUMNS)
#undef COLUMNS
#undef NUMBER
#undef TEXT

const struct vt_table_spec vt_tables_all[VT_NR_TABLES] = {
#define TABLE(NAME, name) { #name, name##_columns, VT_ARRAY_SIZE(name##_columns) },
	VT_TABLES(TABLE)
#undef TABLE
};

struct writer {
	const char *folder;
	const struct vt_rank *rank;
	struct vt_analysis analysis;
	struct vt_describe describe;
	struct vt_map places;	/* stacks of an allocation: index into texts */
	VT_VECTOR(char *) texts;
};

char *vt_tables_path(const char *folder, unsigned table, int64_t rank, const char *suffix)
{
	return vt_xasprintf("%s/%s/rank=%" PRId64 "/data.%s", folder, vt_tables_all[table].name,
			    rank, suffix);
}

void vt_tables_remove(const char *folder, int64_t rank)
{
	static const char *const suffixes[] = { "csv", "parquet" };

	for (unsigned table = 0; table < VT_NR_TABLES; table++) {
		for (size_t i = 0; i < VT_ARRAY_SIZE(suffixes); i++) {
			char *path = vt_tables_path(folder, table, rank, suffixes[i]);

			unlink(path);
			/* The rank's folder and the table's, where they are empty then. */
			for (int up = 0; up < 2; up++) {
				*strrchr(path, '/') = '\0';
				rmdir(path);
			}
			free(path);
		}
	}
}

static void make_folders(const char *path)
{
	char *folder = vt_xstrdup(path);

	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, 0777);
		*slash = '/';
	}
	free(folder);
}

static void number_or_null(struct vt_csv *csv, int64_t number, int is_known)
{
	if (is_known)
		vt_csv_number(csv, number);
	else
		vt_csv_null(csv);
}

static void write_run(struct writer *w, struct vt_csv *csv)
{
	struct vt_stmt *stmt = vt_db_prepare(w->analysis.db,
					     "SELECT key, value FROM run ORDER BY key");

	while (vt_stmt_step(stmt) == 1) {
		vt_csv_text(csv, vt_stmt_text(stmt, 0));
		vt_csv_text(csv, vt_stmt_text(stmt, 1));
	}
	vt_stmt_free(stmt);
}

static void write_figures(struct writer *w, struct vt_csv *csv)
{
	const struct vt_rank *rank = w->rank;
	int has_device = rank->device != VT_RANK_NONE;

	number_or_null(csv, rank->world_size, rank->world_size != 0);
	number_or_null(csv, rank->local_rank, rank->local_rank != VT_RANK_NONE);
	vt_csv_text(csv, rank->host);
	vt_csv_text(csv, rank->job);
	vt_csv_number(csv, rank->pid);
	vt_csv_text(csv, rank->ended);
	vt_csv_number(csv, vt_rank_has_died(rank));
	vt_csv_number(csv, rank->out_of_memory);
	vt_csv_number(csv, rank->events);
	vt_csv_number(csv, rank->lost);
	vt_csv_number(csv, rank->start_realtime_ns);
	vt_csv_number(csv, rank->duration_ns);
	number_or_null(csv, rank->device, has_device);
	vt_csv_text(csv, rank->device_name);
	vt_csv_number(csv, rank->device_bytes);
	vt_csv_number(csv, rank->peak_bytes);
	vt_csv_number(csv, rank->allocated_bytes);
	vt_csv_number(csv, rank->event);
	vt_csv_number(csv, rank->steps);
	number_or_null(csv, rank->growth_bytes, (int)rank->has_growth);
}

/* The innermost line that is to be seen; NULL: there is none. */
static const char *place_of(struct writer *w, const struct vt_allocation *a)
{
	struct vt_key key = { vt_producer_stack(&w->analysis.model, a),
			      a->common->made->native_stack, 0 };
	const uint64_t *known = vt_map_find(&w->places, key);
	struct vt_lines lines;
	char *text;

	if (known)
		return w->texts.items[*known];
	lines = vt_producer_lines(&w->describe, a);
	text = lines.nr ? vt_xstrdup(lines.text[0]) : NULL;
	vt_lines_free(&lines);
	vt_map_put(&w->places, key, w->texts.len);
	vt_vector_push(&w->texts, text);
	return text;
}

/* When it was made: the stage, and the training step. */
static void write_moment(struct writer *w, struct vt_csv *csv, int64_t event)
{
	const struct vt_stages *stages = &w->analysis.stages;
	uint32_t index = vt_stages_span_at(stages, event);
	const struct vt_span *span = index == VT_NO_INDEX ? NULL : &stages->spans[index];
	int has_stage = span && span->stage != VT_NO_STAGE;

	vt_csv_text(csv, has_stage ? vt_evidence_stages[span->stage] : NULL);
	number_or_null(csv, span ? span->step : 0, span && span->step);
}

static void write_allocation_row(struct writer *w, struct vt_csv *csv, uint32_t index)
{
	const struct vt_allocation *a = &w->analysis.model.allocations[index];
	struct vt_attribution *attribution = &w->analysis.attribution;
	int is_freed = a->freed_event != VT_NEVER, is_owned = vt_allocation_is_owned(a);
	struct vt_verdict verdict = { 0 };

	if (is_owned)
		verdict = vt_attribution_judge(attribution, index);
	vt_csv_number(csv, a->event);
	number_or_null(csv, a->freed_event, is_freed);
	vt_csv_number(csv, vt_model_made_ns(&w->analysis.model, a));
	number_or_null(csv, vt_model_freed_ns(&w->analysis.model, a), is_freed);
	vt_csv_text(csv, vt_blocks_kind(a));
	vt_csv_number(csv, a->common->device);
	vt_csv_number(csv, (int64_t)a->address);
	vt_csv_number(csv, (int64_t)a->common->size_bytes);
	number_or_null(csv, (int64_t)a->common->requested_bytes, a->common->requested_bytes != 0);
	vt_csv_number(csv, (int64_t)a->common->made->stream);
	vt_csv_number(csv, a->common->made->thread);
	vt_csv_number(csv, is_owned);
	vt_csv_text(csv, is_owned ? vt_attribution_owner(attribution, verdict.owner) : NULL);
	vt_csv_text(csv, is_owned ? vt_evidence_provenances[verdict.provenance] : NULL);
	vt_csv_text(csv, place_of(w, a));
	write_moment(w, csv, a->event);
}

static void write_allocation(struct writer *w, struct vt_csv *csv)
{
	for (uint32_t i = 0; i < w->analysis.model.nr_allocations; i++)
		write_allocation_row(w, csv, i);
}

static void write_rest_row(struct writer *w, struct vt_csv *csv, const char *owner, int64_t bytes)
{
	vt_csv_number(csv, w->rank->device);
	vt_csv_text(csv, owner);
	vt_csv_number(csv, bytes);
}

static void write_rest(struct writer *w, struct vt_csv *csv)
{
	struct vt_books books;

	if (w->rank->device == VT_RANK_NONE)
		return;
	vt_books_init(&books, &w->analysis.attribution, (int)w->rank->device, w->rank->event);
	for (uint32_t i = 0; i < books.nr_rest; i++)
		write_rest_row(w, csv, books.rest[i].owner, (int64_t)books.rest[i].bytes);
	if (books.unseen_bytes > 0)
		write_rest_row(w, csv, "unaccounted", books.unseen_bytes);
	vt_books_release(&books);
}

static void write_step(struct writer *w, struct vt_csv *csv)
{
	const struct vt_model *model = &w->analysis.model;
	const struct vt_device **devices = vt_xcalloc(model->nr_devices + 1, sizeof(*devices));
	struct vt_report_iterations iterations;

	for (uint32_t i = 0; i < model->nr_devices; i++)
		devices[i] = &model->devices[i];
	vt_report_iterations_init(&iterations, &w->analysis, devices, model->nr_devices);
	for (uint32_t i = 0; i < iterations.nr_steps; i++) {
		const struct vt_report_step *step = &iterations.steps[i];

		vt_csv_number(csv, step->index);
		vt_csv_number(csv, step->device);
		vt_csv_number(csv, step->is_complete);
		vt_csv_number(csv, (int64_t)step->iteration.peak_bytes);
		vt_csv_number(csv, (int64_t)step->iteration.peak_device_bytes);
		vt_csv_number(csv, (int64_t)step->iteration.end_bytes);
	}
	vt_report_iterations_release(&iterations);
	free(devices);
}

static void write_out_of_memory(struct writer *w, struct vt_csv *csv)
{
	const struct vt_model *model = &w->analysis.model;

	for (uint32_t i = 0; i < model->nr_ooms; i++) {
		const struct vt_out_of_memory *oom = &model->ooms[i];

		vt_csv_number(csv, oom->event);
		vt_csv_number(csv, oom->time_ns);
		vt_csv_number(csv, oom->device);
		vt_csv_number(csv, (int64_t)oom->requested_bytes);
		vt_csv_number(csv, (int64_t)oom->allocated_bytes);
		vt_csv_number(csv, (int64_t)oom->reserved_bytes);
	}
}

static int write_table(struct writer *w, unsigned table,
		       void (*write)(struct writer *w, struct vt_csv *csv), struct vt_diag *diag)
{
	const struct vt_table_spec *spec = &vt_tables_all[table];
	char *path = vt_tables_path(w->folder, table, w->rank->number, "csv");
	const char **names = vt_xcalloc(spec->nr_columns, sizeof(*names));
	struct vt_csv csv;
	int rc;

	for (unsigned i = 0; i < spec->nr_columns; i++)
		names[i] = spec->columns[i].name;
	make_folders(path);
	errno = 0;
	vt_csv_open(&csv, path, names, spec->nr_columns);
	if (csv.file)
		write(w, &csv);
	rc = vt_csv_close(&csv);
	if (rc)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	free(names);
	free(path);
	return rc;
}

int vt_tables_write(const char *folder, const struct vt_rank *rank, const char *rules,
		    struct vt_diag *diag)
{
#define WRITE(NAME, name) write_##name,
	static void (*const writers[])(struct writer *, struct vt_csv *) = { VT_TABLES(WRITE) };
#undef WRITE
	struct writer w = { .folder = folder, .rank = rank };
	int rc = vt_analysis_open(&w.analysis, rank->file, rules, diag);

	if (!rc)
		vt_describe_init(&w.describe, &w.analysis.model, 0);
	for (unsigned i = 0; i < VT_NR_TABLES && !rc; i++)
		rc = write_table(&w, i, writers[i], diag);
	for (size_t i = 0; i < w.texts.len; i++)
		free(w.texts.items[i]);
	vt_vector_release(&w.texts);
	vt_map_release(&w.places);
	vt_describe_release(&w.describe);
	vt_analysis_close(&w.analysis);
	return rc;
}
