/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/output.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/recording_file.h"
#include "analyzer/base/util.h"
#include "analyzer/check/check_ranks.h"
#include "analyzer/check/history.h"
#include "analyzer/check/starter.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/page.h"
#include "analyzer/commands/view.h"
#include "analyzer/ranks/folder.h"

#define DEFAULT_BUDGET "memory.toml"
#define MOST_BASELINES 64

enum {
	OPTION_BUDGET = 256,
	OPTION_BASELINE,
	OPTION_FROM,
	OPTION_TO,
	OPTION_MISSING,
	OPTION_TOP,
	OPTION_GITHUB,
	OPTION_JUNIT,
	OPTION_FORCE,
	OPTION_RUN,
	OPTION_HTML,
	OPTION_FORMAT,
	OPTION_REPOSITORY,
	OPTION_REVISION,
	OPTION_INIT,
	OPTION_HISTORY,
};

static const struct vt_option options[] = {
	{ OPTION_BUDGET, "budget", "FILE", "the limits (default: " DEFAULT_BUDGET ")" },
	{ OPTION_BASELINE, "baseline", "FILE",
	  "baseline of \"+5%\": a recording, or the output of --json; repeat to measure noise" },
	{ OPTION_FROM, "from", "MARK", "check only after this mark" },
	{ OPTION_TO, "to", "MARK", "check only before this mark" },
	{ OPTION_MISSING, "missing", "fail|skip",
	  "limits without a figure (no such stage, step, ...): fail (default) or skip" },
	{ OPTION_TOP, "top", "N", "show N call sites per exceeded limit (default: 3)" },
	{ OPTION_GITHUB, "github", NULL, "also print annotations for GitHub Actions" },
	{ OPTION_JUNIT, "junit", "FILE", "also write JUnit XML" },
	{ OPTION_HTML, "html", "FILE",
	  "write an HTML page if the budget is exceeded (vtrace html)" },
	{ OPTION_FORCE, "force", NULL, "replace existing files" },
	{ OPTION_FORMAT, "format", "FORMAT", "text (default), markdown or json" },
	{ OPTION_REPOSITORY, "repository", "URL", "markdown: link lines to this repository" },
	{ OPTION_REVISION, "revision", "REVISION", "the commit for these links and for --history" },
	{ OPTION_HISTORY, "history", "FILE",
	  "add the figures to FILE, and report where they jumped" },
	{ OPTION_INIT, "init", "BUDGET", "write a starter budget from this run" },
	{ OPTION_RUN, "run", "N", "run N of a folder with several (from 1, by start)" },
	VT_VIEW_REPLAY_OPTIONS,
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "check",
	.synopsis = "[OPTION...] FILE|FOLDER",
	.summary =
		"Checks a recording, or each rank of a run, against a budget; exits with 1 if a "
		"limit\nis exceeded.",
	.options = options,
};

struct wanted {
	struct vt_check_options check;
	const char *budget; /* NULL: DEFAULT_BUDGET */
	const char *baselines[MOST_BASELINES];
	unsigned nr_baselines;
	const char *junit;
	const char *html;
	const char *init;
	const char *history;
	const char *repository, *revision;
	int has_github;
	int is_forced;
	int run;
	int *is_broken;
};

/* What was found of a recording, or of the ranks in a folder. */
struct found {
	const struct vt_check *check;
	const struct vt_check_ranks *ranks; /* NULL: of a recording */
};

static void print_junit(const struct found *found, FILE *out)
{
	if (found->ranks)
		vt_check_ranks_print_junit(found->ranks, out);
	else
		vt_check_print_junit(found->check, out);
}

/* With --force, a device, a pipe or a link stays what it is. */
static int is_rewritten(const struct wanted *wanted)
{
	struct stat st;

	return wanted->is_forced && !lstat(wanted->junit, &st) && !S_ISREG(st.st_mode);
}

/* Before the check: a file that stays must not hide a broken budget behind its exit code. */
static int check_junit(const struct wanted *wanted)
{
	struct vt_diag diag = { 0 };

	if (is_rewritten(wanted) || !vt_output_check(wanted->junit, wanted->is_forced, &diag))
		return VT_EXIT_OK;
	return vt_diag_print(&diag);
}

