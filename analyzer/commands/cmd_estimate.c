/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/options.h"
#include "analyzer/base/units.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/planned_run.h"
#include "analyzer/planner/estimate.h"
#include "analyzer/planner/model_run.h"
#include "analyzer/planner/validation.h"
#include "analyzer/planner/extrapolation_print.h"
#include "analyzer/planner/measured.h"
#include "analyzer/planner/overhead.h"
#include "analyzer/planner/planner.h"
#include "analyzer/planner/checkpoint_search_print.h"
#include "analyzer/planner/sheet.h"
#include "analyzer/planner/source.h"
#include "analyzer/planner/term_rules.h"
#include "analyzer/analysis/analysis.h"
#include "common/size.h"

/* A number without a unit is bytes: nobody means a device of fewer than these. */
#define LEAST_VRAM (1u << 20)

/* The settings have the numbers from SETTING on, in their own order. */
enum {
	OPTION_TRAIN = 256,
	OPTION_INFER,
	OPTION_GPU,
	OPTION_VRAM,
	OPTION_PARAMS,
	OPTION_WHAT_IF,
	OPTION_AGAINST,
	OPTION_OVERHEAD,
	OPTION_FROM,
	OPTION_WAS,
	OPTION_RUN,
	OPTION_PYTHON,
	OPTION_BUILD,
	OPTION_BUDGET,
	OPTION_TERMS,
	OPTION_LIST,
	SETTING = 512
};

#define HELP_NUMBER(help, limits) help
#define HELP_BYTES(help, limits)  help
#define HELP_WORD(help, limits)   help ": " limits
#define SETTING_OPTION(id, name, kind, standard, limits, argument, changes, help)                  \
	{ SETTING + VT_SET_##id, name, argument, HELP_##kind(help, limits) },
static const struct vt_option options[] = {
	{ OPTION_TRAIN, "train", NULL, "plan a training step" },
	{ OPTION_INFER, "infer", NULL,
	  "plan a forward, or with --new-tokens a generation (default)" },
	{ OPTION_GPU, "gpu", "CARD",
	  "check whether it fits this card of run --simulate (default: all known)" },
	{ OPTION_VRAM, "vram", "SIZE", "check whether it fits a device of SIZE (24GiB or 24GB)" },
	{ OPTION_PARAMS, "params", "N", "without MODEL: number of parameters (7B)" },
	{ OPTION_WHAT_IF, "what-if", "NAME=V,V,...", "print the peak for each value of an option" },
	{ OPTION_AGAINST, "against", "FILE", "compare with a recorded run, by stage and owner" },
	{ OPTION_OVERHEAD, "overhead", "FILE",
	  "take --context, --cublas and --communication from a recorded run" },
	{ OPTION_FROM, "from", "FILE",
	  "without MODEL: scale a recorded run to another --batch or --seq" },
	{ OPTION_WAS, "was", "BxS",
	  "batch and length that --from was recorded with (default: from its inputs)" },
	{ OPTION_RUN, "run", NULL, "build the model itself and run it on the simulator" },
	{ OPTION_PYTHON, "python", "PROGRAM",
	  "with --run: a Python with PyTorch and the model's library (default: python3)" },
	{ OPTION_BUILD, "build", "FILE.py:FUNCTION",
	  "without MODEL: run what FUNCTION(batch, seq) returns, a model and its inputs" },
	{ OPTION_BUDGET, "budget", "SIZE",
	  "with --train or --from: the cheapest changes with which it fits SIZE (24GiB or 24GB)" },
	{ OPTION_TERMS, "terms", "FILE", "use the formulas of this file" },
	{ OPTION_LIST, "list", NULL, "list presets and cards" },
	{ 'j', "json", NULL, "print JSON" },
	VT_SETTINGS(SETTING_OPTION){ 0 },
};
#undef SETTING_OPTION

static const struct vt_options_spec spec = {
	.command = "estimate",
	.synopsis = "[OPTION...] MODEL | --params N | --from FILE | --build FILE.py:FUNCTION",
	.summary =
		"Estimates the memory of a planned run. MODEL is a model's folder, a\nconfig.json, "
		"a safetensors or GGUF file, a preset (--list), a name in the local\ncache of "
		"Hugging Face, or a sheet of formulas (.ini).",
	.options = options,
};

struct arguments {
	struct vt_plan_settings settings;
	struct vt_gpu gpu;
	const char *card; /* --gpu, or NULL */
	const char *params;
	const char *what_if; /* NULL: one plan */
	const char *against; /* NULL: no recorded run */
	const char *overhead; /* NULL: no recorded run */
	const char *from;    /* NULL: no recorded run */
	const char *python;  /* NULL: python3 */
	const char *build;   /* NULL: no script */
	const char *terms;   /* NULL: the built-in formulas */
	uint64_t budget;     /* bytes, 0: none */
	struct vt_scaling_size was;
	int has_gpu, is_json, is_list, is_run;
};

static int take_mode(struct arguments *arguments, int mode, struct vt_diag *diag)
{
	if (arguments->settings.is_given[VT_SET_MODE] &&
	    arguments->settings.value[VT_SET_MODE] != mode)
		vt_diag_set(diag, VT_EXIT_USAGE, "--train and --infer exclude each other");
	arguments->settings.is_given[VT_SET_MODE] = 1;
	arguments->settings.value[VT_SET_MODE] = mode;
	return diag->exit_code ? -1 : 0;
}

/* One device that it is to fit. */
static int take_device(struct arguments *arguments, struct vt_diag *diag)
{
	if (arguments->has_gpu)
		vt_diag_set(diag, VT_EXIT_USAGE, "--gpu and --vram: give one of them, once");
	arguments->has_gpu = 1;
	return diag->exit_code ? -1 : 0;
}

static int take_gpu(struct arguments *arguments, const char *name, struct vt_diag *diag)
{
	if (take_device(arguments, diag))
		return -1;
	arguments->card = name;
	return vt_gpus_choose(name, &arguments->gpu, diag);
}

/* Bytes of memory as a user writes them. */
static int parse_memory(uint64_t *bytes, const char *option, const char *text, struct vt_diag *diag)
{
	if (!vt_size_parse(text, bytes) && *bytes &&
	    (*bytes >= LEAST_VRAM || text[strspn(text, "0123456789.")] != '\0'))
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE, "--%s %.40s: must be a size with a unit, such as 24GiB",
		    option, text);
	return -1;
}

