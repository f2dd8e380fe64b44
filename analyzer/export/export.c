/* SPDX-License-Identifier: MIT */
#include "analyzer/export/export.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/progress.h"
#include "analyzer/base/util.h"
#include "analyzer/export/parquet.h"
#include "analyzer/export/tables.h"
#include "analyzer/ranks/ranks_runs.h"

/* Ranks that DuckDB is started for once: as CSV they take disk, and a start takes 60 ms. */
#define BATCH 32

/* Nothing is overwritten.  Private, as recordings are.  Sets whether it was made here. */
static int check_output(const char *folder, int *is_made, struct vt_diag *diag)
{
	DIR *directory = opendir(folder);
	struct dirent *entry;
	int nr = 0;

	*is_made = !directory && errno == ENOENT && !mkdir(folder, 0700);
	if (*is_made)
		return 0;
	if (!directory) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", folder, strerror(errno));
		return -1;
	}
	while ((entry = readdir(directory)))
		nr += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(directory);
	if (!nr)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: is not empty, nothing is overwritten", folder);
	return -1;
}

static int write_each(const struct vt_ranks_run *run, const struct vt_export_options *options,
		      struct vt_progress *progress, struct vt_diag *diag)
{
	uint32_t converted = 0;

	for (uint32_t i = 0; i < run->nr; i++) {
		if (vt_tables_write(options->output, run->ranks[i], options->rank.rules, diag)) {
			/* Tables that end early look like whole ones. */
			for (uint32_t k = 0; k <= i; k++)
				vt_tables_remove(options->output, run->ranks[k]->number);
			return -1;
		}
		vt_progress_count(progress, i + 1, run->nr);
		if (!options->is_parquet || (i + 1 - converted < BATCH && i + 1 < run->nr))
			continue;
		if (vt_parquet_convert(options->output, run->ranks + converted, i + 1 - converted,
				       diag))
			return -1;
		converted = i + 1;
	}
	return 0;
}

static int write_ranks(const struct vt_ranks_run *run, const struct vt_export_options *options,
		       struct vt_diag *diag)
{
	struct vt_progress progress;
	int rc;

	vt_progress_init(&progress, "writing tables");
	rc = write_each(run, options, &progress, diag);
	vt_progress_end(&progress);
	return rc;
}

int vt_export_run(const char *path, const struct vt_export_options *options, uint32_t *nr_ranks,
		  struct vt_diag *diag)
{
	struct vt_ranks_runs runs = { 0 };
	int rc = options->is_parquet ? vt_parquet_check(diag) : 0, is_made = 0;

	if (!rc)
		rc = vt_ranks_runs_init(&runs, path, &options->rank, options->run, diag);
	if (!rc)
		rc = check_output(options->output, &is_made, diag);
	if (!rc) {
		rc = write_ranks(runs.chosen, options, diag);
		*nr_ranks = runs.chosen->nr;
		if (rc && is_made)
			rmdir(options->output);
	}
	vt_ranks_runs_release(&runs);
	return rc;
}
