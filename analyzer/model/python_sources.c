/* SPDX-License-Identifier: MIT */
#include "analyzer/model/python_sources.h"

#include <string.h>

int vt_python_sources_each(struct vt_db *db, enum vt_source_text kind,
			   void (*take)(void *context, const char *file, const char *text),
			   void *context, struct vt_diag *diag)
{
	struct vt_stmt *stmt = vt_db_prepare(
		db, "SELECT file, text FROM python_source WHERE kind = ? AND part = 0");
	int rc;

	vt_stmt_bind_int(stmt, 1, kind);
	while ((rc = vt_stmt_step(stmt)) == 1) {
		const char *file = vt_stmt_text(stmt, 0), *text = vt_stmt_text(stmt, 1);

		if (file && text)
			take(context, file, text);
	}
	vt_stmt_free(stmt);
	if (rc < 0)
		vt_db_diag(db, diag);
	return rc;
}

void vt_python_sources_mark(const struct vt_frames *frames, uint32_t nr_codes, const char *file,
			    uint32_t *marks, uint32_t mark)
{
	for (uint32_t i = 0; i < nr_codes; i++)
		if (frames->codes[i].file && !strcmp(frames->codes[i].file, file))
			marks[i] = mark;
}
