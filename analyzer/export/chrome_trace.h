/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHROME_TRACE_H
#define VT_ANALYZER_CHROME_TRACE_H

/*
 * Chrome's trace format, which Kineto's is, too: a list of events in JSON, written one by one.
 * Times are in microseconds since the start of the recording.
 */

#include "analyzer/export/happenings.h"

struct vt_chrome_trace {
	FILE *out;
	int64_t pid;
	int has_events;
};

/* `head`: members of the document before the list of events, each ended by a comma. */
void vt_chrome_trace_begin(struct vt_chrome_trace *trace, const struct vt_writer_job *job,
			   const char *head);
void vt_chrome_trace_end(struct vt_chrome_trace *trace);

/* {"ph":PHASE,"pid":...,"tid":LANE,"ts":...,"name":NAME; more members and "}" follow. */
void vt_chrome_trace_event(struct vt_chrome_trace *trace, const char *phase, int64_t lane,
			   int64_t time_ns, const char *name);
/* A happening; `category` NULL: none. */
void vt_chrome_trace_happening(struct vt_chrome_trace *trace, const struct vt_happening *happening,
			       const char *name, const char *category);

#endif
