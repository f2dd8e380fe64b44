/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_OWN_LINES_H
#define VT_ANALYZER_OWN_LINES_H

/*
 * The line of the user's own program that an owner's bytes come from: what a library allocates
 * below it counts there, by however many of its lines.
 */

#include "analyzer/model/producer.h"
#include "analyzer/report/hotspots.h"

struct vt_own_line {
	struct vt_own_frame frame;
	uint64_t bytes;
	const struct vt_hotspot *largest; /* of the places below it */
};

/*
 * The one with most bytes of the owners below the first `len` characters of `owner`.  0, or -1:
 * none of the places is theirs.
 */
int vt_own_lines_find(struct vt_own_line *line, const struct vt_hotspots *hotspots,
		      const struct vt_attribution *attribution, const struct vt_describe *describe,
		      const char *owner, size_t len);

/* "train.py:12 step", or the place's innermost line; free(). */
char *vt_own_lines_text(const struct vt_own_line *line, const struct vt_describe *describe);

#endif