static int write_junit(const struct wanted *wanted, const struct found *found,
		       struct vt_diag *diag)
{
	struct vt_output output;

	if (is_rewritten(wanted)) {
		if (vt_recording_file_keep(wanted->junit, 1, diag) ||
		    vt_output_rewrite(&output, wanted->junit, diag))
			return -1;
	} else if (vt_output_check(wanted->junit, wanted->is_forced, diag) ||
		   vt_output_open(&output, wanted->junit, wanted->is_forced, diag)) {
		return -1;
	}
	print_junit(found, output.file);
	return vt_output_close(&output, 0, diag);
}

/* The steps of all limits; on stderr where the report is for a program. */
static void print_steps(const struct vt_history *history, FILE *out)
{
	for (uint32_t i = 0; i < history->nr_series; i++)
		for (size_t k = 0; k < history->series[i].steps.len; k++) {
			char *text = vt_history_sentence(history, &history->series[i],
							 &history->series[i].steps.items[k]);

			fprintf(out, "STEP  %s\n", text);
			free(text);
		}
}

static int keep_figures(const struct wanted *wanted, const struct vt_view *view,
			const struct found *found, struct vt_diag *diag)
{
	char *revision = vt_source_links_revision(wanted->revision);
	struct vt_history_figures figures = { 0 };
	struct vt_history history = { 0 };
	int rc;

	if (found->ranks)
		vt_history_figures_of_ranks(&figures, found->ranks);
	else
		vt_history_figures_of_check(&figures, found->check);
	rc = vt_history_add(wanted->history, &figures, revision ? revision : "-", diag);
	vt_vector_release(&figures);
	free(revision);
	if (!rc)
		rc = vt_history_read(&history, wanted->history, diag);
	if (!rc)
		print_steps(&history, view->is_json ? stderr : stdout);
	vt_history_release(&history);
	return rc;
}

static int print(const struct wanted *wanted, const struct vt_view *view,
		 const struct vt_check *check, struct vt_diag *diag)
{
	const struct found found = { check, NULL };
	int is_text = !view->is_json && !view->is_markdown;

	if (view->is_json)
		vt_check_print_json(check, stdout);
	else if (view->is_markdown)
		vt_check_print_markdown(check, stdout);
	else
		vt_check_print_text(check, stdout);
	/* Where the report is for a program, annotations would end up in it. */
	if (wanted->has_github)
		vt_check_print_github(check, is_text ? stdout : stderr);
	*wanted->is_broken = check->nr_broken != 0;
	if (wanted->history && keep_figures(wanted, view, &found, diag))
		return -1;
	return wanted->junit ? write_junit(wanted, &found, diag) : 0;
}

/* Of a run whose highest rank may be missing there is nothing to add. */
static int keep_ranks(const struct wanted *wanted, const struct vt_view *view,
		      const struct found *found, struct vt_diag *diag)
{
	char *path;

	if (!vt_check_ranks_has_unknown(found->ranks))
		return keep_figures(wanted, view, found, diag);
	path = vt_printable_copy(wanted->history);
	fprintf(stderr, "vtrace: %s: nothing added, because not every rank could be checked\n",
		path);
	free(path);
	return 0;
}

static int print_ranks(const struct wanted *wanted, const struct vt_view *view,
		       const struct vt_check_ranks *ranks, struct vt_diag *diag)
{
	const struct found found = { NULL, ranks };
	int is_text = !view->is_json && !view->is_markdown;

	if (wanted->history && ranks->runs.is_unrelated) {
		vt_diag_set(diag, VT_EXIT_USAGE, "%s: --history is for the ranks of one run",
			    view->path);
		return -1;
	}
	if (view->is_json)
		vt_check_ranks_print_json(ranks, stdout);
	else if (view->is_markdown)
		vt_check_ranks_print_markdown(ranks, stdout);
	else
		vt_check_ranks_print_text(ranks, stdout);
	if (wanted->has_github)
		vt_check_ranks_print_github(ranks, is_text ? stdout : stderr);
	*wanted->is_broken = vt_check_ranks_is_failed(ranks);
	if (wanted->history && keep_ranks(wanted, view, &found, diag))
		return -1;
	return wanted->junit ? write_junit(wanted, &found, diag) : 0;
}

