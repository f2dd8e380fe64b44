/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OOM_ROWS_H
#define VT_ANALYZER_OOM_ROWS_H

/*
 * Tables of an out-of-memory failure, as text: `vtrace report` and the page print the same rows.
 * A row is appended only where there is something to say.  vt_oom_rows_release() frees them.
 */

#include "analyzer/report/oom.h"

struct vt_oom_row {
	char *name;
	char *text;
	uint64_t bytes;   /* of free memory; else 0 */
	uint8_t is_setting; /* `name` is one of the allocator's, as it is set */
	uint8_t succeeds; /* with it the request, and what the step needs after it, is served */
};

VT_VECTOR_DECLARE(vt_oom_rows, struct vt_oom_row);

/* What ended the run, one sentence without a full stop.  The caller frees it. */
char *vt_oom_rows_cause(const struct vt_oom *oom);
/* Free memory of the device, by the reason why the request could not use it. */
void vt_oom_rows_free_memory(struct vt_oom_rows *rows, const struct vt_oom *oom);
/* Settings of the allocator, a smaller batch, a shorter sequence; needs vt_oom_device(). */
void vt_oom_rows_remedies(struct vt_oom_rows *rows, const struct vt_oom *oom);
/* What each further batch or token adds; none where the failed pass is the first. */
void vt_oom_rows_next_passes(struct vt_oom_rows *rows, const struct vt_oom *oom);

void vt_oom_rows_release(struct vt_oom_rows *rows);

#endif
