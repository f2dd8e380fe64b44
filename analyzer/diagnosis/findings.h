/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_FINDINGS_H
#define VT_ANALYZER_FINDINGS_H

/*
 * What a user can change, and what it saves: by how much the highest use of this run would have
 * been lower.  Each finding is detected on recorded facts by the file of its family (find_*.c);
 * finding_table.def has their words.  The bytes are computed from this run (savings.h) or come from
 * a replay; findings do not add up, as one may take what another counts on.
 */

#include "analyzer/diagnosis/finding_context.h"

struct vt_finding_words {
	const char *id;
	const char *what;
	const char *fix;
	const char *found;
	const char *saves;
};

extern const struct vt_finding_words vt_findings_words[VT_NR_FINDINGS];

/*
 * What the findings of vt_findings_init play and can play without owners, beside what finds them
 * (analysis.h).
 */
void vt_findings_prepare(struct vt_traces *traces, int device);
/* Of one device, or VT_WHEN_ALL_DEVICES.  Borrows nothing but owners' names. */
void vt_findings_init(struct vt_findings *findings, struct vt_attribution *attribution,
		      struct vt_traces *traces, const struct vt_describe *describe, int device);
void vt_findings_release(struct vt_findings *findings);

/* By its word; VT_NR_FINDINGS: there is no such finding. */
enum vt_finding_id vt_findings_find(const char *id);

#endif
