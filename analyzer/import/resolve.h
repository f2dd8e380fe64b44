/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_RESOLVE_H
#define VT_ANALYZER_RESOLVE_H

/* Fills in the symbols of the native frames of a database. */

#include "analyzer/database/db.h"
#include "analyzer/base/diag.h"

/*
 * Looks up the frames that are new since the last time.  May run in a second process while a
 * collector writes: the slow part holds no lock, and doing it twice gives the same rows.  `db` is
 * open for writing.
 */
int vt_resolve_frames(struct vt_db *db, struct vt_diag *diag);

#endif
