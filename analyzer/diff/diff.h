/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DIFF_H
#define VT_ANALYZER_DIFF_H

/*
 * Two recordings side by side, at one moment of each: what differs in the runs themselves, then
 * owners, then the places that made the difference.  Computed once, printed as text, Markdown or
 * JSON.
 *
 * A side may have several recordings of equal runs.  The one with the median of the most allocated
 * bytes represents it: its figures and places are compared.  How far the recordings of a side lie
 * apart is noise (noise.h).
 */

#include <stdint.h>
#include <stdio.h>

#include "analyzer/diff/compared.h"

/* Paths of recordings; borrowed. */
struct vt_diff_paths {
	const char *const *paths;
	uint32_t nr; /* at least 1 */
};

/*
 * Reads the recordings, one after the other.  Returns 0, or -1 with `diag` filled: not readable, no
 * such moment in one of them.  vt_diff_release in both cases; `options` must outlive it.
 */
int vt_diff_init(struct vt_diff *diff, const char *base, const char *new,
		 const struct vt_diff_options *options, struct vt_diag *diag);
/* The same of two sides: of the base, then of the new one. */
int vt_diff_init_sides(struct vt_diff *diff, const struct vt_diff_paths *sides,
		       const struct vt_diff_options *options, struct vt_diag *diag);
void vt_diff_release(struct vt_diff *diff);

/* Whether both paths lead to one recording: its database or, before there is one, its journal. */
int vt_diff_is_same_recording(const char *path, const char *other);

/*
 * That a run did not end well, and what figures are worth then; NULL: it did.  To be freed.  The
 * new run comes first: its lower figures look like an improvement.
 */
char *vt_diff_incomplete(const struct vt_diff *diff, int side);
/* The same in few words: "the new run ended out of memory". */
char *vt_diff_ending(const struct vt_diff *diff);
/* Whether a new run failed where the run of the base that is compared ended well. */
int vt_diff_is_new_failed(const struct vt_diff *diff);

void vt_diff_text_print(struct vt_diff *diff, FILE *out);
/* Links lead to `repository` at `revision`; NULL: as the variables of CI say (source_links.h). */
void vt_diff_markdown_print(struct vt_diff *diff, const char *repository, const char *revision,
			    FILE *out);

#endif
