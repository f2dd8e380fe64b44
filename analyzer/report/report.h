/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_H
#define VT_ANALYZER_REPORT_H

/*
 * Everything that `vtrace report` says, computed once and then printed as text (report_text.c) or
 * as JSON (report_json.c).
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/diagnosis/findings.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/books.h"
#include "analyzer/model/describe.h"
#include "analyzer/report/hotspots.h"
#include "analyzer/report/oom.h"
#include "analyzer/report/peak_context.h"
#include "analyzer/report/pinned_host.h"
#include "analyzer/report/report_stages.h"
#include "analyzer/report/report_iterations.h"

struct vt_report_options {
	const char *when; /* when.h */
	int device;       /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	unsigned top;     /* stacks to list */
	int has_all_frames;
	int has_marks; /* rows for the program's own marks in place of stages */
	int is_by_keeper; /* instead of by owner */
	double warn_share; /* of the device's size; 0: of no matter */
};

/* One device at one moment. */
struct vt_report_moment {
	struct vt_peak_context place;
	struct vt_books books;
	struct vt_hotspots hotspots;
};

struct vt_report_device {
	const struct vt_device *device;
	struct vt_report_moment chosen;
	/*
	 * Where the chosen moment is the peak (the device is fullest), and blocks take most at
	 * another one, that one; else its books are of event 0.
	 */
	struct vt_report_moment most_allocated;
};

struct vt_report {
	struct vt_analysis *analysis;
	const struct vt_report_options *options;
	struct vt_describe describe;
	char *ended;
	struct vt_report_device *devices;
	uint32_t nr_devices;
	struct vt_report_stages stages;
	struct vt_report_iterations iterations;
	struct vt_pinned_host pinned;
	struct vt_findings findings;
	struct vt_oom out_of_memory; /* .oom is NULL where there was none */
	double coverage[VT_NR_PROVENANCES]; /* shares of all owned bytes; all 0 where there are none
					     */
};

/*
 * In two parts, of which the first may run beside what finds owners (analysis.h).  The second
 * returns 0, or -1 with `diag` filled; vt_report_release in both cases.  `analysis` must outlive
 * it.
 */
void vt_report_begin(struct vt_report *report, struct vt_analysis *analysis,
		     const struct vt_report_options *options);
int vt_report_finish(struct vt_report *report, struct vt_diag *diag);
void vt_report_release(struct vt_report *report);

/* "exit 0", "signal 9", "running", "out of memory", as schema.sql has it (free()). */
char *vt_report_ended(const struct vt_analysis *analysis);

/* Whether blocks take most at another moment than the chosen one. */
int vt_report_has_most_allocated(const struct vt_report_device *row);
/* That moment; the chosen one where it is no other. */
const struct vt_report_moment *vt_report_most_allocated(const struct vt_report_device *row);
/* The device on which blocks take most then, of equal ones the first; NULL: there is none. */
const struct vt_report_device *vt_report_fullest(const struct vt_report *report);

/* "ended normally"; free(). */
char *vt_report_ending(const struct vt_report *report);

/* Whether no rule names what was made there. */
int vt_report_is_unknown(const struct vt_report *report, const struct vt_hotspot *spot);

void vt_report_text_print(const struct vt_report *report, const char *path, FILE *out);
/* What --json prints; the caller gives it back. */
json_t *vt_report_json(const struct vt_report *report);
void vt_report_json_print(const struct vt_report *report, FILE *out);

#endif