static int take_vram(struct arguments *arguments, const char *text, struct vt_diag *diag)
{
	uint64_t bytes;

	if (take_device(arguments, diag) || parse_memory(&bytes, "vram", text, diag))
		return -1;
	vt_gpus_plain(&arguments->gpu, bytes);
	return 0;
}

/* The device that it is to fit is that card's, with so much of it. */
static int take_budget(struct arguments *arguments, struct vt_diag *diag)
{
	char b[VT_UNITS_MAX];

	if (arguments->has_gpu && !arguments->card)
		vt_diag_set(diag, VT_EXIT_USAGE, "--budget and --vram exclude each other");
	else if (arguments->has_gpu && arguments->budget > arguments->gpu.usable_bytes)
		vt_diag_set(diag, VT_EXIT_USAGE, "--budget: %s has %s", arguments->card,
			    vt_units_bytes(b, sizeof(b), arguments->gpu.usable_bytes));
	else if (!arguments->from && arguments->settings.value[VT_SET_MODE] != VT_MODE_TRAIN)
		vt_diag_set(diag, VT_EXIT_USAGE, "--budget only applies with --train or --from");
	else if (arguments->params || arguments->what_if || arguments->against ||
		 arguments->build)
		vt_diag_set(diag, VT_EXIT_USAGE, "--budget excludes --params, --what-if, "
						 "--against and --build");
	else if (arguments->from && (arguments->settings.is_given[VT_SET_BATCH] ||
				     arguments->settings.is_given[VT_SET_SEQ] ||
				     arguments->was.batch))
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--budget of a recording excludes --batch, --seq and --was");
	if (!arguments->has_gpu)
		vt_gpus_plain(&arguments->gpu, arguments->budget);
	arguments->gpu.usable_bytes = arguments->budget;
	arguments->has_gpu = 1;
	return diag->exit_code ? -1 : 0;
}

static int take_was(struct arguments *arguments, const char *text, struct vt_diag *diag)
{
	if (!vt_scaling_size_parse(&arguments->was, text))
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE, "--was %.40s: must be rows and tokens, such as 8x512",
		    text);
	return -1;
}

