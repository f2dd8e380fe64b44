/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/ranks.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/shell.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"
#include "analyzer/ranks/recording_list.h"

/* As many ranks as are listed one by one; of more the highest, the median, the lowest. */
#define MOST_RANKS 16
#define MOST_NUMBERS 16 /* in one line */
#define MOST_REASONS 3
#define MOST_LINES 5 /* files that are left out, ranks that died */
/* Owners below a thousandth of the device's use everywhere are not listed. */
#define LEAST_SHARE 0.001

enum { CELL = 40 };

static const char *gib(char *cell, uint64_t bytes)
{
	snprintf(cell, CELL, "%.2f", (double)bytes / (double)VT_GIB);
	return cell;
}

static void print_command(const struct vt_ranks *ranks, FILE *out)
{
	const char *text = ranks->run->ranks[0]->command;
	json_t *command = text ? json_loads(text, 0, NULL) : NULL;
	size_t nr = json_array_size(command);

	for (size_t i = 0; i < nr; i++) {
		const char *word = json_string_value(json_array_get(command, i));

		if (!word)
			word = "?";
		fprintf(out, "%s%s", i ? " " : "", i ? word : vt_util_base_name(word));
	}
	json_decref(command);
	fputs(nr ? "\n" : "", out);
}

static void print_head(const struct vt_ranks *ranks, FILE *out)
{
	const struct vt_ranks_run *run = ranks->run;

	print_command(ranks, out);
	fprintf(out, "%u", run->nr);
	if (run->world_size)
		fprintf(out, " of %u", run->world_size);
	fprintf(out, " rank%s on %u host%s", run->nr == 1 && !run->world_size ? "" : "s",
		ranks->clocks.nr, ranks->clocks.nr == 1 ? "" : "s");
	if (ranks->peak->device_name)
		fprintf(out, ", %s", ranks->peak->device_name);
	fputc('\n', out);
	if (ranks->runs.nr > 1)
		fprintf(out,
			"note: %u runs in this folder; this is run %u, the last of those with most"
			" ranks (--run N for another)\n",
			ranks->runs.nr, (unsigned)(run - ranks->runs.items) + 1);
	if (ranks->runs.is_numbered_here && ranks->runs.nr_files > 1)
		fputs("note: these processes have no ranks from a launcher; they are numbered by "
		      "file name\n",
		      out);
}

static void print_missing(const struct vt_ranks *ranks, FILE *out)
{
	if (!ranks->nr_missing)
		return;
	fprintf(out, "\nMISSING  %u of %u ranks left no recording here:", ranks->nr_missing,
		ranks->run->world_size);
	for (uint32_t i = 0; i < ranks->nr_missing && i < MOST_NUMBERS; i++)
		fprintf(out, " %u", ranks->missing[i]);
	fputs(ranks->nr_missing > MOST_NUMBERS ? " ...\n" : "\n", out);
	fputs("  ended before their first CUDA call, or recorded into another folder\n", out);
}

static void print_died(const struct vt_ranks *ranks, FILE *out)
{
	char time[VT_UNITS_MAX];

	if (!ranks->nr_died)
		return;
	fprintf(out, "\nDIED  %u of %u, in order\n", ranks->nr_died, ranks->run->nr);
	for (uint32_t i = 0; i < ranks->nr_died && i < MOST_LINES; i++) {
		const struct vt_rank *rank = ranks->died[i];
		int64_t end = vt_clocks_time(&ranks->clocks, rank, rank->duration_ns);
		char *file = vt_printable_copy(rank->file);

		fprintf(out, "  rank %" PRId64 "  %s%s  t=%s  %s\n", rank->number,
			vt_ended_text(rank->ended),
			rank->out_of_memory && strcmp(rank->ended, "out of memory") != 0
				? ", after a failed request"
				: "",
			vt_units_duration(time, sizeof(time), end < 0 ? 0 : (uint64_t)end), file);
		free(file);
	}
	if (ranks->nr_died > MOST_LINES)
		fprintf(out, "  ... %u more\n", ranks->nr_died - MOST_LINES);
}

