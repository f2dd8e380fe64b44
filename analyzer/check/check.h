/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CHECK_H
#define VT_ANALYZER_CHECK_H

/*
 * A run compared with a budget: a row per limit, of the device where it is closest to being
 * exceeded, or furthest beyond.  Computed once, printed as text, JSON, annotations or JUnit's XML.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/base/units.h"
#include "analyzer/check/baseline.h"
#include "analyzer/check/top_contributors.h"
#include "analyzer/report/source_links.h"

#define VT_OUTCOMES(X)                                                                             \
	X(HELD, "held")                                                                            \
	X(BROKEN, "broken")                                                                        \
	X(MISSING, "missing") /* this run or the baseline has no such figure */

#define VT_OUTCOMES_ENUM(name, text) VT_OUTCOME_##name,
enum vt_outcome { VT_OUTCOMES(VT_OUTCOMES_ENUM) VT_NR_OUTCOMES };
#undef VT_OUTCOMES_ENUM

extern const char *const vt_check_outcomes[VT_NR_OUTCOMES];

struct vt_check_row {
	const struct vt_limit *limit;
	enum vt_outcome outcome;
	int device;
	struct vt_figure figure;
	uint64_t base; /* of a relative limit */
	uint64_t spread; /* how far the figures of several baselines lie apart */
	uint64_t most; /* that is allowed; in the unit of the figure, as `base` */
	char *why;	/* it is missing */
	const char *stage; /* at the figure's moment; NULL: unknown */
	uint32_t step;	   /* 0: none */
	struct vt_contributors contributors; /* of a broken one */
};

struct vt_check_options {
	const struct vt_budget *budget;
	const char *rules; /* of the baseline's recording, too */
	const char *from;  /* marks; NULL: begin and end of the recording */
	const char *to;
	int device;	   /* VT_WHEN_ALL_DEVICES, or a CUDA ordinal */
	unsigned top;	   /* places per broken limit */
	int is_missing_fine; /* what has no figure does not count as broken */
	const struct vt_source_links *links; /* where the program's files are in its repository */
	const char *label;   /* whose limits these are, of several: "rank 1"; or NULL */
};

struct vt_check {
	const struct vt_check_options *options;
	struct vt_measure measure;
	struct vt_baselines baselines;
	struct vt_check_row *rows; /* as the limits of the budget */
	unsigned nr;
	unsigned nr_broken; /* with those missing, unless that is fine */
	unsigned nr_warned;
	struct vt_lines notes; /* what makes figures say less than they seem to; a line each */
};

/*
 * Returns 0, or -1 with `diag` filled; vt_check_release in both cases.  `analysis` and `options`
 * must outlive it.
 */
int vt_check_init(struct vt_check *check, struct vt_analysis *analysis,
		  const struct vt_check_options *options, struct vt_diag *diag);
void vt_check_release(struct vt_check *check);

/* What a run that did not end well leaves out of its figures; NULL: it ended well.  free() */
char *vt_check_ending(const struct vt_analysis *analysis);
int vt_check_is_failed(const struct vt_check *check, const struct vt_check_row *row);
/* Broken, and only to be said. */
int vt_check_is_warned(const struct vt_check_row *row);
/* A figure of the row's unit: "2.00 GiB", "12.34 %"; returns `text` of VT_UNITS_MAX bytes. */
const char *vt_check_value(const struct vt_check_row *row, uint64_t value, char *text);
/* "3.00 GiB on cuda:0 in step 2, forward: 1.00 GiB more than 2.00 GiB"; free(). */
char *vt_check_sentence(const struct vt_check_row *row);

/* A row of the table of limits: name, outcome, figure, allowed, margin, baseline. */
#define VT_CHECK_CELLS 6
struct vt_check_cells {
	const char *cells[VT_CHECK_CELLS]; /* in `texts`, or the row's */
	char texts[VT_CHECK_CELLS][VT_UNITS_MAX + 1];
};
void vt_check_cells_make(struct vt_check_cells *cells, const struct vt_check *check,
			 const struct vt_check_row *row);

/* What is said of one row, in each of the formats. */
void vt_check_print_failure(const struct vt_check *check, const struct vt_check_row *row,
			    FILE *out);
void vt_check_print_annotation(const struct vt_check *check, const struct vt_check_row *row,
			       FILE *out);
void vt_check_print_case(const struct vt_check *check, const struct vt_check_row *row, FILE *out);
void vt_check_print_markdown_row(const struct vt_check *check, const struct vt_check_row *row,
				 FILE *out);
/* "| text "; a bar would end the cell. */
void vt_check_print_markdown_cell(const char *text, FILE *out);
/* Text within XML. */
void vt_check_print_xml(const char *text, FILE *out);
json_t *vt_check_row_json(const struct vt_check *check, const struct vt_check_row *row);

void vt_check_print_text(const struct vt_check *check, FILE *out);
/* For a job's summary page; links as of source_links.h. */
void vt_check_print_markdown(const struct vt_check *check, FILE *out);
void vt_check_print_json(const struct vt_check *check, FILE *out);
/* Workflow commands of GitHub Actions: an error on the line that broke each limit. */
void vt_check_print_github(const struct vt_check *check, FILE *out);
void vt_check_print_junit(const struct vt_check *check, FILE *out);

#endif
