/* SPDX-License-Identifier: MIT */
#include "analyzer/live/threshold_watch.h"

#include <string.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/printable.h"
#include "analyzer/live/interrupt.h"
#include "analyzer/live/threshold_rows.h"

#define MOST_LINES 1000 /* that are kept */
#define REAP_MS    50

/* Takes over `line`, which may be NULL. */
static void say(struct vt_threshold_watch *watch, char *line)
{
	struct vt_threshold_lines *lines = &watch->lines;

	if (!line)
		return;
	if (!watch->is_on_screen) {
		fprintf(stderr, "vtrace: %s\n", vt_printable_make(line));
		free(line);
		return;
	}
	if (lines->len == MOST_LINES) {
		free(lines->items[0]);
		memmove(lines->items, lines->items + 1, --lines->len * sizeof(*lines->items));
	}
	vt_vector_push(lines, vt_printable_make(line));
}

static void take_event(const struct vt_threshold_event *event, void *context)
{
	struct vt_threshold_watch *watch = context;

	struct vt_diag diag = { 0 };

	say(watch, vt_xstrdup(event->line));
	if (vt_threshold_rows_add(event, &diag))
		say(watch, vt_xasprintf("not written into the recording: %s", diag.text));
	say(watch, vt_threshold_command_start(&watch->command, event));
}

int vt_threshold_watch_add(struct vt_threshold_watch *watch, const char *text)
{
	struct vt_threshold_rule rule;

	if (vt_threshold_rule_parse(&rule, text)) {
		vt_threshold_rule_release(&rule);
		return -1;
	}
	vt_vector_push(&watch->thresholds.rules, rule);
	return 0;
}

int vt_threshold_watch_has_period(const struct vt_threshold_watch *watch)
{
	for (size_t i = 0; i < watch->thresholds.rules.len; i++)
		if (watch->thresholds.rules.items[i].period_s)
			return 1;
	return 0;
}

static void reap(struct vt_threshold_watch *watch)
{
	char *problem;

	while ((problem = vt_threshold_command_reap(&watch->command)))
		say(watch, problem);
}

static void begin(struct vt_threshold_watch *watch)
{
	watch->thresholds.say = take_event;
	watch->thresholds.context = watch;
	reap(watch);
}

static void say_unsized(struct vt_threshold_watch *watch)
{
	const struct vt_threshold_rule *rule;

	while ((rule = vt_thresholds_unsized(&watch->thresholds)))
		say(watch,
		    vt_xasprintf("--warn %s: the size of the device is unknown", rule->text));
}

void vt_threshold_watch_judge(struct vt_threshold_watch *watch, const struct vt_ranks_runs *runs)
{
	begin(watch);
	vt_thresholds_look(&watch->thresholds, runs, vt_clock_ns());
	say_unsized(watch);
}

void vt_threshold_watch_judge_peak(struct vt_threshold_watch *watch,
				   const struct vt_ranks_runs *runs)
{
	begin(watch);
	vt_thresholds_look_at_peak(&watch->thresholds, runs);
	say_unsized(watch);
}

unsigned vt_threshold_watch_print_last(const struct vt_threshold_watch *watch, unsigned most,
				       FILE *out)
{
	size_t nr = watch->lines.len < most ? watch->lines.len : most;

	for (size_t i = watch->lines.len - nr; i < watch->lines.len; i++)
		fprintf(out, "%s\n", watch->lines.items[i]);
	return (unsigned)nr;
}

void vt_threshold_watch_end(struct vt_threshold_watch *watch)
{
	const struct vt_threshold_rule *rule;
	size_t at = 0;

	watch->is_on_screen = 0;
	for (size_t i = 0; i < watch->lines.len; i++)
		say(watch, watch->lines.items[i]);
	watch->lines.len = 0;
	while ((rule = vt_thresholds_unseen(&watch->thresholds, &at)))
		say(watch,
		    vt_xasprintf("--warn %s: this owner had no memory at any sample", rule->text));
	reap(watch);
	while (watch->command.running.len && !vt_interrupt_wait(REAP_MS))
		reap(watch);
}

void vt_threshold_watch_release(struct vt_threshold_watch *watch)
{
	for (size_t i = 0; i < watch->lines.len; i++)
		free(watch->lines.items[i]);
	vt_vector_release(&watch->lines);
	vt_threshold_command_release(&watch->command);
	vt_thresholds_release(&watch->thresholds);
}
