/* SPDX-License-Identifier: MIT */
#include "analyzer/live/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analysis/books.h"
#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/program_name.h"
#include "analyzer/base/hash.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/util.h"

struct metric {
	const char *name;
	const char *unit; /* "": a count */
	const char *help;
	int is_counter;
	int64_t (*value)(const struct vt_rank *rank); /* NULL: one for each owner */
};

#define FIELD(field) \
	static int64_t value_of_##field(const struct vt_rank *rank) { return rank->field; }
FIELD(device_bytes)
FIELD(reserved_now_bytes)
FIELD(owned_now_bytes)
FIELD(process_now_bytes)
FIELD(growth_bytes)
FIELD(steps)
FIELD(events)
FIELD(lost)
FIELD(out_of_memory)
#undef FIELD

static int is_of_others(const struct vt_rank_owner *owner)
{
	return !strcmp(owner->owner, vt_rest_owners[VT_REST_OTHER_PROCESSES]);
}

static int64_t value_of_others(const struct vt_rank *rank)
{
	for (uint32_t i = 0; i < rank->nr_owners; i++)
		if (is_of_others(&rank->owners[i]))
			return (int64_t)rank->owners[i].bytes;
	return 0;
}

/* The peak is where most was recorded: with a context that grew since, now may be higher. */
static int64_t value_of_peak(const struct vt_rank *rank)
{
	return rank->device_peak_bytes > rank->used_now_bytes ? rank->device_peak_bytes
							      : rank->used_now_bytes;
}

static int64_t is_running(const struct vt_rank *rank)
{
	return vt_ended_is_running(rank->ended);
}

static const struct metric metrics[] = {
	{ "vtrace_device_bytes", "bytes", "Total memory of the device.", 0, value_of_device_bytes },
	{ "vtrace_used_bytes", "bytes", "Device memory in use by the process, with its context.", 0,
	  value_of_process_now_bytes },
	{ "vtrace_other_processes_bytes", "bytes", "Device memory of other processes.", 0,
	  value_of_others },
	{ "vtrace_reserved_bytes", "bytes", "Memory that allocators reserved from the driver.", 0,
	  value_of_reserved_now_bytes },
	{ "vtrace_allocated_bytes", "bytes", "Memory allocated to blocks, or without an allocator.",
	  0, value_of_owned_now_bytes },
	{ "vtrace_owner_bytes", "bytes", "Memory in use by owner.", 0, NULL },
	{ "vtrace_peak_used_bytes", "bytes", "Peak use of the device so far, with other processes.",
	  0, value_of_peak },
	{ "vtrace_step_growth_bytes", "bytes", "Growth of allocated memory per step.", 0,
	  value_of_growth_bytes },
	{ "vtrace_running", "", "1 while the program runs.", 0, is_running },
	{ "vtrace_steps", "", "Training steps that ended.", 1, value_of_steps },
	{ "vtrace_events", "", "Events recorded.", 1, value_of_events },
	{ "vtrace_lost_events", "", "Events lost because the journal was full.", 1, value_of_lost },
	{ "vtrace_out_of_memory", "", "Requests of PyTorch's allocator that failed.", 1,
	  value_of_out_of_memory },
};

/*
 * Values of labels are UTF-8 without control characters; backslash and quote are escaped.  Two
 * that differ only in what cannot be shown stay two, by a number.
 */
static void print_label(const char *name, const char *value, FILE *out)
{
	char *shown = vt_printable_copy(value ? value : "");

	fprintf(out, "%s=\"", name);
	for (const char *at = shown; *at; at++) {
		if (*at == '\\' || *at == '"')
			fputc('\\', out);
		fputc(*at, out);
	}
	if (value && strcmp(shown, value) != 0)
		fprintf(out, "#%08" PRIx64, vt_hash_text(value, strlen(value)) & UINT32_MAX);
	fputc('"', out);
	free(shown);
}

static void print_sample(const struct metric *metric, const struct vt_rank *rank, int has_rank,
			 const char *program, const struct vt_rank_owner *owner, FILE *out)
{
	fprintf(out, "%s%s{", metric->name, metric->is_counter ? "_total" : "");
	print_label("file", vt_util_base_name(rank->file), out);
	fputc(',', out);
	print_label("program", program, out);
	fprintf(out, ",pid=\"%" PRId64 "\"", rank->pid);
	if (rank->device != VT_RANK_NONE)
		fprintf(out, ",device=\"%" PRId64 "\"", rank->device);
	if (has_rank)
		fprintf(out, ",rank=\"%" PRId64 "\"", rank->number);
	if (owner) {
		fputc(',', out);
		print_label("owner", owner->owner, out);
	}
	fprintf(out, "} %" PRId64 "\n", owner ? (int64_t)owner->bytes : metric->value(rank));
}

/* Other processes, too, are known only once NVML has been asked. */
static int is_known(const struct metric *metric, const struct vt_rank *rank)
{
	if (metric->value == value_of_growth_bytes)
		return rank->has_growth != 0;
	return metric->value != value_of_others || rank->has_others;
}

/* All samples of a metric are together. */
static void print_metric(const struct metric *metric, const struct vt_ranks_runs *runs,
			 char *const *programs, FILE *out)
{
	for (uint32_t i = 0; i < runs->nr_files; i++) {
		const struct vt_rank *rank = &runs->files[i];
		int has_rank = !runs->is_numbered_here && rank->number != VT_RANK_NONE;

		if (!vt_ranks_runs_is_process(rank) ||
		    (metric->unit[0] && rank->device == VT_RANK_NONE))
			continue;
		if (!is_known(metric, rank))
			continue;
		if (metric->value)
			print_sample(metric, rank, has_rank, programs[i], NULL, out);
		for (uint32_t k = 0; !metric->value && k < rank->nr_owners; k++)
			if (!is_of_others(&rank->owners[k]))
				print_sample(metric, rank, has_rank, programs[i],
					     &rank->owners[k], out);
	}
}

void vt_metrics_print(const struct vt_ranks_runs *runs, enum vt_metrics_format format, FILE *out)
{
	int is_open = format == VT_METRICS_OPENMETRICS;
	char **programs = vt_xcalloc((size_t)runs->nr_files + 1, sizeof(*programs));

	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (!runs->files[i].problem)
			programs[i] = vt_program_name(runs->files[i].command);
	for (size_t i = 0; i < VT_ARRAY_SIZE(metrics); i++) {
		const struct metric *metric = &metrics[i];
		const char *end = metric->is_counter && !is_open ? "_total" : "";

		fprintf(out, "# HELP %s%s %s\n", metric->name, end, metric->help);
		fprintf(out, "# TYPE %s%s %s\n", metric->name, end,
			metric->is_counter ? "counter" : "gauge");
		if (is_open && metric->unit[0])
			fprintf(out, "# UNIT %s %s\n", metric->name, metric->unit);
		print_metric(metric, runs, programs, out);
	}
	if (is_open)
		fputs("# EOF\n", out);
	for (uint32_t i = 0; i < runs->nr_files; i++)
		free(programs[i]);
	free(programs);
}