static void add_rank(struct vt_table *table, const struct vt_ranks *ranks,
		     const struct vt_rank *rank)
{
	char number[CELL], device[CELL], used[CELL], allocated[CELL], steps[CELL],
		growth[VT_UNITS_MAX] = "";
	const char *word = rank == ranks->peak ? "highest" : rank == ranks->median ? "median" : "";

	snprintf(number, sizeof(number), "%" PRId64, rank->number);
	snprintf(device, sizeof(device), "cuda:%" PRId64 "%s", rank->device,
		 rank->nr_devices > 1 ? "+" : "");
	snprintf(steps, sizeof(steps), "%" PRId64, rank->steps);
	if (rank->has_growth)
		vt_units_bytes_signed(growth, sizeof(growth), rank->growth_bytes);
	vt_table_add(table,
		     (const char *[]){ number, rank->host ? rank->host : "?",
				       rank->device == VT_RANK_NONE ? "none" : device,
				       gib(used, (uint64_t)rank->peak_bytes),
				       gib(allocated, (uint64_t)rank->allocated_bytes), steps,
				       growth, vt_ended_text(rank->ended), word });
}

/* Of many ranks only those that matter. */
static int is_listed(const struct vt_ranks *ranks, const struct vt_rank *rank)
{
	return ranks->run->nr <= MOST_RANKS || rank == ranks->peak || rank == ranks->median ||
	       rank == ranks->process_used.min_rank;
}

static void print_ranks(const struct vt_ranks *ranks, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "rank", 1 },		{ "host", 0 },	{ "device", 0 },
		{ "process used GiB", 1 }, { "allocated GiB", 1 }, { "steps", 1 },
		{ "growth/step", 1 },	{ "ended", 0 }, { "", 0 },
	};
	struct vt_table table;

	fputs("\nRANKS  peak of each rank\n\n", out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < ranks->run->nr; i++)
		if (is_listed(ranks, ranks->run->ranks[i]))
			add_rank(&table, ranks, ranks->run->ranks[i]);
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
	if (ranks->run->nr > MOST_RANKS)
		fprintf(out, "  ... the highest, median and lowest of %u; --json lists all\n",
			ranks->run->nr);
}

/* Each of them takes from the rank whose device it is. */
static void print_idle_contexts(const struct vt_ranks *ranks, FILE *out)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ranks->run->nr; i++) {
		const struct vt_rank *rank = ranks->run->ranks[i];
		char bytes[VT_UNITS_MAX] = "an unknown amount";

		if (rank->idle_device == VT_RANK_NONE || nr++ >= MOST_LINES)
			continue;
		if (rank->idle_bytes)
			vt_units_bytes(bytes, sizeof(bytes), (uint64_t)rank->idle_bytes);
		fprintf(out,
			"%s  rank %" PRId64 " holds %s of cuda:%" PRId64
			", which it hardly uses%s%s\n",
			nr == 1 ? "\nCONTEXTS" : "        ", rank->number, bytes, rank->idle_device,
			rank->idle_where ? ": " : "", rank->idle_where ? rank->idle_where : "");
	}
	if (nr > MOST_LINES)
		fprintf(out, "          ... %u more ranks (--json)\n", nr - MOST_LINES);
	if (nr)
		fprintf(out, "          vtrace explain finding:context-elsewhere\n");
}

static void add_figure(struct vt_table *table, const struct vt_ranks *ranks, const char *name,
		       const struct vt_ranks_figure *figure)
{
	char low[CELL], mean[CELL], high[CELL], share[CELL] = "0.0", which[CELL] = "";

	if (figure->max_bytes != figure->min_bytes)
		snprintf(which, sizeof(which), "%" PRId64 "; lowest %" PRId64,
			 figure->max_rank->number, figure->min_rank->number);
	snprintf(share, sizeof(share), "%.1f", 100 * vt_ranks_imbalance(ranks, figure));
	vt_table_add(table, (const char *[]){ name, gib(low, figure->min_bytes),
					      gib(mean, figure->sum_bytes / ranks->run->nr),
					      gib(high, figure->max_bytes), share, which });
}

