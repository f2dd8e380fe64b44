/* SPDX-License-Identifier: MIT */
#include "analyzer/live/look.h"

#include <string.h>

#include "analyzer/base/clock.h"
#include "analyzer/ranks/folder.h"

#define LEAST_REST 10
#define NS_PER_MS  1000000

static int read_one(struct vt_look *look, const char *path, const struct vt_rank_options *options,
		    struct vt_diag *diag)
{
	struct vt_rank rank;

	if (vt_analysis_open(&look->analysis, path, NULL, diag))
		return -1;
	if (vt_rank_take(&rank, &look->analysis, path, options, diag)) {
		vt_rank_release(&rank);
		return -1;
	}
	vt_ranks_runs_of(&look->runs, &rank);
	return 0;
}

static int look_at(struct vt_look *look, const char *path, const char *when, struct vt_diag *diag)
{
	const struct vt_rank_options options = { .when = when };
	uint64_t start = vt_clock_ns();
	int rc;

	memset(look, 0, sizeof(*look));
	look->start_processor_ns = vt_clock_processor_ns();
	look->is_folder = vt_folder_is_one(path);
	rc = look->is_folder ? vt_ranks_runs_init(&look->runs, path, &options, 0, diag)
			     : read_one(look, path, &options, diag);
	if (!rc)
		look->is_running = vt_ranks_runs_is_running(&look->runs);
	look->took_ns = vt_clock_ns() - start;
	return rc;
}

int vt_look_init(struct vt_look *look, const char *path, struct vt_diag *diag)
{
	return look_at(look, path, "end", diag);
}

int vt_look_init_at_peak(struct vt_look *look, const char *path, struct vt_diag *diag)
{
	return look_at(look, path, "peak", diag);
}

void vt_look_close(struct vt_look *look)
{
	vt_analysis_close(&look->analysis);
}

void vt_look_release(struct vt_look *look)
{
	vt_look_close(look);
	vt_ranks_runs_release(&look->runs);
	memset(look, 0, sizeof(*look));
}

uint64_t vt_look_pause_ms(const struct vt_look *look, int64_t every_s)
{
	/* A long recording is read on several processors at once. */
	uint64_t processor_ns = vt_clock_processor_ns() - look->start_processor_ns;
	uint64_t took_ns = look->took_ns > processor_ns ? look->took_ns : processor_ns;
	uint64_t rest = (uint64_t)every_s * 1000, least = took_ns * LEAST_REST / NS_PER_MS;

	return rest < least ? least : rest;
}
