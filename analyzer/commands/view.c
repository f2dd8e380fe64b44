/* SPDX-License-Identifier: MIT */
#include "analyzer/commands/view.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/diag.h"
#include "analyzer/base/numbers.h"
#include "analyzer/base/progress.h"

int vt_view_number(const struct vt_options_spec *spec, const char *option, int *number)
{
	int64_t parsed;

	if (vt_numbers_parse(optarg, INT_MAX, &parsed)) {
		vt_options_wrong(spec, "--%s %s: must be a whole number from 0 to %d", option,
				 optarg, INT_MAX);
		return VT_OPTIONS_WRONG;
	}
	*number = (int)parsed;
	return 0;
}

int vt_view_format(struct vt_view *view, const struct vt_options_spec *spec)
{
	view->is_markdown = !strcmp(optarg, "markdown");
	view->is_json = !strcmp(optarg, "json");
	if (view->is_markdown || view->is_json || !strcmp(optarg, "text"))
		return 0;
	vt_options_wrong(spec, "unknown format \"%s\": use text, markdown or json", optarg);
	return VT_OPTIONS_WRONG;
}

static int take_operands(struct vt_view *view, const struct vt_options_spec *spec, int argc,
			char **argv)
{
	int wanted = view->what_word ? 2 : 1;

	if (view->find_other && view->find_other(argc, argv))
		return VT_OPTIONS_END;
	if (argc == optind)
		vt_options_wrong(spec, "needs a recording");
	else if (argc - optind < wanted)
		vt_options_wrong(spec, "missing %s", view->what_word);
	else if (argc - optind > wanted)
		vt_options_wrong(spec, "only one %s at a time",
				 view->what_word ? view->what_word : "recording");
	if (argc - optind != wanted)
		return VT_OPTIONS_WRONG;
	view->path = argv[optind];
	view->what = view->what_word ? argv[optind + 1] : NULL;
	return VT_OPTIONS_END;
}

int vt_view_next(struct vt_view *view, const struct vt_options_spec *spec, int argc, char **argv)
{
	int id;

	while ((id = vt_options_next(spec, argc, argv)) > 0) {
		switch (id) {
		case VT_VIEW_AT:
			view->when = optarg;
			break;
		case VT_VIEW_DEVICE:
			if (vt_view_number(spec, "device", &view->device))
				return VT_OPTIONS_WRONG;
			break;
		case VT_VIEW_ALL_FRAMES:
			view->has_all_frames = 1;
			break;
		case VT_VIEW_RULES:
			view->rules = optarg;
			break;
		case 'j':
			view->is_json = 1;
			break;
		default:
			return id;
		}
	}
	return id < 0 ? id : take_operands(view, spec, argc, argv);
}

/* What view->begin is given. */
struct beginning {
	const struct vt_view *view;
	const void *wanted;
};

static void begin(struct vt_analysis *analysis, void *context)
{
	const struct beginning *beginning = context;

	beginning->view->begin(analysis, beginning->view, beginning->wanted);
}

int vt_view_show(const struct vt_view *view, vt_view_show_fn show, const void *wanted)
{
	struct vt_diag diag = { 0 };
	struct vt_analysis analysis = { 0 };
	struct beginning beginning = { view, wanted };
	struct vt_progress_parts progress;
	int rc;

	vt_progress_parts_begin(&progress, "reading the recording");
	rc = vt_analysis_open_model(&analysis, view->path, view->rules, &diag);
	vt_progress_parts_next(&progress, "finding owners");
	if (!rc && view->is_of_all_owners)
		vt_analysis_judge_all(&analysis, begin, &beginning);
	else if (!rc && !view->is_without_owners)
		vt_analysis_judge(&analysis, view->begin ? begin : NULL, &beginning);
	vt_progress_parts_end(&progress);
	if (!rc)
		rc = show(&analysis, view, wanted, &diag);
	vt_analysis_close(&analysis);
	return rc ? vt_diag_print(&diag) : VT_EXIT_OK;
}
