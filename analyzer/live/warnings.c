/* SPDX-License-Identifier: MIT */
#include "analyzer/live/warnings.h"

#include <string.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/printable.h"
#include "analyzer/live/interrupt.h"
#include "analyzer/live/warn_rows.h"

#define MOST_LINES 1000 /* that are kept */
#define LEAST_REST 10
#define NS_PER_MS  1000000
#define REAP_MS	   50

/* Takes over `line`, which may be NULL. */
static void say(struct vt_warnings *warnings, char *line)
{
	struct vt_warnings_lines *lines = &warnings->lines;

	if (!line)
		return;
	if (!warnings->is_on_screen) {
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

static void take_event(const struct vt_warn_event *event, void *context)
{
	struct vt_warnings *warnings = context;

	struct vt_diag diag = { 0 };

	say(warnings, vt_xstrdup(event->line));
	if (vt_warn_rows_add(event, &diag))
		say(warnings, vt_xasprintf("not written into the recording: %s", diag.text));
	say(warnings, vt_then_start(&warnings->then, event));
}

int vt_warnings_add(struct vt_warnings *warnings, const char *text)
{
	struct vt_warn_rule rule;

	if (vt_warn_rule_parse(&rule, text)) {
		vt_warn_rule_release(&rule);
		return -1;
	}
	vt_vector_push(&warnings->warn.rules, rule);
	return 0;
}

static void reap(struct vt_warnings *warnings)
{
	char *problem;

	while ((problem = vt_then_reap(&warnings->then)))
		say(warnings, problem);
}

int vt_warnings_look(struct vt_warnings *warnings, const char *path, int *is_running,
		     struct vt_diag *diag)
{
	const struct vt_rank_options rank_options = { .when = "end" };
	struct vt_ranks_runs runs = { 0 };
	const struct vt_warn_rule *rule;
	int rc = vt_ranks_runs_init(&runs, path, &rank_options, 0, diag);

	*is_running = 0;
	warnings->warn.say = take_event;
	warnings->warn.context = warnings;
	reap(warnings);
	if (!rc) {
		vt_warn_look(&warnings->warn, &runs, vt_clock_ns());
		while ((rule = vt_warn_unsized(&warnings->warn)))
			say(warnings,
			    vt_xasprintf("--warn %s: the size of the device is not known",
					 rule->text));
		*is_running = vt_ranks_runs_is_running(&runs);
	}
	vt_ranks_runs_release(&runs);
	return rc;
}

unsigned vt_warnings_print_last(const struct vt_warnings *warnings, unsigned most, FILE *out)
{
	size_t nr = warnings->lines.len < most ? warnings->lines.len : most;

	for (size_t i = warnings->lines.len - nr; i < warnings->lines.len; i++)
		fprintf(out, "%s\n", warnings->lines.items[i]);
	return (unsigned)nr;
}

void vt_warnings_end(struct vt_warnings *warnings)
{
	const struct vt_warn_rule *rule;
	size_t at = 0;

	warnings->is_on_screen = 0;
	for (size_t i = 0; i < warnings->lines.len; i++)
		say(warnings, warnings->lines.items[i]);
	warnings->lines.len = 0;
	while ((rule = vt_warn_unseen(&warnings->warn, &at)))
		say(warnings, vt_xasprintf("--warn %s: no look saw memory of this owner",
					   rule->text));
	reap(warnings);
	while (warnings->then.running.len && !vt_interrupt_wait(REAP_MS))
		reap(warnings);
}

void vt_warnings_release(struct vt_warnings *warnings)
{
	for (size_t i = 0; i < warnings->lines.len; i++)
		free(warnings->lines.items[i]);
	vt_vector_release(&warnings->lines);
	vt_then_release(&warnings->then);
	vt_warn_release(&warnings->warn);
}

uint64_t vt_warnings_pause_ms(int64_t every_s, uint64_t took_ns)
{
	uint64_t rest = (uint64_t)every_s * 1000, least = took_ns * LEAST_REST / NS_PER_MS;

	return rest < least ? least : rest;
}
