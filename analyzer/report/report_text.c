/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report.h"
#include "analyzer/analysis/ended.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/shell.h"
#include "analyzer/diagnosis/leaks.h"
#include "analyzer/model/losses.h"
#include "analyzer/model/samples.h"
#include "analyzer/report/context_section.h"
#include "analyzer/report/findings_print.h"
#include "analyzer/report/keeper_table.h"
#include "analyzer/analysis/limits.h"
#include "analyzer/report/owner_table.h"
#include "analyzer/analysis/program_name.h"
#include "analyzer/report/report_sections.h"
#include "analyzer/report/report_stages_text.h"
#include "analyzer/report/report_warn.h"
#include "analyzer/report/reached_thresholds.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/report/zero_reads.h"

#define BOLD     "1"
#define BOLD_RED "1;31"

static int is_terminal(FILE *out)
{
	return isatty(fileno(out)) && !getenv("NO_COLOR");
}

static void print_heading(FILE *out, const char *colour, const char *text)
{
	if (is_terminal(out))
		fprintf(out, "\033[%sm%s\033[0m", colour, text);
	else
		fputs(text, out);
}

char *vt_report_ending(const struct vt_report *report)
{
	int number;
	char rest;

	if (vt_losses_is_cut(report->analysis->db))
		return vt_xasprintf("recorded in part (%s)", report->ended);
	if (strcmp(report->ended, "exit 0") == 0)
		return vt_xstrdup("ended normally");
	if (sscanf(report->ended, "exit %d%c", &number, &rest) == 1)
		return vt_xasprintf("ended with exit status %d", number);
	if (sscanf(report->ended, "signal %d%c", &number, &rest) == 1)
		return vt_xasprintf("ended by signal %d (%s)", number, strsignal(number));
	if (vt_ended_is_running(report->ended))
		return vt_xstrdup("still running");
	return vt_printable_make(vt_xasprintf("ended %s", vt_ended_text(report->ended)));
}

/* "  WORD VALUE", nothing where the value is not known. */
static void print_known(const struct vt_report *report, const char *word, const char *key,
			FILE *out)
{
	char *value = vt_printable_make(vt_db_run_get(report->analysis->db, key));

	if (value)
		fprintf(out, "  %s %s", word, value);
	free(value);
}

static void print_header(const struct vt_report *report, FILE *out)
{
	char *program = vt_program_name_of(report->analysis->db);
	char *ending = vt_report_ending(report);
	int64_t duration = vt_ended_ran_ns(report->analysis->db);
	char text[VT_UNITS_MAX];

	fputs(program, out);
	print_known(report, "pid", "pid", out);
	print_known(report, "python", "python", out);
	print_known(report, "torch", "torch", out);
	for (uint32_t i = 0; i < report->nr_devices; i++)
		if (!i || strcmp(report->devices[i].device->name,
				 report->devices[i - 1].device->name) != 0)
			fprintf(out, "  %s", report->devices[i].device->name);
	if (duration >= 0)
		/* Nobody saw it end: its last event is what is known. */
		fprintf(out, "  ran %s%s,", strcmp(report->ended, "killed") ? "" : "at least ",
			vt_units_duration(text, sizeof(text), (uint64_t)duration));
	fprintf(out, " %s\n", ending);
	free(program);
	free(ending);
}

static void print_out_of_memory(const struct vt_report *report, FILE *out)
{
	if (!report->out_of_memory.oom)
		return;
	print_heading(out, BOLD_RED, "OUT OF MEMORY");
	vt_oom_print_text(&report->out_of_memory, out);
}

/* Nothing is said where everything has a name. */
static void print_unknown(const struct vt_report *report, const struct vt_hotspots *hotspots,
			  struct vt_report_unit unit, FILE *out)
{
	uint32_t nr = 0;
	char text[VT_UNITS_MAX];

	for (uint32_t i = 0; i < hotspots->nr; i++)
		nr += vt_report_is_unknown(report, &hotspots->items[i]) != 0;
	if (!nr || !report->options->top)
		return;
	fputc('\n', out);
	print_heading(out, BOLD, "UNKNOWN");
	fprintf(out, "  top %u of %s call sites that no rule matches\n",
		nr < report->options->top ? nr : report->options->top,
		vt_units_count(text, sizeof(text), nr));
	vt_report_sections_unknown(report, hotspots, unit, out);
}

