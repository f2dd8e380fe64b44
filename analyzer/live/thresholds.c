/* SPDX-License-Identifier: MIT */
#include "analyzer/live/thresholds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analyzer/base/owner_path.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"

#define NS         1000000000ull
#define MOST_NAMED 2

struct vt_threshold_state {
	size_t rule;
	char *file;
	int is_over, was_over;
	int has_seen; /* bytes of its owner */
	int is_unsized, has_said_unsized;
	uint64_t start_ns;          /* of this period; 0: none yet */
	int64_t least_bytes;        /* in it */
	int64_t least_before_bytes; /* in the period before; -1: there is none */
};

static struct vt_threshold_state *state_of(struct vt_thresholds *thresholds, size_t rule,
					   const char *file)
{
	struct vt_threshold_state *state;

	for (size_t i = 0; i < thresholds->states.len; i++) {
		state = thresholds->states.items[i];
		if (state->rule == rule && !strcmp(state->file, file))
			return state;
	}
	state = vt_xmalloc(sizeof(*state));
	*state = (struct vt_threshold_state){ .rule = rule,
					      .file = vt_xstrdup(file),
					      .least_before_bytes = -1 };
	vt_vector_push(&thresholds->states, state);
	return state;
}

static int64_t in_use(const struct vt_rank *rank, const struct vt_threshold_rule *rule)
{
	const char *owner = rule->owner;
	int64_t bytes = 0;

	/* How full the device is decides whether the next request succeeds. */
	if (!owner && rule->amount.is_percent && !rule->period)
		return rank->used_now_bytes;
	if (!owner)
		return rank->process_now_bytes;
	for (uint32_t i = 0; i < rank->nr_owners; i++)
		if (vt_owner_path_is_below(rank->owners[i].owner, owner, strlen(owner)))
			bytes += (int64_t)rank->owners[i].bytes;
	return bytes;
}

/* Looks may be further apart than a period.  Returns 0 until two periods have passed. */
static int has_grown(struct vt_threshold_state *state, const struct vt_threshold_rule *rule,
		     uint64_t now_ns, int64_t *bytes)
{
	uint64_t period_ns = (uint64_t)rule->period_s * NS, took_ns;
	int64_t least, before = state->least_before_bytes;

	if (!state->start_ns || *bytes < state->least_bytes)
		state->least_bytes = *bytes;
	if (!state->start_ns)
		state->start_ns = now_ns;
	took_ns = now_ns - state->start_ns;
	if (took_ns < period_ns)
		return 0;
	least = state->least_bytes;
	state->least_before_bytes = least;
	state->least_bytes = *bytes;
	state->start_ns = now_ns;
	*bytes = (int64_t)((double)(least - before) * (double)period_ns / (double)took_ns);
	return before >= 0;
}

/* Sets what is compared with the rule; 0: there is nothing to compare at this look. */
static int measure(struct vt_threshold_state *state, const struct vt_threshold_rule *rule,
		   const struct vt_rank *rank, uint64_t now_ns, int64_t *bytes)
{
	*bytes = in_use(rank, rule);
	state->has_seen |= *bytes > 0;
	if (!rule->period)
		return 1;
	if (rule->period_s)
		return has_grown(state, rule, now_ns, bytes);
	*bytes = rank->growth_bytes;
	return rank->has_growth != 0;
}

/* The largest owners: "; most: weights 2.00 GiB, logits 1.00 GiB". */
static void add_owners(struct vt_buffer *line, const struct vt_rank *rank)
{
	const struct vt_rank_owner *before = NULL;

	for (int named = 0; named < MOST_NAMED; named++) {
		const struct vt_rank_owner *most = NULL;
		char bytes[VT_UNITS_MAX];

		for (uint32_t i = 0; i < rank->nr_owners; i++)
			if (&rank->owners[i] != before &&
			    (!most || rank->owners[i].bytes > most->bytes))
				most = &rank->owners[i];
		if (!most || !most->bytes)
			return;
		vt_buffer_printf(line, "%s%s %s", named ? ", " : "; most: ", most->owner,
				 vt_units_bytes(bytes, sizeof(bytes), most->bytes));
		before = most;
	}
}

static void add_figure(struct vt_buffer *line, const struct vt_threshold_event *event)
{
	const struct vt_threshold_rule *rule = event->rule;
	const char *owner = rule->owner ? rule->owner : "in use";
	const struct vt_rank *rank = event->rank;
	char bytes[VT_UNITS_MAX];

	if (rule->period) {
		vt_buffer_printf(line, "%s %s per %s", owner,
				 vt_units_bytes_signed(bytes, sizeof(bytes), event->bytes),
				 rule->period);
		return;
	}
	vt_buffer_printf(line, "%s %s", owner,
			 vt_units_bytes(bytes, sizeof(bytes), (uint64_t)event->bytes));
	if (rank->device_bytes)
		vt_buffer_printf(line, ", %.1f %% of cuda:%" PRId64,
				 100.0 * (double)event->bytes / (double)rank->device_bytes,
				 rank->device);
}

