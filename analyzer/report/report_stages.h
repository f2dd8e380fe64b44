/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_REPORT_STAGES_H
#define VT_ANALYZER_REPORT_STAGES_H

/*
 * The rows of the table of stages: one per stage and, below it, one per class of module that the
 * program itself called; or one per mark and range that the program left.
 */

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/books.h"

/*
 * A row of the table of stages: the stretch with the highest use among those of one name on one
 * device.
 */
struct vt_report_stage {
	const char *name;
	int device;
	uint64_t peak_bytes;	    /* of what has an owner */
	uint64_t peak_device_bytes; /* with cached bytes and the context */
	uint64_t allocated_after_bytes;
	struct vt_books before; /* empty where it starts with the recording */
	struct vt_books after;
	struct vt_report_stage *modules; /* one per class, where several were called */
	uint32_t nr_modules;
	uint32_t nr_more_modules; /* of lower use, left out */
};

struct vt_report_stages {
	struct vt_report_stage *rows; /* device by device */
	uint32_t nr;
};

/*
 * With `has_marks` the rows are the program's marks and ranges.  Returns 0, or -1 with `diag`
 * filled: there are none.  vt_report_stages_release in both cases.
 */
int vt_report_stages_init(struct vt_report_stages *rows, struct vt_analysis *analysis,
			  const struct vt_device *const *devices, uint32_t nr_devices,
			  int has_marks, struct vt_diag *diag);
void vt_report_stages_release(struct vt_report_stages *rows);

#endif