static int read_budget(struct vt_budget *budget, const struct wanted *wanted, struct vt_diag *diag)
{
	if (!wanted->budget && access(DEFAULT_BUDGET, F_OK)) {
		memset(budget, 0, sizeof(*budget));
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "no budget: " DEFAULT_BUDGET " is not in this folder, and --budget FILE"
			    " is not given");
		return -1;
	}
	return vt_budget_read(budget, wanted->budget ? wanted->budget : DEFAULT_BUDGET,
			      wanted->baselines, wanted->nr_baselines, diag);
}

static int show_ranks(const struct vt_view *view, const struct wanted *wanted)
{
	struct vt_check_options asked = wanted->check;
	struct vt_check_ranks ranks = { 0 };
	struct vt_source_links links;
	struct vt_budget budget;
	struct vt_diag diag = { 0 };
	int rc = read_budget(&budget, wanted, &diag);

	vt_source_links_init(&links, wanted->repository, wanted->revision);
	asked.links = &links;
	asked.budget = &budget;
	asked.rules = view->rules;
	asked.device = view->device;
	if (!rc) {
		rc = vt_check_ranks_init(&ranks, view->path, (uint32_t)wanted->run, &asked, &diag);
		if (!rc)
			rc = print_ranks(wanted, view, &ranks, &diag);
		vt_check_ranks_release(&ranks);
	}
	vt_budget_release(&budget);
	vt_source_links_release(&links);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *pointer,
		struct vt_diag *diag)
{
	const struct wanted *wanted = pointer;
	struct vt_check_options asked = wanted->check;
	struct vt_source_links links;
	struct vt_budget budget;
	struct vt_check check = { 0 };
	int rc = read_budget(&budget, wanted, diag);

	vt_source_links_init(&links, wanted->repository, wanted->revision);
	asked.links = &links;
	asked.budget = &budget;
	asked.rules = view->rules;
	asked.device = view->device;
	if (!rc) {
		rc = vt_check_init(&check, analysis, &asked, diag);
		if (!rc)
			rc = print(wanted, view, &check, diag);
		vt_check_release(&check);
	}
	vt_budget_release(&budget);
	vt_source_links_release(&links);
	return rc;
}

/* The device with most of it. */
static int busiest(const struct vt_model *model)
{
	const struct vt_peak *most = NULL;

	for (uint32_t i = 0; i < model->nr_peaks; i++)
		if (!most ||
		    vt_model_most_allocated(&model->peaks[i]) > vt_model_most_allocated(most))
			most = &model->peaks[i];
	return most ? most->device : -1;
}

static int init_budget(struct vt_analysis *analysis, const struct vt_view *view,
		       const void *pointer, struct vt_diag *diag)
{
	const struct wanted *wanted = pointer;
	int device = view->device >= 0 ? view->device : busiest(&analysis->model), rc;
	struct vt_measure measure = { 0 };
	struct vt_output output;
	char *ending;

	if (!vt_model_peak(&analysis->model, device)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no device memory was recorded%s",
			    view->path, view->device >= 0 ? " on that device" : "");
		return -1;
	}
	ending = vt_check_ending(analysis);
	rc = vt_output_check(wanted->init, wanted->is_forced, diag) ||
	     vt_measure_init(&measure, analysis, wanted->check.from, wanted->check.to, diag) ||
	     vt_output_open(&output, wanted->init, wanted->is_forced, diag);
	if (!rc) {
		vt_starter_write(&measure, device, output.file);
		rc = vt_output_close(&output, 0, diag);
	}
	if (!rc)
		printf("%s\n", wanted->init);
	if (!rc && ending)
		fprintf(stderr, "vtrace: %s: %s\n", vt_db_shown_path(analysis->db), ending);
	free(ending);
	vt_measure_release(&measure);
	return rc ? -1 : 0;
}

