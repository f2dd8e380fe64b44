/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/report/oom.h"

static const struct vt_option options[] = {
	{ VT_VIEW_ALL_FRAMES, "all-frames", NULL,
	  "show frames of PyTorch and Python's library too" },
	VT_VIEW_REPLAY_OPTIONS,
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "oom",
	.synopsis = "[OPTION...] FILE",
	.summary = "Says why a request for device memory failed, and what would have served it.",
	.options = options,
};

/* Where no request failed: how far that can be trusted. */
static int say_none(const struct vt_analysis *analysis, const struct vt_view *view,
		    struct vt_diag *diag)
{
	const struct vt_model *model = &analysis->model;
	char *ended = vt_db_run_get(analysis->db, "ended");
	const char *limits = "";
	int has_blocks = 0;

	for (uint32_t i = 0; i < model->nr_devices; i++)
		has_blocks |= vt_tape_has_blocks(model, model->devices[i].id);
	if (!has_blocks)
		limits = "; only requests of PyTorch's allocator are recorded when they fail, and"
			 " it was not used";
	else if (!ended || !strcmp(ended, "running"))
		limits = " so far; the run is still going on, or its end was not recorded";
	else if (!strncmp(ended, "signal", 6) || !strcmp(ended, "killed"))
		limits = " before the program was killed";
	if (view->device == VT_WHEN_ALL_DEVICES)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no request failed%s", view->path,
			    limits);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no request failed on device %d%s",
			    view->path, view->device, limits);
	free(ended);
	return -1;
}

static void print_json(const struct vt_oom *oom)
{
	json_t *object = json_object();

	json_object_set_new(object, "format", json_integer(1));
	json_object_set_new(object, "out_of_memory", vt_oom_json(oom));
	vt_json_print(object, stdout);
}

static void print_text(const struct vt_oom *oom, const struct vt_view *view)
{
	fputs("OUT OF MEMORY", stdout);
	vt_oom_print_text(oom, stdout);
	printf("next: vtrace report %s --at oom | vtrace frag %s | vtrace whatif %s --expandable\n",
	       view->path, view->path, view->path);
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *nothing,
		struct vt_diag *diag)
{
	struct vt_describe describe;
	struct vt_oom oom;
	int rc = 0;

	(void)nothing;
	vt_describe_init(&describe, &analysis->model, view->has_all_frames);
	vt_oom_init(&oom, analysis, &describe, view->device);
	if (!oom.oom)
		rc = say_none(analysis, view, diag);
	else if (view->is_json)
		print_json(&oom);
	else
		print_text(&oom, view);
	vt_oom_release(&oom);
	vt_describe_release(&describe);
	return rc;
}

int vt_cmd_oom(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	int id = vt_view_next(&view, &spec, argc, argv);

	return id < 0 ? vt_options_exit_code(id) : vt_view_show(&view, show, NULL);
}
