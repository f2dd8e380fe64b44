/* SPDX-License-Identifier: MIT */
#include "analyzer/model/cells.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "common/kinds.h"

#define PREFIX	 "cell "
#define TERMINAL "<ipython-input-" /* "<ipython-input-3-0c2ff8cf1b4e>" */

int vt_cells_is_cell(const char *file)
{
	return strncmp(file, PREFIX, strlen(PREFIX)) == 0;
}

static void rename_file(struct vt_code *code, unsigned long number)
{
	free(code->file);
	code->file = vt_xasprintf(PREFIX "%lu", number);
}

static void name_terminal(struct vt_code *code)
{
	unsigned long number;
	char *end;

	if (!code->file || strncmp(code->file, TERMINAL, strlen(TERMINAL)))
		return;
	number = strtoul(code->file + strlen(TERMINAL), &end, 10);
	if (*end == '-')
		rename_file(code, number);
}

int vt_cells_name(struct vt_frames *frames, struct vt_db *db, struct vt_diag *diag)
{
	struct vt_stmt *stmt = vt_db_prepare(
		db, "SELECT c.id, s.text FROM python_source s JOIN python_code c USING (file)"
		    " WHERE s.kind = ? AND s.part = 0");
	int rc;

	for (uint32_t i = 0; i < frames->nr_codes; i++)
		name_terminal(&frames->codes[i]);
	vt_stmt_bind_int(stmt, 1, VT_SOURCE_TEXT_CELL);
	while ((rc = vt_stmt_step(stmt)) == 1) {
		int64_t id = vt_stmt_int(stmt, 0);
		const char *text = vt_stmt_text(stmt, 1);

		if (id > 0 && id < frames->nr_codes && frames->codes[id].file && text)
			rename_file(&frames->codes[id], strtoul(text, NULL, 10));
	}
	vt_stmt_free(stmt);
	if (rc < 0)
		vt_db_diag(db, diag);
	return rc < 0 ? -1 : 0;
}
