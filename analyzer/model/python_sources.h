/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PYTHON_SOURCES_H
#define VT_ANALYZER_PYTHON_SOURCES_H

/* What is known of files of code that the program made itself (table python_source). */

#include <stdint.h>

#include "analyzer/base/diag.h"
#include "analyzer/database/db.h"
#include "analyzer/model/frames.h"
#include "common/kinds.h"

/*
 * Calls `take` for each file of which a text of that kind is known, inside the transaction that is
 * open in `db`; the texts are its own only during the call.  Returns 0, or -1 with `diag` filled.
 */
int vt_python_sources_each(struct vt_db *db, enum vt_source_text kind,
			   void (*take)(void *context, const char *file, const char *text),
			   void *context, struct vt_diag *diag);

/* Writes `mark` into `marks`, by code, for all codes below `nr_codes` that are of that file. */
void vt_python_sources_mark(const struct vt_frames *frames, uint32_t nr_codes, const char *file,
			    uint32_t *marks, uint32_t mark);

#endif
