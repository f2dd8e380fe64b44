/* SPDX-License-Identifier: MIT */
#include "analyzer/html/series_windows.h"

#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/html/track.h"

#define ALL_EVENTS  65536 /* in the windows of all devices */
#define NEAR_PEAK   2048  /* events on either side */
#define NEAR_MARK   256
#define MOST_MARKS  32
#define MOST_FAILED 4

struct budget {
	struct vt_series_windows *windows;
	int64_t last_event; /* of the recording */
	int64_t left;
};

static void want(struct budget *budget, int64_t first, int64_t last)
{
	struct vt_series_window window = { 0 };

	window.first_event = first < 0 ? 0 : first;
	window.last_event = last > budget->last_event ? budget->last_event : last;
	if (window.last_event - window.first_event >= budget->left)
		return;
	budget->left -= window.last_event - window.first_event + 1;
	vt_vector_push(&budget->windows->all, window);
}

static int compare_windows(const void *a, const void *b)
{
	const struct vt_series_window *x = a, *y = b;

	return x->first_event < y->first_event ? -1 : x->first_event > y->first_event;
}

/* In order, those that overlap as one. */
static void join(struct vt_series_windows *all)
{
	struct vt_series_window *windows = all->all.items;
	size_t kept = 0;

	vt_sort(windows, all->all.len, compare_windows);
	for (size_t i = 0; i < all->all.len; i++) {
		if (kept && windows[i].first_event <= windows[kept - 1].last_event + 1) {
			if (windows[i].last_event > windows[kept - 1].last_event)
				windows[kept - 1].last_event = windows[i].last_event;
		} else {
			windows[kept++] = windows[i];
		}
	}
	all->all.len = kept;
}

static void want_step(struct budget *budget, const struct vt_stages *stages, int64_t event)
{
	uint32_t span = vt_stages_span_at(stages, event);
	const struct vt_step *step =
		span == VT_NO_INDEX ? NULL : vt_stages_step(stages, stages->spans[span].step);

	if (step)
		want(budget, stages->spans[step->first_span].first_event,
		     stages->spans[step->last_span].last_event);
}

static void want_marks(struct budget *budget, const struct vt_model *model)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < model->nr_marks && nr < MOST_MARKS; i++) {
		int64_t event = model->marks[i].event;

		if (!vt_track_mark(model, &model->marks[i]))
			continue;
		want(budget, event - NEAR_MARK, event + NEAR_MARK);
		nr++;
	}
}

void vt_series_windows_choose(struct vt_series_windows *windows, const struct vt_analysis *analysis,
			      int device, uint32_t nr_devices)
{
	const struct vt_model *model = &analysis->model;
	const struct vt_peak *peak = vt_model_peak(model, device);
	struct budget budget = { windows, model->last_event, ALL_EVENTS / nr_devices };

	want(&budget, peak->max_allocated_event - NEAR_PEAK, peak->max_allocated_event + NEAR_PEAK);
	want(&budget, peak->event - NEAR_PEAK, peak->event + NEAR_PEAK);
	for (uint32_t i = model->nr_ooms; i-- > 0 && i + MOST_FAILED >= model->nr_ooms;)
		want(&budget, model->ooms[i].event - NEAR_PEAK, model->ooms[i].event + NEAR_PEAK);
	want_step(&budget, &analysis->stages, peak->max_allocated_event);
	want_marks(&budget, model);
	join(windows);
}

struct vt_series_window *vt_series_windows_at(struct vt_series_windows *windows, int64_t event)
{
	struct vt_series_window *window;

	while (windows->at < windows->all.len &&
	       windows->all.items[windows->at].last_event < event)
		windows->at++;
	window = windows->at < windows->all.len ? &windows->all.items[windows->at] : NULL;
	return window && window->first_event <= event ? window : NULL;
}

void vt_series_windows_add(struct vt_series_windows *windows, struct vt_series_window *window,
			   const struct vt_series_row *row)
{
	if (!window->end_row)
		window->first_row = windows->rows.len;
	vt_vector_push(&windows->rows, *row);
	window->end_row = windows->rows.len;
}

void vt_series_windows_release(struct vt_series_windows *windows)
{
	for (size_t i = 0; i < windows->all.len; i++)
		free(windows->all.items[i].before);
	vt_vector_release(&windows->all);
	vt_vector_release(&windows->rows);
}
