/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/ranks.h"

#include <math.h>

#include "analyzer/base/util.h"
#include "analyzer/ranks/recording_list.h"
#include "analyzer/diff/diff_json.h"
#include "analyzer/report/json.h"

#define FORMAT 1

static json_t *number_or_null(int64_t value)
{
	return value == VT_RANK_NONE ? json_null() : json_integer(value);
}

static json_t *command(const struct vt_ranks *ranks)
{
	const char *text = ranks->run->ranks[0]->command;
	json_t *value = text ? json_loads(text, 0, NULL) : NULL;

	if (json_is_array(value))
		return value;
	json_decref(value);
	return json_array();
}

static json_t *run(const struct vt_ranks *ranks)
{
	const struct vt_ranks_run *run = ranks->run;
	json_t *object = json_object();

	json_object_set_new(object, "index", json_integer(run - ranks->runs.items + 1));
	json_object_set_new(object, "runs", json_integer(ranks->runs.nr));
	json_object_set_new(object, "command", command(ranks));
	json_object_set_new(object, "job", vt_json_text(run->ranks[0]->job));
	json_object_set_new(object, "ranks", json_integer(run->nr));
	json_object_set_new(object, "world_size",
			    run->world_size ? json_integer(run->world_size) : json_null());
	json_object_set_new(object, "ranks_recorded", json_boolean(!ranks->runs.is_numbered_here));
	return object;
}

static json_t *rank(const struct vt_ranks *ranks, const struct vt_rank *rank)
{
	json_t *object = json_object();

	json_object_set_new(object, "rank", json_integer(rank->number));
	json_object_set_new(object, "local_rank", number_or_null(rank->local_rank));
	json_object_set_new(object, "host", vt_json_text(rank->host));
	json_object_set_new(object, "pid", json_integer(rank->pid));
	json_object_set_new(object, "file", vt_json_text(rank->file));
	json_object_set_new(object, "ended", vt_json_text(rank->ended));
	json_object_set_new(object, "out_of_memory", json_integer(rank->out_of_memory));
	json_object_set_new(object, "events", json_integer(rank->events));
	json_object_set_new(object, "lost", json_integer(rank->lost));
	json_object_set_new(object, "missing_slots", json_integer(rank->missing_slots));
	json_object_set_new(object, "device", number_or_null(rank->device));
	json_object_set_new(object, "devices", json_integer(rank->nr_devices));
	json_object_set_new(object, "device_name", vt_json_text(rank->device_name));
	json_object_set_new(object, "total_bytes", json_integer(rank->device_bytes));
	json_object_set_new(object, "device_used_bytes", json_integer(rank->peak_bytes));
	json_object_set_new(object, "allocated_bytes", json_integer(rank->allocated_bytes));
	json_object_set_new(object, "doing", vt_json_text(rank->doing));
	json_object_set_new(object, "steps", json_integer(rank->steps));
	json_object_set_new(object, "growth_bytes",
			    rank->has_growth ? json_integer(rank->growth_bytes) : json_null());
	json_object_set_new(object, "start_ns",
			    json_integer(vt_clocks_time(&ranks->clocks, rank, 0)));
	json_object_set_new(object, "peak_ns", json_integer(vt_clocks_time(&ranks->clocks, rank,
									  rank->peak_time_ns)));
	json_object_set_new(object, "end_ns", json_integer(vt_clocks_time(&ranks->clocks, rank,
									 rank->duration_ns)));
	return object;
}

static void set_figure(json_t *object, const struct vt_ranks *ranks,
		       const struct vt_ranks_figure *figure)
{
	json_object_set_new(object, "min_bytes", vt_json_integer(figure->min_bytes));
	json_object_set_new(object, "mean_bytes",
			    vt_json_integer(figure->sum_bytes / ranks->run->nr));
	json_object_set_new(object, "max_bytes", vt_json_integer(figure->max_bytes));
	/* Rounded, so that no compiler's last digit shows. */
	json_object_set_new(object, "imbalance",
			    json_real(round(vt_ranks_imbalance(ranks, figure) * 1e5) / 1e5));
	json_object_set_new(object, "min_rank", json_integer(figure->min_rank->number));
	json_object_set_new(object, "max_rank", json_integer(figure->max_rank->number));
}

static json_t *figure_json(const struct vt_ranks *ranks, const struct vt_ranks_figure *figure)
{
	json_t *object = json_object();

	set_figure(object, ranks, figure);
	return object;
}

