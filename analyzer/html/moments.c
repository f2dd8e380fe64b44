/* SPDX-License-Identifier: MIT */
#include "analyzer/html/moments.h"

#include <string.h>

#include "analyzer/attribution/moments.h"
#include "analyzer/base/search.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/html/track.h"

#define MOST_ROWS    40000 /* blocks that are live at any of them */
#define MOST_FAILED  4
#define MOST_MARKS   24
#define MOST_STEPS   64
#define MOST_SAMPLES 16

enum { RANK_MUST, RANK_STAGE, RANK_STEP, NR_RANKS };

/* Takes `name`; NULL: it gets one later. */
static void add(struct vt_page_moments *moments, const struct vt_device *device, int64_t event,
		unsigned rank, char *name)
{
	struct vt_page_moment moment = { .event = event, .device = device, .rank = rank };
	struct vt_page_moment *found = NULL;

	for (size_t i = 0; i < moments->all.len; i++)
		if (moments->all.items[i].event == event && moments->all.items[i].device == device)
			found = &moments->all.items[i];
	if (!found) {
		vt_vector_push(&moments->all, moment);
		found = &moments->all.items[moments->all.len - 1];
	}
	if (rank < found->rank)
		found->rank = rank;
	if (name)
		vt_vector_push(&found->names, name);
}

static void add_failures(struct vt_page_moments *moments, const struct vt_device *device)
{
	const struct vt_model *model = &moments->analysis->model;
	char bytes[VT_UNITS_MAX];
	unsigned nr = 0;

	for (uint32_t i = model->nr_ooms; i-- > 0 && nr < MOST_FAILED;) {
		const struct vt_out_of_memory *oom = &model->ooms[i];

		if (oom->device != device->id)
			continue;
		add(moments, device, oom->event, RANK_MUST,
		    vt_xasprintf("out of memory: %s asked for",
				 vt_units_bytes(bytes, sizeof(bytes), oom->requested_bytes)));
		nr++;
	}
}

static void add_marks(struct vt_page_moments *moments, const struct vt_device *device)
{
	const struct vt_model *model = &moments->analysis->model;
	unsigned nr = 0;

	for (uint32_t i = 0; i < model->nr_marks && nr < MOST_MARKS; i++) {
		const struct vt_mark *mark = &model->marks[i];
		const char *name = vt_track_mark(model, mark);

		if (!name)
			continue;
		add(moments, device, mark->event, RANK_STAGE, vt_xasprintf("mark %s", name));
		nr++;
	}
}

/* Ends of the stages of one step, and of what was before the first. */
static void add_stages(struct vt_page_moments *moments, const struct vt_device *device,
		       int64_t event)
{
	const struct vt_stages *stages = &moments->analysis->stages;
	uint32_t at = vt_stages_span_at(stages, event), step;

	if (at == VT_NO_INDEX)
		return;
	step = stages->spans[at].step;
	for (uint32_t i = 0; i < stages->nr_spans; i++) {
		const struct vt_span *span = &stages->spans[i];

		if (span->step > step)
			break;
		if (i && (!step || span->step != step))
			continue;
		if (span->step)
			add(moments, device, span->last_event, RANK_STAGE,
			    vt_xasprintf("end of %s, step %u", vt_evidence_stages[span->stage],
					 span->step));
		else
			add(moments, device, span->last_event, RANK_STAGE,
			    vt_xasprintf("end of %s", vt_evidence_stages[span->stage]));
	}
}

/* The highest instant of steps; of a run without any, moments that are equally far apart. */
static void add_steps(struct vt_page_moments *moments, const struct vt_series *series,
		      const struct vt_series_device *device)
{
	uint32_t nr = moments->analysis->stages.steps.nr;
	uint32_t most = MOST_STEPS / series->nr_devices + 1, every = nr / most + 1;
	int64_t last = moments->analysis->model.last_event;

	for (uint32_t i = 0; i < nr; i += every)
		if (device->steps[i].event)
			add(moments, device->device, device->steps[i].event, RANK_STEP,
			    vt_xasprintf("highest of step %u", i + 1));
	if (nr > 1)
		return;
	most = MOST_SAMPLES / series->nr_devices + 1;
	for (uint32_t i = 1; i < most; i++) {
		int64_t event = last / most * i + last % most * i / most;

		add(moments, device->device, event, RANK_STEP, vt_xasprintf("%u of %u", i, most));
	}
}

static void add_device(struct vt_page_moments *moments, const struct vt_series *series,
		       const struct vt_series_device *device, const struct vt_report_device *row)
{
	int64_t most = vt_report_most_allocated(row)->place.event;

	if (most != row->chosen.place.event)
		add(moments, device->device, most, RANK_MUST, vt_xstrdup("most allocated"));
	add(moments, device->device, row->chosen.place.event, RANK_MUST,
	    vt_xstrdup(most != row->chosen.place.event ? "most used" : "peak"));
	add_failures(moments, device->device);
	add(moments, device->device, moments->analysis->model.last_event, RANK_MUST,
	    vt_xstrdup("end"));
	add_marks(moments, device->device);
	add_stages(moments, device->device, most);
	add_steps(moments, series, device);
}