static int take_what_if(struct arguments *arguments, const char *text, struct vt_diag *diag)
{
	if (arguments->what_if)
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--what-if %.40s: only one option can be varied at a time", text);
	arguments->what_if = text;
	return diag->exit_code ? -1 : 0;
}

static int take_build(struct arguments *arguments, const char *text, struct vt_diag *diag)
{
	const char *end = strstr(text, ".py:");

	arguments->build = text;
	arguments->is_run = 1;
	if (end && end > text && end[strlen(".py:")])
		return 0;
	vt_diag_set(diag, VT_EXIT_USAGE, "--build %.60s: a file and its function, FILE.py:FUNCTION",
		    text);
	return -1;
}

/* 0, or -1 with `diag` filled. */
static int take(struct arguments *arguments, int id, struct vt_diag *diag)
{
	switch (id) {
	case OPTION_TRAIN:
		return take_mode(arguments, VT_MODE_TRAIN, diag);
	case OPTION_INFER:
		return take_mode(arguments, VT_MODE_INFER, diag);
	case OPTION_GPU:
		return take_gpu(arguments, optarg, diag);
	case OPTION_VRAM:
		return take_vram(arguments, optarg, diag);
	case OPTION_PARAMS:
		arguments->params = optarg;
		return 0;
	case OPTION_WHAT_IF:
		return take_what_if(arguments, optarg, diag);
	case OPTION_AGAINST:
		arguments->against = optarg;
		return 0;
	case OPTION_OVERHEAD:
		arguments->overhead = optarg;
		return 0;
	case OPTION_FROM:
		arguments->from = optarg;
		return 0;
	case OPTION_WAS:
		return take_was(arguments, optarg, diag);
	case OPTION_RUN:
		arguments->is_run = 1;
		return 0;
	case OPTION_PYTHON:
		arguments->python = optarg;
		return 0;
	case OPTION_BUILD:
		return take_build(arguments, optarg, diag);
	case OPTION_BUDGET:
		return parse_memory(&arguments->budget, "budget", optarg, diag);
	case OPTION_TERMS:
		arguments->terms = optarg;
		return 0;
	case OPTION_LIST:
		arguments->is_list = 1;
		return 0;
	case 'j':
		arguments->is_json = 1;
		return 0;
	default:
		return vt_plan_settings_set(&arguments->settings, (enum vt_setting)(id - SETTING),
				       optarg, diag);
	}
}

static int print_list(void)
{
	char *presets = vt_source_presets(), b[VT_UNITS_MAX];
	struct vt_gpu gpu;

	printf("presets:\n");
	for (const char *at = presets; *at; at += strspn(at, " ")) {
		printf("  %.*s\n", (int)strcspn(at, " "), at);
		at += strcspn(at, " ");
	}
	printf("cards:\n");
	for (size_t i = 0; !vt_gpus_at(i, &gpu); i++)
		printf("  %-14s %s usable\n", gpu.name,
		       vt_units_bytes(b, sizeof(b), gpu.usable_bytes));
	free(presets);
	return VT_EXIT_OK;
}

/* The card that a run was recorded on, unless another was asked for or it is none of ours. */
static void take_recorded_gpu(struct vt_planner_request *request, struct vt_gpu *gpu)
{
	const struct vt_device *device = vt_measured_device(&request->against->model);

	if (!request->gpu && device && device->name && !vt_gpus_find_device(device->name, gpu))
		request->gpu = gpu;
}

static void print(const struct arguments *arguments, struct vt_planner_request *request,
		  struct vt_diag *diag)
{
	struct vt_analysis analysis = { 0 };
	struct vt_gpu gpu;
	int rc = 0;

	if (arguments->against) {
		rc = vt_analysis_open(&analysis, arguments->against, NULL, diag);
		request->against = &analysis;
		if (!rc)
			take_recorded_gpu(request, &gpu);
	}
	if (!rc && arguments->is_json)
		vt_planner_json_print(request, stdout, diag);
	else if (!rc)
		vt_planner_text_print(request, stdout, diag);
	if (arguments->against)
		vt_analysis_close(&analysis);
	request->against = NULL;
}

