/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/ranks.h"

#include <math.h>

#include "analyzer/base/util.h"
#include "analyzer/ranks/recording_list.h"
#include "analyzer/diff/diff_json.h"
#include "analyzer/output/json.h"

#define FORMAT 1

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

	vt_json_set(object, "index", run - ranks->runs.items + 1);
	vt_json_set(object, "runs", ranks->runs.nr);
	vt_json_set(object, "command", command(ranks));
	vt_json_set(object, "job", run->ranks[0]->job);
	vt_json_set(object, "ranks", run->nr);
	vt_json_set_if(object, "world_size", run->world_size, run->world_size);
	vt_json_set(object, "ranks_recorded", json_boolean(!ranks->runs.is_numbered_here));
	return object;
}

static json_t *idle_context(const struct vt_rank *rank)
{
	json_t *object;

	if (rank->idle_device == VT_RANK_NONE)
		return json_null();
	object = json_object();
	vt_json_set(object, "device", rank->idle_device);
	vt_json_set_if(object, "bytes", rank->idle_bytes, rank->idle_bytes);
	vt_json_set(object, "where", rank->idle_where);
	return object;
}

static json_t *rank(const struct vt_ranks *ranks, const struct vt_rank *rank)
{
	json_t *object = json_object();

	vt_json_set(object, "rank", rank->number);
	vt_json_set_if(object, "local_rank", rank->local_rank != VT_RANK_NONE, rank->local_rank);
	vt_json_set(object, "host", rank->host);
	vt_json_set(object, "pid", rank->pid);
	vt_json_set(object, "file", rank->file);
	vt_json_set(object, "ended", rank->ended);
	vt_json_set(object, "out_of_memory", rank->out_of_memory);
	vt_json_set(object, "events", rank->events);
	vt_json_set(object, "lost", rank->lost);
	vt_json_set(object, "missing_slots", rank->missing_slots);
	vt_json_set_if(object, "device", rank->device != VT_RANK_NONE, rank->device);
	vt_json_set(object, "devices", rank->nr_devices);
	vt_json_set(object, "idle_context", idle_context(rank));
	vt_json_set(object, "device_name", rank->device_name);
	vt_json_set(object, "total_bytes", rank->device_bytes);
	vt_json_set(object, "process_used_bytes", rank->peak_bytes);
	vt_json_set(object, "allocated_bytes", rank->allocated_bytes);
	vt_json_set(object, "doing", rank->doing);
	vt_json_set(object, "steps", rank->steps);
	vt_json_set_if(object, "growth_bytes", rank->has_growth, rank->growth_bytes);
	vt_json_set(object, "start_ns", vt_clocks_time(&ranks->clocks, rank, 0));
	vt_json_set(object, "peak_ns", vt_clocks_time(&ranks->clocks, rank, rank->peak_time_ns));
	vt_json_set(object, "end_ns", vt_clocks_time(&ranks->clocks, rank, rank->duration_ns));
	return object;
}

static void set_figure(json_t *object, const struct vt_ranks *ranks,
		       const struct vt_ranks_figure *figure)
{
	vt_json_set(object, "min_bytes", figure->min_bytes);
	vt_json_set(object, "mean_bytes", figure->sum_bytes / ranks->run->nr);
	vt_json_set(object, "max_bytes", figure->max_bytes);
	/* Rounded, so that no compiler's last digit shows. */
	vt_json_set(object, "imbalance", round(vt_ranks_imbalance(ranks, figure) * 1e5) / 1e5);
	vt_json_set(object, "min_rank", figure->min_rank->number);
	vt_json_set(object, "max_rank", figure->max_rank->number);
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
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "owner", ranks->owners[i].owner);
		set_figure(object, ranks, &ranks->owners[i]);
	}
	return array;
}

static json_t *clocks(const struct vt_clocks *clocks)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < clocks->nr; i++) {
		const struct vt_clock *host = &clocks->hosts[i];
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "host", host->host);
		vt_json_set(object, "ranks", host->nr_ranks);
		vt_json_set(object, "steps", host->nr_steps);
		vt_json_set_if(object, "ahead_ns", host->nr_steps, host->ahead_ns);
		vt_json_set(object, "is_off", json_boolean(vt_clocks_is_off(clocks, host)));
		vt_json_set(object, "spread_ns", host->spread_ns);
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
		vt_json_set(object, "file", ranks->runs.files[i].file);
		vt_json_set(object, "reason", reason);
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
		json_t *row = vt_json_append_object(array);

		vt_json_set(row, "rank", rank->number);
		vt_json_set_if(row, "limit_bytes", limit, limit);
		vt_json_set(row, "process_used_bytes", rank->peak_bytes);
		vt_json_set(row, "is_over",
			    json_boolean(limit && (uint64_t)rank->peak_bytes > limit));
	}
	vt_json_set(object, "share", ranks->options->warn_share);
	vt_json_set(object, "ranks", array);
	return object;
}

json_t *vt_ranks_json(struct vt_ranks *ranks)
{
	json_t *object = json_object(), *rows = json_array(), *missing = json_array(),
	       *died = json_array();

	for (uint32_t i = 0; i < ranks->run->nr; i++)
		json_array_append_new(rows, rank(ranks, ranks->run->ranks[i]));
	for (uint32_t i = 0; i < ranks->nr_missing; i++)
		vt_json_append(missing, ranks->missing[i]);
	for (uint32_t i = 0; i < ranks->nr_died; i++)
		vt_json_append(died, ranks->died[i]->number);
	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "folder", ranks->folder);
	vt_json_set(object, "at", ranks->options->rank.when);
	vt_json_set(object, "run", run(ranks));
	vt_json_set(object, "ranks", rows);
	vt_json_set(object, "missing", missing);
	vt_json_set(object, "died", died);
	vt_json_set(object, "process_used", figure_json(ranks, &ranks->process_used));
	vt_json_set(object, "allocated", figure_json(ranks, &ranks->allocated));
	vt_json_set(object, "owners", owners(ranks));
	vt_json_set(object, "peak_rank", ranks->peak->number);
	vt_json_set(object, "median_rank", ranks->median->number);
	vt_json_set_if(object, "peak_against_median", ranks->has_diff,
		       vt_diff_json(&ranks->diff, NULL, 0));
	vt_json_set(object, "clocks", clocks(&ranks->clocks));
	vt_json_set(object, "warn", warnings(ranks));
	vt_json_set(object, "left_out", left_out(ranks));
	return object;
}

void vt_ranks_json_print(struct vt_ranks *ranks, FILE *out)
{
	if (ranks->runs.is_unrelated)
		vt_recording_list_json(&ranks->runs, ranks->folder, out);
	else
		vt_json_print(vt_ranks_json(ranks), out);
}
