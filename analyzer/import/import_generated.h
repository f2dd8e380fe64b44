/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_IMPORT_GENERATED_H
#define VT_ANALYZER_IMPORT_GENERATED_H

/*
 * Code that torch.compile generated: Inductor writes a Python file for each graph, in its cache
 * directory, under a name that is a hash of the content.  The file may be gone when a report is
 * made, so the lines of it that say what reads and writes which buffer become a row of
 * python_source (VT_SOURCE_TEXT_GENERATED) when its code first appears in a stack.
 */

#include <stdint.h>

#include "analyzer/database/db.h"
#include "common/journal_format.h"

struct vt_import_generated {
	struct vt_stmt *known, *insert;
	uint64_t kept_bytes; /* of all files of this recording */
};

void vt_import_generated_init(struct vt_import_generated *generated, struct vt_db *db);
void vt_import_generated_release(struct vt_import_generated *generated);

/*
 * Reads the file of a code object if it is such a file and is there; that it is not, or cannot be
 * read, is no error.  Returns 0, or -1 with vt_db_error().
 */
int vt_import_generated_code(struct vt_import_generated *generated,
			     const struct vt_python_code_record *record);

#endif