static void print_owners(const struct vt_ranks *ranks, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "owner", 0 },   { "min GiB", 1 },         { "mean GiB", 1 },
		{ "max GiB", 1 }, { "max over mean %", 1 }, { "highest on rank", 0 },
	};
	double least = LEAST_SHARE * (double)ranks->process_used.max_bytes;
	struct vt_table table;
	uint32_t nr_small = 0;

	fprintf(out, "\nOWNERS  over the ranks, at %s\n\n", ranks->options->rank.when);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (uint32_t i = 0; i < ranks->nr_owners; i++)
		if ((double)ranks->owners[i].max_bytes >= least)
			add_figure(&table, ranks, ranks->owners[i].owner, &ranks->owners[i]);
		else
			nr_small++;
	vt_table_add_line(&table);
	add_figure(&table, ranks, "peak process use", &ranks->process_used);
	add_figure(&table, ranks, "peak allocated", &ranks->allocated);
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
	if (nr_small)
		fprintf(out, "  %u owners below a thousandth of it are listed by --json\n",
			nr_small);
}

/* In a line what the tables below say. */
static void print_reason(const struct vt_diff *diff, FILE *out)
{
	const struct vt_diff_device *device = &diff->devices[0];
	char more[VT_UNITS_MAX];
	unsigned shown = 0;

	for (uint32_t i = 0; i < device->nr_owners && shown < MOST_REASONS; i++) {
		const struct vt_diff_owner *owner = &device->owners[i];

		if (owner->is_rest || owner->bytes[VT_DIFF_NEW] <= owner->bytes[VT_DIFF_BASE] ||
		    !vt_diff_is_owner_change(device, owner))
			continue;
		vt_units_bytes_signed(more, sizeof(more),
				      (int64_t)(owner->bytes[VT_DIFF_NEW] -
						owner->bytes[VT_DIFF_BASE]));
		fprintf(out, "%s%s %s", shown++ ? ", " : "  larger owners: ", owner->owner, more);
	}
	fputs(shown ? "\n" : "", out);
	for (uint32_t i = 0; i < diff->runs.nr; i++) {
		const struct vt_runs_row *row = &diff->runs.rows[i];

		if (!strncmp(row->what, "input ", strlen("input ")))
			fprintf(out, "  %s: %s (median rank: %s)\n", row->what,
				row->text[VT_DIFF_NEW] ? row->text[VT_DIFF_NEW] : "unknown",
				row->text[VT_DIFF_BASE] ? row->text[VT_DIFF_BASE] : "unknown");
	}
}

static void print_peak(struct vt_ranks *ranks, FILE *out)
{
	char more[VT_UNITS_MAX];

	if (ranks->run->nr < 2)
		return;
	if (!ranks->has_diff) {
		fprintf(out, "\nPEAK  rank %" PRId64 "; the median rank uses as much\n",
			ranks->peak->number);
		return;
	}
	vt_units_bytes_signed(more, sizeof(more),
			      ranks->peak->peak_bytes - ranks->median->peak_bytes);
	fprintf(out,
		"\nPEAK  rank %" PRId64 ": %s device use compared with rank %" PRId64
		", the median rank (below: base)\n",
		ranks->peak->number, more, ranks->median->number);
	print_reason(&ranks->diff, out);
	vt_diff_text_print(&ranks->diff, out);
}

static void print_clocks(const struct vt_clocks *clocks, FILE *out)
{
	char time[VT_UNITS_MAX];

	for (uint32_t i = 0; i < clocks->nr; i++) {
		const struct vt_clock *host = &clocks->hosts[i];
		uint64_t off = (uint64_t)(host->ahead_ns < 0 ? -host->ahead_ns : host->ahead_ns);

		if (host->spread_ns > clocks->tolerance_ns)
			fprintf(out,
				"clocks: %s: its wall clock was changed by %s between two of its "
				"ranks'"
				" starts, or two machines have this name\n",
				host->host,
				vt_units_duration(time, sizeof(time), (uint64_t)host->spread_ns));
		if (!i)
			continue;
		if (!host->nr_steps)
			fprintf(out,
				"clocks: %s: no step in common with %s: its wall clock is"
				" used unchanged\n",
				host->host, clocks->hosts[0].host);
		else if (vt_clocks_is_off(clocks, host))
			fprintf(out,
				"clocks: %s: its wall clock is %s %s that of %s, by the ends of %u"
				" common steps; times are corrected by that\n",
				host->host, vt_units_duration(time, sizeof(time), off),
				host->ahead_ns > 0 ? "ahead of" : "behind", clocks->hosts[0].host,
				host->nr_steps);
	}
}

