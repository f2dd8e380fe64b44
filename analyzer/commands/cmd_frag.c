/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "analyzer/commands/cmd.h"
#include "analyzer/commands/view.h"
#include "analyzer/output/json.h"
#include "analyzer/report/frag.h"
#include "common/size.h"

enum { OPTION_REQUEST = 256, OPTION_TOP };

static const struct vt_option options[] = {
	{ OPTION_REQUEST, "request", "SIZE",
	  "request size to account for (default: the failed one, else the largest)" },
	{ OPTION_TOP, "top", "N", "show N segments and call sites (default: 10)" },
	VT_VIEW_OPTIONS("the failed request, else peak"),
	{ 0 },
};

static const struct vt_options_spec spec = {
	.command = "frag",
	.synopsis = "[OPTION...] FILE",
	.summary = "Shows what fragmentation of PyTorch's caching allocator cost a recorded run.",
	.options = options,
};

struct wanted {
	uint64_t request_bytes;
	int top;
	struct vt_frag *frag;
};

/* No blocks to lie anywhere: an answer as any other, and no error. */
static void say_nothing(const struct vt_diag *why, int is_json)
{
	json_t *object;

	if (!is_json) {
		printf("%s\n", why->text);
		return;
	}
	object = json_object();
	vt_json_set(object, "format", 1);
	vt_json_set(object, "devices", json_array());
	vt_json_set(object, "notes", json_pack("[s]", why->text));
	vt_json_print(object, stdout);
}

static void begin(struct vt_analysis *analysis, const struct vt_view *view, const void *pointer)
{
	const struct wanted *wanted = pointer;
	const struct vt_frag_options asked = {
		.when = view->when,
		.device = view->device,
		.request_bytes = wanted->request_bytes,
		.top = (unsigned)wanted->top,
		.has_all_frames = view->has_all_frames,
	};

	vt_frag_begin(wanted->frag, analysis, &asked);
}

static int show(struct vt_analysis *analysis, const struct vt_view *view, const void *pointer,
		struct vt_diag *diag)
{
	const struct wanted *wanted = pointer;
	struct vt_frag *frag = wanted->frag;
	int rc;

	if (view->device != VT_WHEN_ALL_DEVICES &&
	    !vt_model_device(&analysis->model, view->device)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no cuda:%d in this recording",
			    view->path, view->device);
		vt_frag_release(frag);
		return -1;
	}
	rc = vt_frag_finish(frag, diag);
	if (rc && frag->is_empty) {
		say_nothing(diag, view->is_json);
		rc = 0;
	} else if (!rc && view->is_json) {
		vt_frag_print_json(frag, stdout);
	} else if (!rc) {
		vt_frag_print_text(frag, stdout);
	}
	vt_frag_release(frag);
	return rc;
}

int vt_cmd_frag(int argc, char **argv)
{
	struct vt_view view = VT_VIEW_DEFAULT;
	struct vt_frag frag = { 0 };
	struct wanted wanted = { .top = 10, .frag = &frag };
	int id;

	view.when = NULL; /* a failed request comes before the peak */
	view.begin = begin;
	while ((id = vt_view_next(&view, &spec, argc, argv)) > 0) {
		if (id == OPTION_TOP && vt_view_number(&spec, "top", &wanted.top))
			return vt_options_exit_code(VT_OPTIONS_WRONG);
		if (id == OPTION_REQUEST &&
		    (vt_size_parse(optarg, &wanted.request_bytes) || !wanted.request_bytes))
			return vt_options_wrong(&spec, "\"%s\" is not a size such as 64MiB",
						optarg);
	}
	if (id < 0)
		return vt_options_exit_code(id);
	return vt_view_show(&view, show, &wanted);
}
