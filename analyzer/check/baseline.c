/* SPDX-License-Identifier: MIT */
#include "analyzer/check/baseline.h"

#include <errno.h>
#include <string.h>

#include "analyzer/base/util.h"

static int read_figures(struct vt_baseline *baseline, const char *path, struct vt_diag *diag)
{
	json_error_t error;
	json_t *root;

	errno = 0;
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	baseline->figures = root ? json_incref(json_object_get(root, "limits")) : NULL;
	json_decref(root);
	if (json_is_array(baseline->figures))
		return 0;
	if (!root && error.line > 0)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s:%d: %s", path, error.line, error.text);
	else if (!root)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not the output of vtrace check --json", path);
	return -1;
}

static int open_one(struct vt_baseline *baseline, const char *path, const char *rules,
		    struct vt_measure *measure, struct vt_diag *diag)
{
	struct vt_analysis *const runs[] = { &baseline->analysis, measure->analysis };

	memset(baseline, 0, sizeof(*baseline));
	if (vt_util_has_suffix(path, ".json"))
		return read_figures(baseline, path, diag);
	baseline->is_recording = 1;
	if (vt_analysis_open(&baseline->analysis, path, rules, diag) ||
	    vt_measure_init(&baseline->measure, &baseline->analysis, NULL, NULL, diag))
		return -1;
	vt_runs_init(&baseline->runs, runs);
	return 0;
}

static void close_one(struct vt_baseline *baseline)
{
	json_decref(baseline->figures);
	if (baseline->is_recording) {
		vt_runs_release(&baseline->runs);
		if (baseline->measure.analysis)
			vt_measure_release(&baseline->measure);
		vt_analysis_close(&baseline->analysis);
	}
	memset(baseline, 0, sizeof(*baseline));
}

static const json_t *find_row(const struct vt_baseline *baseline, const struct vt_limit *limit)
{
	size_t i;
	json_t *row;

	json_array_foreach(baseline->figures, i, row) {
		const char *name = json_string_value(json_object_get(row, "limit"));

		if (name && !strcmp(name, limit->name))
			return row;
	}
	return NULL;
}

static void take_from(struct vt_baseline *baseline, const struct vt_limit *limit, int device,
		      struct vt_figure *figure)
{
	const json_t *row, *value;

	memset(figure, 0, sizeof(*figure));
	if (baseline->is_recording && vt_model_peak(&baseline->analysis.model, device)) {
		vt_measure_take(&baseline->measure, limit, device, figure);
	} else if (baseline->is_recording) {
		figure->why = vt_xasprintf("nothing was recorded on cuda:%d", device);
	} else {
		row = find_row(baseline, limit);
		value = json_object_get(row, "figure");
		figure->value = (uint64_t)json_integer_value(value);
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			figure->why = vt_xstrdup("the baseline does not have this figure");
	}
}

int vt_baselines_init(struct vt_baselines *baselines, char *const *paths, unsigned nr,
		      const char *rules, struct vt_measure *measure, struct vt_diag *diag)
{
	baselines->nr = 0;
	baselines->items = vt_xcalloc((size_t)nr + 1, sizeof(*baselines->items));
	for (unsigned i = 0; i < nr; i++) {
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(paths[k], paths[i])) {
				vt_diag_set(diag, VT_EXIT_USAGE, "baseline %s is given twice",
					    paths[i]);
				return -1;
			}
		if (open_one(&baselines->items[baselines->nr++], paths[i], rules, measure, diag))
			return -1;
	}
	return 0;
}

void vt_baselines_release(struct vt_baselines *baselines)
{
	for (unsigned i = 0; i < baselines->nr; i++)
		close_one(&baselines->items[i]);
	free(baselines->items);
	memset(baselines, 0, sizeof(*baselines));
}

/* The figure of one of several. */
struct of_one {
	struct vt_baseline *of;
	struct vt_figure figure;
};

static int compare_values(const void *a, const void *b)
{
	const struct of_one *x = a, *y = b;

	return x->figure.value < y->figure.value ? -1 : x->figure.value > y->figure.value;
}

struct vt_baseline *vt_baselines_take(struct vt_baselines *baselines, const struct vt_limit *limit,
				      int device, struct vt_figure *figure, uint64_t *spread)
{
	unsigned nr = baselines->nr;
	struct of_one *all = vt_xcalloc(nr, sizeof(*all)), median;
	char *why = NULL;

	for (unsigned i = 0; i < nr; i++) {
		all[i].of = &baselines->items[i];
		take_from(all[i].of, limit, device, &all[i].figure);
		if (all[i].figure.why && !why)
			why = vt_xstrdup(all[i].figure.why);
		free(all[i].figure.why);
		all[i].figure.why = NULL;
	}
	qsort(all, nr, sizeof(*all), compare_values);
	median = all[(nr - 1) / 2];
	*spread = all[nr - 1].figure.value - all[0].figure.value;
	*figure = median.figure;
	figure->why = why;
	free(all);
	return median.of;
}
