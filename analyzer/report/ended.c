/* SPDX-License-Identifier: MIT */
#include "analyzer/report/ended.h"

#include <string.h>

#define NO_HANDLERS "without its exit handlers"

const char *vt_ended_text(const char *ended)
{
	return strcmp(ended, "killed") ? ended : NO_HANDLERS;
}

const char *vt_ended_early(const char *ended)
{
	return strcmp(ended, "killed") ? "was killed" : "ended " NO_HANDLERS;
}

const char *vt_ended_note(const char *ended)
{
	return strcmp(ended, "killed") ? "killed" : "ended " NO_HANDLERS;
}