static void print_left_out(const struct vt_ranks *ranks, FILE *out)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < ranks->runs.nr_files; i++) {
		const char *reason = vt_ranks_runs_reason(&ranks->runs, &ranks->runs.files[i]);
		char *file;

		if (!reason || nr++ >= MOST_LINES)
			continue;
		file = vt_printable_copy(ranks->runs.files[i].file);
		/* Most messages name the file themselves. */
		fprintf(out, "left out: %s%s%s\n", strstr(reason, file) ? "" : file,
			strstr(reason, file) ? "" : ": ", reason);
		free(file);
	}
	if (nr > MOST_LINES)
		fprintf(out, "left out: %u more (--json)\n", nr - MOST_LINES);
}

static void print_lost(const struct vt_ranks *ranks, FILE *out)
{
	for (uint32_t i = 0; i < ranks->run->nr; i++) {
		const struct vt_rank *rank = ranks->run->ranks[i];

		if (rank->lost)
			fprintf(out, "lost: %" PRId64 " events of rank %" PRId64 "\n", rank->lost,
				rank->number);
		if (rank->missing_slots)
			fprintf(out,
				"lost: the journal of rank %" PRId64 " is truncated: %" PRId64
				" slots are missing\n",
				rank->number, rank->missing_slots);
	}
}

static void print_next(const struct vt_ranks *ranks, FILE *out)
{
	char *peak = vt_shell_copy(ranks->peak->file), *median = vt_shell_copy(ranks->median->file);

	fprintf(out, "next: vtrace report %s", peak);
	/* It compares devices of one number. */
	if (ranks->median != ranks->peak && ranks->median->device == ranks->peak->device)
		fprintf(out, " | vtrace diff %s %s", median, peak);
	fputc('\n', out);
	free(peak);
	free(median);
}

/* Ranks that came too near to the size of their device. */
static void print_warnings(const struct vt_ranks *ranks, FILE *out)
{
	char most[VT_UNITS_MAX], bytes[VT_UNITS_MAX];
	uint32_t nr = 0, nr_unknown = 0;

	if (ranks->options->warn_share <= 0)
		return;
	for (uint32_t i = 0; i < ranks->run->nr; i++) {
		const struct vt_rank *rank = ranks->run->ranks[i];
		uint64_t limit = vt_ranks_warn_bytes(ranks, rank);

		nr_unknown += !limit;
		if (!limit || (uint64_t)rank->peak_bytes <= limit || nr++ >= MOST_NUMBERS)
			continue;
		fprintf(out, "WARN  rank %" PRId64 "  above %.0f %% of the device (%s): %s\n",
			rank->number, 100 * ranks->options->warn_share,
			vt_units_bytes(bytes, sizeof(bytes), limit),
			vt_units_bytes(most, sizeof(most), (uint64_t)rank->peak_bytes));
	}
	if (nr > MOST_NUMBERS)
		fprintf(out, "WARN  %u more ranks (--json)\n", nr - MOST_NUMBERS);
	if (nr_unknown)
		fprintf(out, "WARN  the size of the device is unknown for %u rank%s\n", nr_unknown,
			nr_unknown == 1 ? "" : "s");
	if (!nr)
		fprintf(out, "WARN  no rank above %.0f %% of its device\n",
			100 * ranks->options->warn_share);
}

void vt_ranks_text_print(struct vt_ranks *ranks, FILE *out)
{
	if (ranks->runs.is_unrelated) {
		vt_recording_list_text(&ranks->runs, ranks->folder, out);
		return;
	}
	print_head(ranks, out);
	print_died(ranks, out);
	print_missing(ranks, out);
	print_ranks(ranks, out);
	print_idle_contexts(ranks, out);
	print_owners(ranks, out);
	print_peak(ranks, out);
	fputc('\n', out);
	print_warnings(ranks, out);
	print_clocks(&ranks->clocks, out);
	print_lost(ranks, out);
	print_left_out(ranks, out);
	print_next(ranks, out);
}