/* A recorded run has all settings but these two. */
static int check_from(const struct arguments *arguments, int nr_operands)
{
	const int *is_given = arguments->settings.is_given;

	for (int id = 0; id < VT_NR_SETTINGS; id++)
		if (is_given[id] && id != VT_SET_BATCH && id != VT_SET_SEQ)
			return -1;
	return nr_operands || arguments->params || arguments->what_if || arguments->against ||
			       arguments->overhead ?
		       -1 :
		       0;
}

static void scale(const struct arguments *arguments, struct vt_diag *diag)
{
	const struct vt_plan_settings *settings = &arguments->settings;
	const struct vt_gpu *gpu = arguments->has_gpu ? &arguments->gpu : NULL;
	struct vt_scaling_size is = { 0, 0 };
	struct vt_extrapolation x = { 0 };
	struct vt_analysis analysis;
	int rc = vt_analysis_open(&analysis, arguments->from, NULL, diag);

	if (settings->is_given[VT_SET_BATCH])
		is.batch = (uint64_t)settings->value[VT_SET_BATCH];
	if (settings->is_given[VT_SET_SEQ])
		is.seq = (uint64_t)settings->value[VT_SET_SEQ];
	if (!rc)
		rc = vt_extrapolation_init(&x, &analysis, arguments->was, is,
					 gpu ? gpu->usable_bytes : 0, diag);
	if (!rc && arguments->is_json)
		vt_extrapolation_print_json(&x, gpu, stdout);
	else if (!rc)
		vt_extrapolation_print_text(&x, gpu, stdout);
	vt_extrapolation_release(&x);
	vt_analysis_close(&analysis);
}

/* The exit code; that of `diag` where it is filled. */
static int fit_recording(const struct arguments *arguments, struct vt_diag *diag)
{
	struct vt_checkpoint_search fitting = { 0 };
	struct vt_analysis analysis;
	int rc = vt_analysis_open(&analysis, arguments->from, NULL, diag), is_found;

	if (!rc)
		rc = vt_checkpoint_search_search(&fitting, &analysis, arguments->budget, diag);
	if (!rc && arguments->is_json)
		vt_checkpoint_search_print_json(&fitting, stdout);
	else if (!rc)
		vt_checkpoint_search_print_text(&fitting, stdout);
	is_found = fitting.result == VT_COVER_FOUND;
	vt_checkpoint_search_release(&fitting);
	vt_analysis_close(&analysis);
	return is_found ? VT_EXIT_OK : VT_EXIT_DIFFERENCE;
}

/* The exit code; that of `diag` where it is filled. */
static int estimate(const struct arguments *arguments, const char *name, struct vt_diag *diag)
{
	struct vt_architecture model = { 0 };
	struct vt_budget_search budget = { 0 };
	struct vt_sweep sweep;
	struct vt_planner_request request = {
		.model = &model,
		.settings = arguments->settings,
		.gpu = arguments->has_gpu ? &arguments->gpu : NULL,
		.sweep = arguments->what_if ? &sweep : NULL,
		.budget = arguments->budget ? &budget : NULL,
	};
	int rc, is_missed;

	if (arguments->overhead && vt_overhead_read(&request.settings, arguments->overhead, diag))
		return diag->exit_code;
	if (arguments->what_if && vt_sweep_parse(&sweep, arguments->what_if, diag))
		return diag->exit_code;
	if (!arguments->what_if && vt_validate_settings(&arguments->settings, diag))
		return diag->exit_code;
	if (arguments->params)
		rc = vt_source_nominal(&model, arguments->params, diag);
	else
		rc = vt_source_open(&model, name, diag);
	if (!rc)
		vt_validate_usual_length(&request.settings, &model);
	if (!rc)
		print(arguments, &request, diag);
	vt_architecture_release(&model);
	is_missed = arguments->budget && !budget.sets.len;
	vt_budget_search_release(&budget);
	return diag->exit_code ? diag->exit_code : is_missed ? VT_EXIT_DIFFERENCE : VT_EXIT_OK;
}

/* More than any card has: how much is needed is the question. */
#define WITHOUT_LIMIT "4096GiB"
/* Where none was named. */
#define USUAL_CARD "h100-80g"

