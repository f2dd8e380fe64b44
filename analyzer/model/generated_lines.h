/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_GENERATED_LINES_H
#define VT_ANALYZER_GENERATED_LINES_H

/*
 * The user's lines behind code that torch.compile generated.  PyTorch knows them for its own
 * memory snapshots, and the probe asks (VT_SOURCE_TEXT_LINES): the names of files, an empty line,
 * then for each stretch of the generated file its first line and the frames, outermost first:
 *
 *	train.py
 *	model.py
 *
 *	120<tab>0:31 forward<tab>1:14 attend
 */

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/frames.h"

/*
 * Puts the user's frames in the place of frames of generated files, in all Python stacks; what runs
 * the generated code is still around them.  Inside the transaction that is open in `db`.  Returns
 * 0, or -1 with `diag` filled.
 */
int vt_generated_lines_apply(struct vt_frames *frames, struct vt_db *db, struct vt_diag *diag);

#endif
