/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_TARGET_H
#define VT_ANALYZER_TARGET_H

/*
 * Where a recording is to go: looked at before the program starts.  A recording that is to be
 * replaced is set aside under a second name in its folder until there is a new one.
 */

#include "analyzer/base/diag.h"

/* The database, its write-ahead log, that one's index, the journal. */
#define VT_TARGET_FILES 4

struct vt_target {
	char *output;			/* absolute: a program may change its folder */
	char *folder;			/* as far as its name is fixed, else NULL */
	char *files[VT_TARGET_FILES];	/* NULL where the name is not fixed */
	char *aside[VT_TARGET_FILES];	/* their second names while they are set aside */
};

/*
 * `output` is what the recorder would take, NULL for its default.  Returns 0, or -1 with `diag`
 * filled if no file can be made there.  vt_target_release in both cases.
 */
int vt_target_init(struct vt_target *target, const char *output, struct vt_diag *diag);
void vt_target_release(struct vt_target *target);

/* Whether a new journal could be made in the folder at this moment. */
int vt_target_has_room(const struct vt_target *target);

/*
 * Makes a fixed name free.  Returns 0, or -1 with `diag` filled and nothing changed: it is taken
 * and not `is_replacing`, not a recording of ours, or being recorded.
 */
int vt_target_reserve(struct vt_target *target, int is_replacing, struct vt_diag *diag);

/* After the program: the old recording goes if there is a new one, else it comes back. */
void vt_target_settle(struct vt_target *target);

#endif