static char *profile_of(const struct arguments *arguments, int is_limited)
{
	const char *card = arguments->card ? arguments->card : USUAL_CARD;

	/* As it is described, with what of it is held back. */
	if (is_limited && arguments->card && !arguments->budget)
		return vt_xstrdup(card);
	if (is_limited)
		return vt_xasprintf("%s,memory=%llu", card,
				    (unsigned long long)arguments->gpu.usable_bytes);
	return vt_xasprintf("%s,memory=" WITHOUT_LIMIT, card);
}

/* What needs more than the card has, cached segments included, is tried with its memory. */
static int try_on_card(const struct arguments *arguments, struct vt_model_run *run,
		       struct vt_planned_run_request *request, struct vt_diag *diag)
{
	struct vt_planned_run tried = { 0 };
	char *profile;
	int rc;

	run->is_out_of_memory = -1;
	if (!run->gpu || vt_model_run_need(run, run->gpu) <= (double)run->gpu->usable_bytes ||
	    vt_model_run_judge(run, run->gpu) == VT_FIT_NO)
		return 0;
	profile = profile_of(arguments, 1);
	request->profile = profile;
	rc = vt_planned_run_make(&tried, request, diag);
	if (!rc)
		run->is_out_of_memory = json_object_get(tried.result, "out_of_memory") != NULL;
	vt_planned_run_release(&tried);
	free(profile);
	return rc;
}

static void show_run(const struct arguments *arguments, struct vt_model_run *run,
		     struct vt_planned_run_request *request, struct vt_diag *diag)
{
	struct vt_analysis analysis;
	int rc = vt_analysis_open(&analysis, run->recording, NULL, diag);

	if (json_object_get(run->result, "out_of_memory")) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: needs more than " WITHOUT_LIMIT,
			    run->model);
		rc = -1;
	}
	run->analysis = &analysis;
	run->is_out_of_memory = -1;
	if (!rc)
		rc = vt_model_run_init(run, diag);
	if (!rc)
		rc = try_on_card(arguments, run, request, diag);
	if (!rc && arguments->is_json)
		vt_model_run_print_json(run, stdout);
	else if (!rc)
		vt_model_run_print_text(run, stdout);
	vt_model_run_release(run);
	vt_analysis_close(&analysis);
}

/* The formulas' plan of it, if they know the model. */
static void plan_beside(struct vt_plan *plan, struct vt_plan_settings *settings,
			struct vt_architecture *model, const char *name, struct vt_diag *diag)
{
	if (!name)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "a script has no configuration");
	if (!name || vt_source_open(model, name, diag))
		return;
	vt_validate_usual_length(settings, model);
	vt_estimate_make(plan, diag);
}

/* What is run is what fits by formulas. */
static void take_cheapest(struct vt_plan *plan, struct vt_plan_settings *settings,
			  const struct vt_diag *without, struct vt_diag *diag)
{
	struct vt_plan changed = { .model = plan->model, .settings = settings, .gpu = plan->gpu };
	struct vt_budget_search budget = { 0 };

	if (without->exit_code) {
		*diag = *without;
		return;
	}
	vt_budget_search_search(&budget, plan);
	if (!budget.sets.len)
		vt_diag_set(diag, VT_EXIT_DIFFERENCE,
			    "no combination of changes fits the budget; without --run the one with "
			    "the lowest peak is shown");
	else if (!vt_budget_search_apply(settings, &budget.sets.items[0])) {
		vt_plan_release(plan);
		*plan = changed;
		vt_estimate_make(plan, diag);
	}
	vt_budget_search_release(&budget);
}

static void run_model(const struct arguments *arguments, const char *name, struct vt_diag *diag)
{
	const struct vt_gpu *gpu = arguments->has_gpu ? &arguments->gpu : NULL;
	struct vt_plan_settings settings = arguments->settings;
	char *profile = profile_of(arguments, 0);
	struct vt_planned_run_request request = {
		.model = name ? name : arguments->build,
		.python = arguments->python ? arguments->python : "python3",
		.profile = profile,
		.settings = &settings,
	};
	struct vt_architecture model = { 0 };
	struct vt_plan plan = { .model = &model, .settings = &settings };
	struct vt_planned_run run = { 0 };
	struct vt_diag without = { 0 };
	struct vt_gpu usual;

	plan.gpu = gpu ? gpu : vt_gpus_find(USUAL_CARD, &usual) ? NULL : &usual;
	if (!vt_validate_settings(&settings, diag)) {
		plan_beside(&plan, &settings, &model, name, &without);
		if (arguments->budget)
			take_cheapest(&plan, &settings, &without, diag);
	}
	if (!diag->exit_code)
		vt_planned_run_make(&run, &request, diag);
	if (!diag->exit_code) {
		struct vt_model_run shown = {
			.model = request.model, .recording = run.recording, .result = run.result,
			.is_kept = run.is_kept, .settings = &settings, .gpu = gpu,
		};

		if (without.exit_code)
			shown.plan_error = without.text;
		else
			shown.plan = &plan;
		show_run(arguments, &shown, &request, diag);
	}
	vt_planned_run_release(&run);
	vt_plan_release(&plan);
	vt_architecture_release(&model);
	free(profile);
}

