/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/attribution/known_owners.h"
#include "analyzer/base/diag.h"
#include "analyzer/base/progress.h"
#include "analyzer/base/util.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/diff/diff_json.h"
#include "analyzer/diff/figures.h"
#include "analyzer/output/json.h"

#define MOST_THRESHOLDS 64

enum { OPTION_BY = 256, OPTION_TOP, OPTION_EXACT, OPTION_FAIL_ON, OPTION_FORMAT,
       OPTION_REPOSITORY, OPTION_REVISION };

static const struct vt_option options[] = {
	{ OPTION_BY, "by", "WHAT", "group by stack (default), module, file or owner" },
	{ OPTION_TOP, "top", "N", "show N call sites (default: 10)" },
	{ OPTION_EXACT, "exact", NULL, "match stacks only if paths and line numbers are equal" },
	{ OPTION_FAIL_ON, "fail-on", "WHAT",
	  "exit with 1 on an increase: any, moved, total:+2%, allocated:+1GiB, owner:PATH:+5%" },
	{ OPTION_FORMAT, "format", "FORMAT", "text (default), markdown or json" },
	{ OPTION_REPOSITORY, "repository", "URL", "markdown: link lines to this repository" },
	{ OPTION_REVISION, "revision", "REVISION", "markdown: the commit for these links" },
	VT_VIEW_OPTIONS("most-allocated"),
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "diff",
	.synopsis = "[OPTION...] BASE NEW | BASE... -- NEW...",
	.summary = "Compares two recordings: runs, owners, call sites.",
	.options = options,
};

/* Stands for the "--" between two sides while getopt looks for options on either side of it. */
static char separator[] = "(separator)";

struct wanted {
	struct vt_diff_options diff;
	struct vt_diff_paths sides[VT_DIFF_SIDES];
	struct vt_fail_on thresholds[MOST_THRESHOLDS];
	unsigned nr_thresholds;
	const char *repository, *revision;
	int *is_exceeded;
};

/* On stderr where the report is for a program, too. */
static int check(const struct wanted *wanted, struct vt_diff *diff, FILE *out)
{
	int is_exceeded = 0;

	for (unsigned i = 0; i < wanted->nr_thresholds; i++)
		for (uint32_t d = 0; d < diff->nr_devices; d++) {
			struct vt_figures figures;
			uint64_t bytes[VT_DIFF_SIDES];

			if (!vt_fail_on_is_exceeded(&wanted->thresholds[i], diff,
						       &diff->devices[d], bytes))
				continue;
			is_exceeded = 1;
			vt_figures_make(&figures, bytes);
			if (wanted->thresholds[i].subject == VT_FAIL_ON_ANY) {
				fputs("FAILED any: there is a difference\n", out);
				break;
			}
			if (wanted->thresholds[i].subject == VT_FAIL_ON_MOVED) {
				fprintf(out,
					"FAILED moved: code on cuda:%d has another name or "
					"location\n",
					diff->devices[d].device);
				continue;
			}
			fprintf(out, "FAILED %s: %s on cuda:%d, was %s: %s (%s)\n",
				wanted->thresholds[i].text, figures.new, diff->devices[d].device,
				figures.base, figures.change, figures.share);
		}
	if (wanted->nr_thresholds && vt_diff_is_new_failed(diff)) {
		char *why = vt_diff_incomplete(diff, VT_DIFF_NEW);

		fprintf(out, "FAILED %s\n", why);
		free(why);
		is_exceeded = 1;
	}
	return is_exceeded;
}

static void print(const struct wanted *wanted, const struct vt_view *view, struct vt_diff *diff)
{
	if (view->is_json)
		vt_json_print(vt_diff_json(diff, wanted->thresholds, wanted->nr_thresholds),
			      stdout);
	else if (view->is_markdown)
		vt_diff_markdown_print(diff, wanted->repository, wanted->revision, stdout);
	else
		vt_diff_text_print(diff, stdout);
	for (unsigned i = 0; i < wanted->nr_thresholds; i++)
		if (!vt_fail_on_has_subject(&wanted->thresholds[i], diff))
			fprintf(stderr, "note: %s: neither run has bytes of that owner\n",
				wanted->thresholds[i].text);
	*wanted->is_exceeded = check(wanted, diff, stderr);
}

/* A misspelt owner would never fail.  Returns 0, or -1 with `diag` filled. */
static int check_owners(const struct wanted *wanted, const struct vt_diff *diff,
			struct vt_diag *diag)
{
	for (unsigned i = 0; i < wanted->nr_thresholds; i++) {
		char *list;

		if (vt_fail_on_is_known(&wanted->thresholds[i], diff))
			continue;
		list = vt_known_owners_list(&diff->sides[VT_DIFF_NEW]->analysis.rules);
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--fail-on: unknown owner \"%.*s\" in these runs and in the rules; "
			    "the rules have: %s",
			    wanted->thresholds[i].owner_len, wanted->thresholds[i].owner, list);
		free(list);
		return -1;
	}
	return 0;
}

/* The path at that place, counted over both sides. */
static const char *path_at(const struct vt_diff_paths *sides, uint32_t at)
{
	uint32_t nr_base = sides[VT_DIFF_BASE].nr;

	return at < nr_base ? sides[VT_DIFF_BASE].paths[at]
			    : sides[VT_DIFF_NEW].paths[at - nr_base];
}

