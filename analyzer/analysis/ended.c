/* SPDX-License-Identifier: MIT */
#include "analyzer/analysis/ended.h"

#include <string.h>

#define NO_HANDLERS "without its exit handlers"

/* Of a moment, imported or by `vtrace snapshot`: how the program went on is not known. */
static int is_snapshot(const char *ended)
{
	return !strcmp(ended, "snapshot") || !strcmp(ended, "frozen");
}

int vt_ended_is_running(const char *ended)
{
	return !ended || !strcmp(ended, "running");
}

int vt_ended_has_failed(const char *ended)
{
	return !vt_ended_is_running(ended) && !is_snapshot(ended) && strcmp(ended, "exit 0") != 0;
}

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
	return strcmp(ended, "killed") ? "was killed" : "ended " NO_HANDLERS;
}

const char *vt_ended_note(const char *ended)
{
	if (is_snapshot(ended))
		return "ends with a snapshot";
	return strcmp(ended, "killed") ? "killed" : "ended " NO_HANDLERS;
}