/* What --run and --build go together with; NULL: all is well. */
static const char *check_run(const struct arguments *arguments)
{
	if (!arguments->is_run)
		return arguments->python ? "--python only applies with --run or --build" : NULL;
	if (arguments->params || arguments->what_if || arguments->against || arguments->from ||
	    arguments->overhead)
		return "--run excludes --params, --what-if, --against, --overhead and --from";
	return NULL;
}

/* Does what was asked for: the exit code, or that of `diag` where it is filled. */
static int answer(const struct arguments *arguments, const char *name, struct vt_diag *diag)
{
	if (arguments->is_run)
		run_model(arguments, name, diag);
	else if (arguments->from && arguments->budget)
		return fit_recording(arguments, diag);
	else if (arguments->from)
		scale(arguments, diag);
	else if (name && vt_sheet_is(name))
		vt_sheet_print(name, arguments->what_if, arguments->is_json, stdout, diag);
	else
		return estimate(arguments, name, diag);
	return VT_EXIT_OK;
}

/* ... with the formulas of a user's file. */
static int answer_by(struct arguments *arguments, const char *name, struct vt_diag *diag)
{
	struct vt_term_rules terms;
	int exit_code = VT_EXIT_OK;

	if (!vt_term_rules_load(&terms, arguments->terms, diag)) {
		arguments->settings.terms = &terms;
		exit_code = answer(arguments, name, diag);
	}
	vt_term_rules_release(&terms);
	return exit_code;
}

int vt_cmd_estimate(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct vt_diag diag = { 0 };
	const char *name;
	int id, wanted, exit_code;

	vt_plan_settings_init(&arguments.settings);
	while ((id = vt_options_next(&spec, argc, argv)) > 0)
		if (take(&arguments, id, &diag))
			return vt_options_wrong(&spec, "%s", diag.text);
	if (id < 0)
		return vt_options_exit_code(id);
	if (arguments.is_list)
		return print_list();
	if (arguments.from && check_from(&arguments, argc - optind))
		return vt_options_wrong(&spec, "--from takes no MODEL, and of the settings only "
					       "--batch and --seq");
	if (!arguments.from && arguments.was.batch)
		return vt_options_wrong(&spec, "--was only applies with --from");
	if (check_run(&arguments))
		return vt_options_wrong(&spec, "%s", check_run(&arguments));
	if (arguments.budget && take_budget(&arguments, &diag))
		return vt_options_wrong(&spec, "%s", diag.text);
	wanted = arguments.params || arguments.from || arguments.build ? 0 : 1;
	if (argc - optind != wanted)
		return vt_options_wrong(&spec, wanted            ? "needs exactly one MODEL"
					       : arguments.build ? "--build takes no MODEL"
								 : "--params takes no MODEL");
	if (arguments.against && (arguments.what_if || arguments.params ||
				  (wanted && vt_sheet_is(argv[optind]))))
		return vt_options_wrong(&spec, "--against needs a MODEL, and neither --what-if nor "
					       "a sheet");
	if (arguments.terms &&
	    (arguments.from || arguments.build || (wanted && vt_sheet_is(argv[optind]))))
		return vt_options_wrong(&spec, "--terms needs a MODEL or --params, and no sheet");
	name = wanted ? argv[optind] : NULL;
	exit_code = arguments.terms ? answer_by(&arguments, name, &diag)
				    : answer(&arguments, name, &diag);
	if (!diag.exit_code)
		return exit_code;
	return diag.exit_code == VT_EXIT_USAGE ? vt_options_wrong(&spec, "%s", diag.text) :
						 vt_diag_print(&diag);
}