/*
 * A recording twice would halve the noise, and be equal to itself.  One of each side may be the
 * same: that is how one looks at what a comparison shows.
 */
static int check_files(const struct vt_diff_paths *sides, struct vt_diag *diag)
{
	uint32_t nr = sides[VT_DIFF_BASE].nr + sides[VT_DIFF_NEW].nr;

	for (uint32_t i = 0; i < nr && nr > VT_DIFF_SIDES; i++)
		for (uint32_t k = 0; k < i; k++) {
			const char *path = path_at(sides, i), *other = path_at(sides, k);

			if (!vt_diff_is_same_recording(path, other))
				continue;
			vt_diag_set(diag, VT_EXIT_USAGE, "%s is given twice%s%s", path,
				    strcmp(path, other) != 0 ? ", also as " : "",
				    strcmp(path, other) != 0 ? other : "");
			return -1;
		}
	return 0;
}

static int show(const struct vt_view *view, const struct wanted *wanted)
{
	struct vt_diff_options asked = wanted->diff;
	struct vt_diff diff = { 0 };
	struct vt_diag diag = { 0 };
	struct vt_progress_parts progress;
	int rc;

	asked.rules = view->rules;
	asked.when = view->when;
	asked.device = view->device;
	asked.has_all_frames = view->has_all_frames;
	rc = check_files(wanted->sides, &diag);
	vt_progress_parts_begin(&progress, "comparing");
	if (!rc)
		rc = vt_diff_init_sides(&diff, wanted->sides, &asked, &diag);
	vt_progress_parts_end(&progress);
	if (!rc)
		rc = check_owners(wanted, &diff, &diag);
	if (!rc)
		print(wanted, view, &diff);
	vt_diff_release(&diff);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}

static int take_threshold(struct wanted *wanted)
{
	const char *wrong;

	if (wanted->nr_thresholds == MOST_THRESHOLDS)
		return vt_options_wrong(&spec, "more than %d times --fail-on", MOST_THRESHOLDS);
	wrong = vt_fail_on_parse(&wanted->thresholds[wanted->nr_thresholds], optarg);
	if (wrong)
		return vt_options_wrong(&spec, "--fail-on \"%s\" %s", optarg, wrong);
	wanted->nr_thresholds++;
	return 0;
}

/* Returns 0, or -1 with the message printed. */
static int take_option(int id, struct wanted *wanted, struct vt_view *view)
{
	int number;

	switch (id) {
	case OPTION_BY:
		if (!vt_changes_parse(optarg, &wanted->diff.by))
			return 0;
		vt_options_wrong(&spec, "cannot compare by \"%s\"", optarg);
		return -1;
	case OPTION_TOP:
		if (vt_view_number(&spec, "top", &number))
			return -1;
		wanted->diff.top = (unsigned)number;
		return 0;
	case OPTION_EXACT:
		wanted->diff.is_exact = 1;
		return 0;
	case OPTION_REPOSITORY:
		wanted->repository = optarg;
		return 0;
	case OPTION_REVISION:
		wanted->revision = optarg;
		return 0;
	case OPTION_FORMAT:
		return vt_view_format(view, &spec);
	default:
		return take_threshold(wanted);
	}
}

/* vt_view.find_other: the sides are found afterwards. */
static const char *find_sides(int argc, char **argv)
{
	return argc > optind ? argv[optind] : NULL;
}

static void hide_separator(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			argv[i] = separator;
			return;
		}
}

/* Two operands, or any number around the separator.  0, or the exit code of wrong usage. */
static int take_sides(struct vt_diff_paths *sides, int nr, char **operands)
{
	const char *const *paths = (const char *const *)operands;
	int nr_base = 0, has_separator;

	while (nr_base < nr && operands[nr_base] != separator)
		nr_base++;
	has_separator = nr_base < nr;
	if (!has_separator && nr < VT_DIFF_SIDES)
		return vt_options_wrong(&spec, "missing NEW");
	if (!has_separator && nr > VT_DIFF_SIDES)
		return vt_options_wrong(&spec, "only one NEW; for several: BASE... -- NEW...");
	if (!nr_base)
		return vt_options_wrong(&spec, "missing BASE before --");
	if (has_separator && nr_base == nr - 1)
		return vt_options_wrong(&spec, "missing NEW after --");
	if (!has_separator)
		nr_base = 1;
	sides[VT_DIFF_BASE] = (struct vt_diff_paths){ paths, (uint32_t)nr_base };
	nr_base += has_separator;
	sides[VT_DIFF_NEW] = (struct vt_diff_paths){ paths + nr_base, (uint32_t)(nr - nr_base) };
	return 0;
}

int vt_cmd_diff(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	int id, rc, is_exceeded = 0;
	struct wanted wanted = { .diff = { .top = 10, .by = VT_CHANGES_BY_STACK },
				 .is_exceeded = &is_exceeded };

	view.find_other = find_sides;
	hide_separator(argc, argv);
	/* Device use is flat once the allocator has its segments: its peak could be any instant. */
	view.when = "most-allocated";
	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (take_option(id, &wanted, &view))
			return VT_EXIT_USAGE;
	if (id < 0)
		return vt_options_exit_code(id);
	if (take_sides(wanted.sides, argc - optind, argv + optind))
		return VT_EXIT_USAGE;
	rc = show(&view, &wanted);
	return rc == VT_EXIT_OK && is_exceeded ? VT_EXIT_DIFFERENCE : rc;
}
