/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/limits.h"
#include "analyzer/base/shell.h"
#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/oom.h"

static const struct vt_option options[] = {
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,
	  "also show frames of PyTorch and the Python standard library" },
	VT_VIEW_REPLAY_OPTIONS,
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "oom",
	.synopsis = "[OPTION...] FILE",
	.summary =
		"Explains why a request for device memory failed, and what would have avoided it.",
	.options = options,
};

/* How far it can be trusted that no request failed. */
static char *limits_of(const struct vt_analysis *analysis)
{
	const struct vt_model *model = &analysis->model;
	char *ended = vt_db_run_get(analysis->db, "ended");
	char *limits = NULL;
	int has_blocks = 0;

	for (uint32_t i = 0; i < model->nr_devices; i++)
		has_blocks |= vt_trace_has_blocks(model, model->devices[i].id);
	if (!has_blocks)
		limits = vt_xstrdup(
			"; failures are recorded only for PyTorch's allocator, which was not used");
	else if (vt_ended_is_running(ended))
		limits = vt_xstrdup(
			" so far; the program is still running, or its end was not recorded");
	else if (!strncmp(ended, "signal", 6) || !strcmp(ended, "killed"))
		limits = vt_xasprintf(" before the program %s", vt_ended_early(ended));
	free(ended);
	return limits ? limits : vt_xstrdup("");
}

/* An answer as any other, and no error. */
static char *say_none(const struct vt_analysis *analysis, const struct vt_view *view)
{
	char *limits = limits_of(analysis), *text;

	if (view->device == VT_WHEN_ALL_DEVICES)
		text = vt_xasprintf("no failed request%s", limits);
	else
		text = vt_xasprintf("no failed request on device %d%s", view->device, limits);
	free(limits);
	return text;
}

static void print_json(const struct vt_oom *oom, const struct vt_analysis *analysis,
		       const char *none)
{
	json_t *object = json_object();

	vt_json_set(object, "format", 1);
	vt_json_set(object, "out_of_memory", vt_oom_json(oom));
	vt_json_set(object, "note", none);
	vt_json_set(object, "notes", vt_limits_json(analysis));
	vt_json_print(object, stdout);
}

/* A setting only where the replay says that it serves the request. */
static void print_next(const struct vt_oom *oom, const char *path)
{
	const struct vt_frag_device *device = vt_oom_device(oom);
	char *word = vt_shell_copy(path);

	printf("next: vtrace report %s --at oom", word);
	if (device)
		printf(" | vtrace frag %s", word);
	if (device && oom->remedies.items[VT_REMEDY_EXPANDABLE].is_served)
		printf(" | vtrace whatif %s --expandable", word);
	putchar('\n');
	free(word);
}

static void print_none(const struct vt_analysis *analysis, const char *none)
{
	printf("%s\n", none);
	vt_limits_print_losses(analysis, stdout);
}

static void print_text(const struct vt_oom *oom, const struct vt_analysis *analysis,
		       const struct vt_view *view)
{
	fputs("OUT OF MEMORY", stdout);
	vt_oom_print_text(oom, stdout);
	vt_limits_print_losses(analysis, stdout);
	print_next(oom, view->path);
}

struct wanted {
	struct vt_oom *oom;
};

static void begin(struct vt_analysis *analysis, const struct vt_view *view, const void *pointer)
{
	const struct wanted *wanted = pointer;

	vt_oom_begin(wanted->oom, analysis, view->device);
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *pointer,
		struct vt_diag *diag)
{
	const struct wanted *wanted = pointer;
	struct vt_oom *oom = wanted->oom;
	struct vt_describe describe;
	char *none;

	if (view->device != VT_WHEN_ALL_DEVICES &&
	    !vt_model_device(&analysis->model, view->device)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: there is no cuda:%d in this recording",
			    view->path, view->device);
		return -1;
	}
	vt_describe_init(&describe, &analysis->model, view->has_all_frames);
	vt_oom_judge(oom, &describe);
	vt_oom_play_smaller(oom);
	vt_oom_finish(oom);
	none = oom->oom ? NULL : say_none(analysis, view);
	if (view->is_json)
		print_json(oom, analysis, none);
	else if (none)
		print_none(analysis, none);
	else
		print_text(oom, analysis, view);
	free(none);
	vt_oom_release(oom);
	vt_describe_release(&describe);
	return 0;
}

int vt_cmd_oom(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	struct vt_oom oom = { 0 };
	const struct wanted wanted = { .oom = &oom };
	int id;

	view.begin = begin;
	id = vt_view_next(&view, &spec, argc, argv);
	return id < 0 ? vt_options_exit_code(id) : vt_view_show(&view, show, &wanted);
}
