/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/ended.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/util.h"

#define NO_HANDLERS "without its exit handlers"

/* Of a moment, imported or by `vtrace snapshot`: how the program went on is unknown. */
static int is_snapshot(const char *ended)
{
	return !strcmp(ended, "snapshot") || !strcmp(ended, "frozen");
}

int vt_ended_is_running(const char *ended)
{
	return !ended || !strcmp(ended, "running");
}

int64_t vt_ended_ran_ns(struct vt_db *db)
{
	/* While it runs, up to its last event. */
	int64_t ran_ns = vt_db_run_get_int(db, "duration_ns", -1);
	int64_t start_ns = vt_db_run_get_int(db, "start_realtime_ns", 0);
	char *ended = vt_db_run_get(db, "ended");
	int64_t now_ns = (int64_t)vt_clock_realtime_ns();

	if (vt_ended_is_running(ended) && start_ns > 0 && now_ns - start_ns > ran_ns)
		ran_ns = now_ns - start_ns;
	free(ended);
	return ran_ns;
}

int vt_ended_has_failed(const char *ended)
{
	return !vt_ended_is_running(ended) && !is_snapshot(ended) && strcmp(ended, "exit 0") != 0;
}

/* What a user or a scheduler sends to end a program is no kill. */
static const struct {
	const char *ended, *early, *note;
} polite[] = {
	{ "signal 2", "was interrupted", "interrupted" },
	{ "signal 15", "was terminated", "terminated" },
};

const char *vt_ended_text(const char *ended)
{
	if (is_snapshot(ended))
		return "with a snapshot";
	return strcmp(ended, "killed") ? ended : NO_HANDLERS;
}

const char *vt_ended_early(const char *ended)
{
	if (is_snapshot(ended))
		return "ends with a snapshot";
	for (size_t i = 0; i < VT_ARRAY_SIZE(polite); i++)
		if (!strcmp(ended, polite[i].ended))
			return polite[i].early;
	return strcmp(ended, "killed") ? "was killed" : "ended " NO_HANDLERS;
}

const char *vt_ended_note(const char *ended)
{
	if (is_snapshot(ended))
		return "ends with a snapshot";
	for (size_t i = 0; i < VT_ARRAY_SIZE(polite); i++)
		if (!strcmp(ended, polite[i].ended))
			return polite[i].note;
	return strcmp(ended, "killed") ? "killed" : "ended " NO_HANDLERS;
}