static char *say_what(const struct vt_threshold_event *event)
{
	struct vt_buffer line;

	vt_buffer_init(&line);
	vt_buffer_printf(&line, "%s %s%s: ", event->rule->text,
			 event->is_over ? "reached" : "no longer reached",
			 event->is_of_peak ? " at the peak" : "");
	add_figure(&line, event);
	/* What is largest is not what grew. */
	if (event->is_over && !event->rule->owner && !event->rule->period)
		add_owners(&line, event->rank);
	return vt_printable_make(vt_buffer_detach(&line));
}

static char *make_line(const struct vt_threshold_event *event)
{
	char moment[32] = "", *line;
	time_t now = time(NULL);
	struct tm utc;

	if (gmtime_r(&now, &utc))
		strftime(moment, sizeof(moment), "%Y-%m-%dT%H:%M:%SZ", &utc);
	line = vt_xasprintf("%s %s: %s", moment, vt_util_base_name(event->rank->file), event->what);
	return vt_printable_make(line);
}

static void judge(struct vt_thresholds *thresholds, struct vt_threshold_state *state,
		  struct vt_threshold_event *event)
{
	double margin = (100.0 - VT_THRESHOLD_MARGIN_PERCENT) / 100;
	double threshold = (double)event->threshold_bytes, bytes = (double)event->bytes;

	if (state->is_over ? bytes >= threshold * margin : bytes < threshold)
		return;
	state->is_over = event->is_over = !state->is_over;
	state->was_over = 1;
	thresholds->nr_reached += (unsigned)state->is_over;
	event->what = say_what(event);
	event->line = make_line(event);
	thresholds->say(event, thresholds->context);
	free(event->line);
	free(event->what);
}

static void look_at_one(struct vt_thresholds *thresholds, size_t k, const struct vt_rank *rank,
			uint64_t now_ns, int is_of_peak)
{
	const struct vt_threshold_rule *rule = &thresholds->rules.items[k];
	struct vt_threshold_state *state = state_of(thresholds, k, rank->file);
	struct vt_threshold_event event = { .rule = rule, .rank = rank, .is_of_peak = is_of_peak };

	event.threshold_bytes = vt_threshold_rule_bytes(rule, rank->device_bytes);
	state->is_unsized = !event.threshold_bytes;
	if (is_of_peak && (rule->period || state->was_over))
		return;
	if (measure(state, rule, rank, now_ns, &event.bytes) && event.threshold_bytes)
		judge(thresholds, state, &event);
}

static void look_at_all(struct vt_thresholds *thresholds, const struct vt_ranks_runs *runs,
			uint64_t now_ns, int is_of_peak)
{
	for (uint32_t i = 0; i < runs->nr_files; i++) {
		if (!vt_ranks_runs_is_process(&runs->files[i]))
			continue;
		for (size_t k = 0; k < thresholds->rules.len; k++)
			look_at_one(thresholds, k, &runs->files[i], now_ns, is_of_peak);
	}
}

void vt_thresholds_look(struct vt_thresholds *thresholds, const struct vt_ranks_runs *runs,
			uint64_t now_ns)
{
	look_at_all(thresholds, runs, now_ns, 0);
}

void vt_thresholds_look_at_peak(struct vt_thresholds *thresholds, const struct vt_ranks_runs *runs)
{
	/* Growth, which is of times, is not looked at. */
	look_at_all(thresholds, runs, 0, 1);
}

const struct vt_threshold_rule *vt_thresholds_unseen(const struct vt_thresholds *thresholds,
						     size_t *at)
{
	/* Of no looks at all it says nothing. */
	while (thresholds->states.len && *at < thresholds->rules.len) {
		const struct vt_threshold_rule *rule = &thresholds->rules.items[*at];
		int has_seen = !rule->owner;

		for (size_t i = 0; i < thresholds->states.len; i++)
			has_seen |= thresholds->states.items[i]->rule == *at &&
				    thresholds->states.items[i]->has_seen;
		++*at;
		if (!has_seen)
			return rule;
	}
	return NULL;
}

const struct vt_threshold_rule *vt_thresholds_unsized(struct vt_thresholds *thresholds)
{
	for (size_t i = 0; i < thresholds->states.len; i++) {
		struct vt_threshold_state *state = thresholds->states.items[i];

		if (state->is_unsized && !state->has_said_unsized) {
			state->has_said_unsized = 1;
			return &thresholds->rules.items[state->rule];
		}
	}
	return NULL;
}

void vt_thresholds_release(struct vt_thresholds *thresholds)
{
	for (size_t i = 0; i < thresholds->rules.len; i++)
		vt_threshold_rule_release(&thresholds->rules.items[i]);
	for (size_t i = 0; i < thresholds->states.len; i++) {
		free(thresholds->states.items[i]->file);
		free(thresholds->states.items[i]);
	}
	vt_vector_release(&thresholds->rules);
	vt_vector_release(&thresholds->states);
}
