/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/overhead.h"

#include <string.h>

#include "analyzer/analysis/analysis.h"
#include "analyzer/analysis/books.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/planner/measured.h"

static void fill(struct vt_plan_settings *settings, enum vt_setting id, uint64_t bytes)
{
	if (settings->is_given[id])
		return;
	settings->is_given[id] = 1;
	settings->value[id] = (int64_t)bytes;
}

static uint64_t sum_below(const struct vt_books *books, const char *path)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < books->nr_lines; i++)
		if (vt_owner_path_is_below(books->lines[i].owner, path, strlen(path)))
			sum += books->lines[i].bytes;
	return sum;
}

static int read_device(struct vt_plan_settings *settings, struct vt_analysis *analysis,
		       struct vt_diag *diag)
{
	const struct vt_device *device = vt_measured_device(&analysis->model);
	const struct vt_peak *peak = device ? vt_model_peak(&analysis->model, device->id) : NULL;
	struct vt_books books;

	if (!peak) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no blocks of a framework in it",
			    vt_db_path(analysis->db));
		return -1;
	}
	vt_books_init(&books, &analysis->attribution, device->id, peak->event);
	if (books.has_context && books.context_bytes)
		fill(settings, VT_SET_CONTEXT, books.context_bytes);
	fill(settings, VT_SET_CUBLAS, sum_below(&books, "workspace/cublas"));
	fill(settings, VT_SET_COMMUNICATION, sum_below(&books, "communication"));
	vt_books_release(&books);
	return 0;
}

int vt_overhead_read(struct vt_plan_settings *settings, const char *path, struct vt_diag *diag)
{
	struct vt_analysis analysis = { 0 };
	int rc = vt_analysis_open(&analysis, path, NULL, diag);

	if (!rc)
		rc = read_device(settings, &analysis, diag);
	vt_analysis_close(&analysis);
	return rc;
}