static int compare_moments(const void *a, const void *b)
{
	const struct vt_page_moment *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

/* The moments of a device: a range of the sorted ones. */
struct range {
	struct vt_page_moment *first;
	size_t nr;
};

static struct range *find_ranges(struct vt_page_moments *moments)
{
	const struct vt_model *model = &moments->analysis->model;
	struct range *ranges = vt_xcalloc(model->nr_devices + 1, sizeof(*ranges));

	for (size_t i = 0; i < moments->all.len; i++) {
		struct range *range =
			&ranges[moments->all.items[i].device - model->devices];

		range->first = range->nr ? range->first : &moments->all.items[i];
		range->nr++;
	}
	return ranges;
}

/* Blocks that are live at any of the moments; with `is_kept` also the lists of each. */
static size_t gather(struct vt_page_moments *moments, int is_kept)
{
	const struct vt_model *model = &moments->analysis->model;
	struct range *ranges = find_ranges(moments);
	size_t nr_rows = 0;

	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		const struct vt_device *device = vt_model_device(model, a->common->device);
		const struct range *range = device ? &ranges[device - model->devices] : NULL;
		size_t at;

		if (!range || !range->nr || a->common->kind == VT_KIND_ADDRESS)
			continue;
		at = vt_search_first(k, range->nr, range->first[k].event < a->event);
		if (at == range->nr || range->first[at].event >= a->freed_event)
			continue;
		nr_rows++;
		for (; is_kept && at < range->nr && range->first[at].event < a->freed_event; at++)
			vt_vector_push(&range->first[at].live, i);
	}
	free(ranges);
	return nr_rows;
}

static void release(struct vt_page_moment *moment)
{
	for (size_t i = 0; i < moment->names.len; i++)
		free(moment->names.items[i]);
	vt_vector_release(&moment->names);
	vt_vector_release(&moment->live);
}

/* Leaves out every second of the highest rank that there is; returns 0 where none may go. */
static int thin(struct vt_page_moments *moments)
{
	unsigned rank = RANK_MUST;
	size_t kept = 0, nr = 0;

	for (size_t i = 0; i < moments->all.len; i++)
		if (moments->all.items[i].rank > rank)
			rank = moments->all.items[i].rank;
	if (rank == RANK_MUST)
		return 0;
	for (size_t i = 0; i < moments->all.len; i++) {
		struct vt_page_moment *moment = &moments->all.items[i];

		if (moment->rank == rank && nr++ % 2 == 0) {
			release(moment);
			moments->nr_left_out++;
		} else {
			moments->all.items[kept++] = *moment;
		}
	}
	moments->all.len = kept;
	return 1;
}

/* What was asked for, else the failed request, else where tensors took most. */
static int choose_first(struct vt_page_moments *moments, const struct vt_report *report,
			const char *when, struct vt_diag *diag)
{
	const struct vt_model *model = &moments->analysis->model;
	const struct vt_report_device *row = vt_report_fullest(report);
	const struct vt_device *device;
	int64_t event;

	if (!row)
		return 0;
	device = row->device;
	event = vt_report_most_allocated(row)->place.event;
	if (when && vt_moments_resolve(&moments->analysis->stages, when, device->id, &event, diag))
		return -1;
	/* A cut recording may lack the device of the failed request. */
	if (!when && report->out_of_memory.oom &&
	    vt_model_device(model, report->out_of_memory.oom->device)) {
		device = vt_model_device(model, report->out_of_memory.oom->device);
		event = report->out_of_memory.oom->event;
	}
	add(moments, device, event, RANK_MUST, when ? vt_xstrdup(when) : NULL);
	return 0;
}

static uint32_t index_of(const struct vt_page_moments *moments, const struct vt_device *device,
			 int64_t event)
{
	for (size_t i = 0; i < moments->all.len; i++)
		if (moments->all.items[i].device == device && moments->all.items[i].event == event)
			return (uint32_t)i;
	return 0;
}

int vt_page_moments_init(struct vt_page_moments *moments, const struct vt_series *series,
			 const struct vt_report *report, const char *when, struct vt_diag *diag)
{
	const struct vt_device *device = NULL;
	int64_t event = 0;

	memset(moments, 0, sizeof(*moments));
	moments->analysis = series->analysis;
	if (choose_first(moments, report, when, diag))
		return -1;
	if (moments->all.len) {
		device = moments->all.items[0].device;
		event = moments->all.items[0].event;
	}
	for (uint32_t d = 0; d < series->nr_devices; d++)
		add_device(moments, series, &series->devices[d], &report->devices[d]);
	vt_vector_sort(&moments->all, compare_moments);
	while (gather(moments, 0) > MOST_ROWS && thin(moments))
		;
	gather(moments, 1);
	moments->first_shown = index_of(moments, device, event);
	return 0;
}

void vt_page_moments_release(struct vt_page_moments *moments)
{
	for (size_t i = 0; i < moments->all.len; i++)
		release(&moments->all.items[i]);
	vt_vector_release(&moments->all);
}