static void print_keepers(const struct vt_report *report, const struct vt_report_device *row,
			  struct vt_report_unit unit, FILE *out)
{
	struct vt_keeper_table table;

	vt_keeper_table_init(&table, report, row);
	vt_keeper_table_print(&table, unit, out);
	vt_keeper_table_release(&table);
}

/* Whether the moment is as good as that of the failed request, whose owners were listed. */
static int is_told(const struct vt_report *report, const struct vt_report_device *row)
{
	const struct vt_oom *told = &report->out_of_memory;
	const struct vt_timeline *timeline = &report->analysis->timeline;
	int64_t from = row->chosen.books.event, to;
	uint32_t end;

	if (!told->oom || told->oom->device != row->device->id)
		return 0;
	to = told->books.event;
	if (from > to) {
		from = to;
		to = row->chosen.books.event;
	}
	end = vt_timeline_after(timeline, to);
	for (uint32_t i = vt_timeline_after(timeline, from); i < end; i++)
		if (timeline->moments[i].what == VT_MOMENT_ALLOC ||
		    timeline->moments[i].what == VT_MOMENT_FREE)
			return 0;
	return 1;
}

static void print_stacks(const struct vt_report *report, const struct vt_hotspots *hotspots,
			 const char *when, struct vt_report_unit unit, FILE *out)
{
	unsigned top = report->options->top;
	char text[VT_UNITS_MAX];

	if (hotspots->nr && top) {
		fputc('\n', out);
		print_heading(out, BOLD, "STACKS");
		fprintf(out, "  top %u of %s call sites%s\n",
			hotspots->nr < top ? hotspots->nr : top,
			vt_units_count(text, sizeof(text), hotspots->nr), when);
		vt_report_sections_places(report, hotspots, unit, out);
	}
	print_unknown(report, hotspots, unit, out);
}

/* "PEAK  62.97 GiB of 79.10 GiB on cuda:0   t=...": all that is asked for is at one moment. */
static void print_one_moment(const struct vt_report *report, const struct vt_report_device *row,
			     FILE *out)
{
	const struct vt_peak *peak = vt_model_peak(&report->analysis->model, row->device->id);
	int is_peak = strcmp(report->options->when, "peak") == 0;
	char text[VT_UNITS_MAX];

	print_heading(out, BOLD, is_peak ? "PEAK" : "AT");
	if (!is_peak)
		fprintf(out, " %s", report->options->when);
	fprintf(out, "  %s",
		vt_units_bytes(text, sizeof(text), vt_books_device_used(&row->chosen.books)));
	if (row->device->total_bytes)
		fprintf(out, " of %s",
			vt_units_bytes(text, sizeof(text), row->device->total_bytes));
	fprintf(out, " on cuda:%d", row->device->id);
	vt_peak_context_print(&row->chosen.place, out);
	if (is_peak && peak && peak->max_allocated_bytes)
		fprintf(out, "  most allocated at the same moment: %s\n",
			vt_units_bytes(text, sizeof(text), peak->max_allocated_bytes));
	fputc('\n', out);
}

/*
 * After warm-up the device is often fullest at a moment when tensors take little: the allocator
 * keeps what it once took.
 */
static void print_two_moments(const struct vt_report_device *row, FILE *out)
{
	char text[VT_UNITS_MAX];

	print_heading(out, BOLD, "PEAK");
	fprintf(out, " on cuda:%d", row->device->id);
	if (row->device->total_bytes)
		fprintf(out, " (%s)", vt_units_bytes(text, sizeof(text), row->device->total_bytes));
	fprintf(out, "\n  most allocated  %10s",
		vt_units_bytes(text, sizeof(text), row->most_allocated.books.allocated_bytes));
	vt_peak_context_print(&row->most_allocated.place, out);
	fprintf(out, "  most used       %10s",
		vt_units_bytes(text, sizeof(text), vt_books_device_used(&row->chosen.books)));
	vt_peak_context_print(&row->chosen.place, out);
	fputc('\n', out);
}