static int take_missing(struct wanted *wanted)
{
	wanted->check.is_missing_fine = !strcmp(optarg, "skip");
	if (wanted->check.is_missing_fine || !strcmp(optarg, "fail"))
		return 0;
	vt_options_wrong(&spec, "--missing %s: use fail or skip", optarg);
	return -1;
}

/* Returns 0, or -1 with the message printed. */
static int take_option(int id, struct wanted *wanted, struct vt_view *view)
{
	int number;

	switch (id) {
	case OPTION_BUDGET:
		wanted->budget = optarg;
		break;
	case OPTION_BASELINE:
		if (wanted->nr_baselines == MOST_BASELINES)
			return vt_options_wrong(&spec, "more than %d times --baseline",
						MOST_BASELINES);
		wanted->baselines[wanted->nr_baselines++] = optarg;
		break;
	case OPTION_FROM:
		wanted->check.from = optarg;
		break;
	case OPTION_TO:
		wanted->check.to = optarg;
		break;
	case OPTION_MISSING:
		return take_missing(wanted);
	case OPTION_TOP:
		if (vt_view_number(&spec, "top", &number))
			return -1;
		wanted->check.top = (unsigned)number;
		break;
	case OPTION_RUN:
		return vt_view_number(&spec, "run", &wanted->run);
	case OPTION_GITHUB:
		wanted->has_github = 1;
		break;
	case OPTION_JUNIT:
		wanted->junit = optarg;
		break;
	case OPTION_HTML:
		wanted->html = optarg;
		break;
	case OPTION_FORMAT:
		return vt_view_format(view, &spec);
	case OPTION_REPOSITORY:
		wanted->repository = optarg;
		break;
	case OPTION_REVISION:
		wanted->revision = optarg;
		break;
	case OPTION_INIT:
		wanted->init = optarg;
		break;
	case OPTION_HISTORY:
		wanted->history = optarg;
		break;
	default:
		wanted->is_forced = 1;
	}
	return 0;
}

static struct vt_page_request page_of(const struct wanted *wanted, const struct vt_view *view)
{
	return (struct vt_page_request){ .path = view->path,
					 .output = wanted->html,
					 .rules = view->rules,
					 .run = (uint32_t)wanted->run,
					 .is_forced = wanted->is_forced };
}

/* Whether there could be a page: before what takes long. */
static int check_page(const struct wanted *wanted, const struct vt_view *view)
{
	const struct vt_page_request request = page_of(wanted, view);
	struct vt_diag diag = { 0 };

	return vt_page_check(&request, &diag) ? vt_diag_print(&diag) : VT_EXIT_OK;
}

static int write_page(const struct wanted *wanted, const struct vt_view *view)
{
	const struct vt_page_request request = page_of(wanted, view);
	struct vt_diag diag = { 0 };

	return vt_page_write(&request, &diag) ? vt_diag_print(&diag) : VT_EXIT_OK;
}

int vt_cmd_check(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	int id, rc, is_broken = 0;
	struct wanted wanted = { .check = { .top = 3 },
				 .is_broken = &is_broken };

	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0)
		if (take_option(id, &wanted, &view))
			return VT_EXIT_USAGE;
	if (id < 0)
		return vt_options_exit_code(id);
	if (wanted.html && (rc = check_page(&wanted, &view)))
		return rc;
	if (wanted.junit && (rc = check_junit(&wanted)))
		return rc;
	if (wanted.budget && wanted.init)
		rc = vt_options_wrong(&spec,
				      "--init writes a budget; nothing is checked with --budget");
	else if (vt_folder_is_one(view.path) && wanted.init)
		rc = vt_options_wrong(&spec, "--init is for one recording");
	else if (vt_folder_is_one(view.path))
		rc = show_ranks(&view, &wanted);
	else if (wanted.run)
		rc = vt_options_wrong(&spec, "--run is for a folder");
	else
		rc = vt_view_show(&view, wanted.init ? init_budget : show, &wanted);
	if (rc == VT_EXIT_OK && is_broken && wanted.html)
		rc = write_page(&wanted, &view);
	return rc == VT_EXIT_OK && is_broken ? VT_EXIT_DIFFERENCE : rc;
}
