/* SPDX-License-Identifier: MIT */
#include "analyzer/report/ended.h"

#include <string.h>

#define NO_HANDLERS "without its exit handlers"

/* What the importer of snapshots writes: how the program went on is not known. */
static int is_snapshot(const char *ended)
{
	return !strcmp(ended, "snapshot");
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