static void print_owners(const struct vt_report *report, const struct vt_report_device *row,
			 struct vt_report_unit unit, FILE *out)
{
	const struct vt_owner_column one = { .books = &row->chosen.books };
	const struct vt_owner_column two[] = {
		{ .books = &row->most_allocated.books, .title = "most allocated" },
		{ .books = &row->chosen.books, .title = "most used" },
	};

	if (report->options->is_by_keeper)
		print_keepers(report, row, unit, out);
	else if (vt_report_has_most_allocated(row))
		vt_owner_table_print(two, 2, unit, out);
	else if (is_told(report, row))
		fputs("  owners: as at the failed request, above\n", out);
	else
		vt_owner_table_print(&one, 1, unit, out);
}

static void print_device(const struct vt_report *report, const struct vt_report_device *row,
			 FILE *out)
{
	struct vt_report_unit unit =
		vt_report_sections_unit(vt_books_device_used(&row->chosen.books));
	int has_two = vt_report_has_most_allocated(row);

	if (has_two)
		print_two_moments(row, out);
	else
		print_one_moment(report, row, out);
	print_owners(report, row, unit, out);
	vt_context_section_print(report, row, out);
	print_stacks(report, has_two ? &row->most_allocated.hotspots : &row->chosen.hotspots,
		     has_two ? ", when most was allocated" : "", unit, out);
	fputc('\n', out);
	if (vt_report_stages_text_table(report, row->device->id, unit, out) +
	    vt_report_stages_text_steps(report, row->device->id, unit, out) +
	    vt_report_stages_text_calls(report, row->device->id, unit, out))
		fputc('\n', out);
}

static void print_findings(const struct vt_report *report, FILE *out)
{
	char *unfinished;

	if (!report->findings.len) {
		/* Of a whole run silence is an answer. */
		unfinished = report->analysis->model.nr_ooms ?
				     vt_limits_unfinished(report->analysis) :
				     NULL;
		if (unfinished) {
			print_heading(out, BOLD, "FINDINGS");
			fprintf(out, "  none: %s\n\n", unfinished);
		}
		free(unfinished);
		return;
	}
	print_heading(out, BOLD, "FINDINGS");
	vt_findings_print_text(&report->findings, out);
	fputc('\n', out);
}

static void print_coverage(const struct vt_report *report, FILE *out)
{
	const double *share = report->coverage;

	if (!report->nr_devices)
		return;
	fprintf(out,
		"coverage: %.1f %% by name, data flow or autograd, %.1f %% by rule,"
		" %.1f %% unknown\n",
		100 * (share[VT_PROVENANCE_NAMES] + share[VT_PROVENANCE_FLOW] +
		       share[VT_PROVENANCE_AUTOGRAD]),
		100 * (share[VT_PROVENANCE_SCOPE] + share[VT_PROVENANCE_FRAMES] +
		       share[VT_PROVENANCE_SHAPE] + share[VT_PROVENANCE_LIFETIME]),
		100 * share[VT_PROVENANCE_UNKNOWN]);
}

static void print_losses(const struct vt_report *report, FILE *out)
{
	char *stacks = vt_printable_make(vt_db_run_get(report->analysis->db, "python_stacks"));

	vt_limits_print_losses(report->analysis, out);
	if (stacks)
		fprintf(out, "note: Python stacks: %s\n", stacks);
	free(stacks);
}

/* The code of kernels is loaded when they are first used, and libraries take memory then. */
static void print_growth(const struct vt_report *report, const struct vt_report_device *row,
			 FILE *out)
{
	const uint64_t noticeable = VT_MIB;
	char a[VT_UNITS_MAX], b[VT_UNITS_MAX];
	uint64_t first, last;

	if (vt_samples_context_growth(&report->analysis->model, row->device->id, &first, &last) &&
	    last >= first + noticeable)
		fprintf(out, "note: the context on cuda:%d grew from %s to %s during the run\n",
			row->device->id, vt_units_bytes(a, sizeof(a), first),
			vt_units_bytes(b, sizeof(b), last));
}

