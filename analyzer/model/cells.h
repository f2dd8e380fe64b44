/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CELLS_H
#define VT_ANALYZER_CELLS_H

/*
 * Cells of notebooks.  IPython compiles each under a separate file name, which is different in
 * every run; what the user knows is the number before it.
 */

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/frames.h"

/*
 * Replaces the file names of cells by "cell 3": those of IPython's terminal have the number in
 * them, for Jupyter the program reported it.  A cell that ran several times has its last
 * number.  Returns 0, or -1 with `diag` filled.
 */
int vt_cells_name(struct vt_frames *frames, struct vt_db *db, struct vt_diag *diag);

int vt_cells_is_cell(const char *file);

#endif