static json_t *owners(const struct vt_ranks *ranks)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < ranks->nr_owners; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "owner", vt_json_text(ranks->owners[i].owner));
		set_figure(object, ranks, &ranks->owners[i]);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *clocks(const struct vt_clocks *clocks)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < clocks->nr; i++) {
		const struct vt_clock *host = &clocks->hosts[i];
		json_t *object = json_object();

		json_object_set_new(object, "host", vt_json_text(host->host));
		json_object_set_new(object, "ranks", json_integer(host->nr_ranks));
		json_object_set_new(object, "steps", json_integer(host->nr_steps));
		json_object_set_new(object, "ahead_ns",
				    host->nr_steps ? json_integer(host->ahead_ns) : json_null());
		json_object_set_new(object, "is_off", json_boolean(vt_clocks_is_off(clocks, host)));
		json_object_set_new(object, "spread_ns", json_integer(host->spread_ns));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *left_out(const struct vt_ranks *ranks)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < ranks->runs.nr_files; i++) {
		const char *reason = vt_ranks_runs_reason(&ranks->runs, &ranks->runs.files[i]);
		json_t *object;

		if (!reason)
			continue;
		object = json_object();
		json_object_set_new(object, "file", vt_json_text(ranks->runs.files[i].file));
		json_object_set_new(object, "reason", vt_json_text(reason));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *warnings(const struct vt_ranks *ranks)
{
	json_t *object, *array;

	if (ranks->options->warn_share <= 0)
		return json_null();
	object = json_object();
	array = json_array();
	for (uint32_t i = 0; i < ranks->run->nr; i++) {
		const struct vt_rank *rank = ranks->run->ranks[i];
		uint64_t limit = vt_ranks_warn_bytes(ranks, rank);
		json_t *row = json_object();

		json_object_set_new(row, "rank", json_integer(rank->number));
		json_object_set_new(row, "limit_bytes",
				    limit ? vt_json_integer(limit) : json_null());
		json_object_set_new(row, "device_used_bytes", json_integer(rank->peak_bytes));
		json_object_set_new(row, "is_over",
				    json_boolean(limit && (uint64_t)rank->peak_bytes > limit));
		json_array_append_new(array, row);
	}
	json_object_set_new(object, "share", json_real(ranks->options->warn_share));
	json_object_set_new(object, "ranks", array);
	return object;
}

json_t *vt_ranks_json(struct vt_ranks *ranks)
{
	json_t *object = json_object(), *rows = json_array(), *missing = json_array(),
	       *died = json_array();

	for (uint32_t i = 0; i < ranks->run->nr; i++)
		json_array_append_new(rows, rank(ranks, ranks->run->ranks[i]));
	for (uint32_t i = 0; i < ranks->nr_missing; i++)
		json_array_append_new(missing, json_integer(ranks->missing[i]));
	for (uint32_t i = 0; i < ranks->nr_died; i++)
		json_array_append_new(died, json_integer(ranks->died[i]->number));
	json_object_set_new(object, "format", json_integer(FORMAT));
	json_object_set_new(object, "folder", vt_json_text(ranks->folder));
	json_object_set_new(object, "at", vt_json_text(ranks->options->rank.when));
	json_object_set_new(object, "run", run(ranks));
	json_object_set_new(object, "ranks", rows);
	json_object_set_new(object, "missing", missing);
	json_object_set_new(object, "died", died);
	json_object_set_new(object, "device_used", figure_json(ranks, &ranks->device_used));
	json_object_set_new(object, "allocated", figure_json(ranks, &ranks->allocated));
	json_object_set_new(object, "owners", owners(ranks));
	json_object_set_new(object, "peak_rank", json_integer(ranks->peak->number));
	json_object_set_new(object, "median_rank", json_integer(ranks->median->number));
	json_object_set_new(object, "peak_against_median",
			    ranks->has_diff ? vt_diff_json(&ranks->diff, NULL, 0) : json_null());
	json_object_set_new(object, "clocks", clocks(&ranks->clocks));
	json_object_set_new(object, "warn", warnings(ranks));
	json_object_set_new(object, "left_out", left_out(ranks));
	return object;
}

void vt_ranks_json_print(struct vt_ranks *ranks, FILE *out)
{
	if (ranks->runs.is_unrelated)
		vt_recording_list_json(&ranks->runs, ranks->folder, out);
	else
		vt_json_print(vt_ranks_json(ranks), out);
}