/* Less than that comes of a sample that is a little older than the moment. */
static void print_difference(const struct vt_report_device *row, FILE *out)
{
	const uint64_t noticeable = VT_MIB;
	const struct vt_books *books = &row->chosen.books;
	char text[VT_UNITS_MAX];
	uint64_t bytes = (uint64_t)(books->unseen_bytes < 0 ? -books->unseen_bytes
							    : books->unseen_bytes);

	if (bytes >= noticeable)
		fprintf(out,
			"note: the driver reports %s %s in use on cuda:%d than was recorded: "
			"probably kernel code and libraries loaded later%s\n",
			vt_units_bytes(text, sizeof(text), bytes),
			books->unseen_bytes < 0 ? "less" : "more", row->device->id,
			books->has_other ? "" : ", or other processes");
}

static void print_outside(const struct vt_report *report, FILE *out)
{
	int is_unknown = 0;

	for (uint32_t i = 0; i < report->nr_devices; i++) {
		print_growth(report, &report->devices[i], out);
		print_difference(&report->devices[i], out);
		is_unknown |= !report->devices[i].chosen.books.has_other;
	}
	if (is_unknown)
		fprintf(out,
			"note: memory of other processes is unknown (NVML did not answer); any is "
			"counted as context\n");
}

/* Recordings of before pools were asked, and drivers that do not answer. */
static int has_silent_pools(const struct vt_report *report)
{
	const struct vt_model *model = &report->analysis->model;

	for (uint32_t i = 0; i < model->nr_events; i++)
		if (model->events[i].op == VT_OP_MEMORY_INFO &&
		    model->events[i].kind == VT_KIND_POOL)
			return 0;
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->kind == VT_KIND_POOL)
			return 1;
	return 0;
}

static void print_notes(const struct vt_report *report, FILE *out)
{
	vt_limits_print_notes(report->analysis, out);
	print_outside(report, out);
	if (has_silent_pools(report))
		fprintf(out,
			"note: stream-ordered memory (cudaMallocAsync) counts until it is freed; "
			"memory that the driver's pool keeps after that is part of the context\n");
	for (uint32_t i = 0; i < report->nr_devices; i++)
		if (report->devices[i].device->is_simulated) {
			fprintf(out,
				"note: simulated device: kernels did no work, so losses, outputs "
				"and timings are meaningless; allocation sizes are real\n");
			return;
		}
}

/* Growth is known of runs that do one thing often enough. */
static int has_iterations(const struct vt_report *report)
{
	const struct vt_facts *facts = report->analysis->attribution.facts;
	struct vt_iterations iterations;
	int has;

	vt_iterations_init(&iterations, facts->stages, facts->last_working_event);
	has = iterations.nr >= vt_leaks_min_iterations(iterations.kind);
	vt_iterations_release(&iterations);
	return has;
}

static int has_blocks(const struct vt_report *report)
{
	for (uint32_t i = 0; i < report->nr_devices; i++)
		if (vt_trace_has_blocks(&report->analysis->model, report->devices[i].device->id))
			return 1;
	return 0;
}

/* What has something to say of this run. */
static void print_next(const struct vt_report *report, const char *path, FILE *out)
{
	char *file = vt_shell_copy(path), *when = vt_shell_copy(report->options->when);

	fputs("next: ", out);
	if (report->out_of_memory.oom)
		fprintf(out, "vtrace oom %s | ", file);
	if (report->nr_devices)
		fprintf(out, "vtrace html %s | ", file);
	fprintf(out, "vtrace blocks %s --at %s", file, when);
	if (has_blocks(report))
		fprintf(out, " | vtrace frag %s", file);
	if (has_iterations(report))
		fprintf(out, " | vtrace leaks %s", file);
	fprintf(out, " | vtrace diff BASE %s\n", file);
	free(file);
	free(when);
}

void vt_report_text_print(const struct vt_report *report, const char *path, FILE *out)
{
	print_header(report, out);
	fputc('\n', out);
	print_out_of_memory(report, out);
	vt_zero_reads_print(report, out);
	for (uint32_t i = 0; i < report->nr_devices; i++)
		print_device(report, &report->devices[i], out);
	if (!report->nr_devices)
		fprintf(out, "no device memory was allocated\n\n");
	vt_pinned_host_print(&report->pinned, out);
	vt_report_warn_print(report, out);
	if (report->options->warn_share > 0)
		fputc('\n', out);
	vt_reached_thresholds_print(report->analysis->db, out);
	print_findings(report, out);
	print_coverage(report, out);
	print_losses(report, out);
	print_notes(report, out);
	print_next(report, path, out);
}
