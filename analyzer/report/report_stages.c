/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/samples.h"

/* More classes of modules than this are no phases of a program. */
#define MODULES_MAX 8

VT_VECTOR_DECLARE(stage_rows, struct vt_report_stage);

struct gathering {
	struct vt_analysis *analysis;
	const struct vt_device *const *devices;
	uint32_t nr_devices;
	const struct vt_stages *stages;
	const struct vt_range *passes;
	const struct vt_range_totals *pass_totals;
	struct stage_rows rows;
};

static const struct vt_model *model_of(const struct gathering *g)
{
	return &g->analysis->model;
}

static uint32_t device_index(const struct gathering *g, const struct vt_device *device)
{
	return (uint32_t)(device - model_of(g)->devices);
}

static struct vt_report_stage make_row(const struct gathering *g,
				       const struct vt_device *device, const char *name,
				       const struct vt_range *range,
				       const struct vt_range_totals *totals)
{
	struct vt_attribution *attribution = &g->analysis->attribution;
	struct vt_report_stage row = { .name = name, .device = device->id };

	row.peak_bytes = totals->peak_allocated_bytes;
	row.peak_device_bytes = vt_samples_device_used(
		model_of(g), row.device, totals->peak_used_bytes,
		vt_timeline_time(&g->analysis->timeline, totals->peak_event));
	row.allocated_after_bytes = totals->end_allocated_bytes;
	vt_books_init(&row.after, attribution, row.device, range->last_event);
	if (range->first_event > 1)
		vt_books_init(&row.before, attribution, row.device, range->first_event - 1);
	return row;
}

/*
 * Whether more was allocated.  Not device use: a caching allocator gives nothing back, so that
 * after the first step every stage would show the same figure.
 */
static int is_higher(const struct vt_range_totals *a, const struct vt_range_totals *b)
{
	if (a->peak_allocated_bytes != b->peak_allocated_bytes)
		return a->peak_allocated_bytes > b->peak_allocated_bytes;
	return a->peak_used_bytes > b->peak_used_bytes;
}

/* The highest pass of one class of module in one stage. */
struct candidate {
	uint32_t type;
	uint32_t pass;
	int is_left_out;
};

VT_VECTOR_DECLARE(candidates, struct candidate);

static const struct vt_range_totals *pass_totals(const struct gathering *g, uint32_t pass,
						 uint32_t device)
{
	return &g->pass_totals[(size_t)pass * model_of(g)->nr_devices + device];
}

static void find_candidates(const struct gathering *g, unsigned stage, uint32_t device,
			    struct candidates *found)
{
	const struct vt_passes *passes = &g->stages->passes;

	for (uint32_t i = 0; i < passes->nr; i++) {
		uint32_t span = vt_stages_span_at(g->stages, passes->passes[i].first_event);
		struct candidate fresh = { passes->passes[i].type, i, 0 };
		size_t k = 0;

		if (span == VT_NO_INDEX || g->stages->spans[span].stage != stage)
			continue;
		while (k < found->len && found->items[k].type != fresh.type)
			k++;
		if (k == found->len)
			vt_vector_push(found, fresh);
		else if (is_higher(pass_totals(g, i, device),
				   pass_totals(g, found->items[k].pass, device)))
			found->items[k].pass = i;
	}
}

/* Leaves out the lowest until there are few enough; returns how many. */
static uint32_t leave_out(const struct gathering *g, struct candidates *found, uint32_t device)
{
	uint32_t nr = 0;

	for (; found->len - nr > MODULES_MAX; nr++) {
		struct candidate *lowest = NULL;

		for (size_t i = 0; i < found->len; i++)
			if (!found->items[i].is_left_out &&
			    (!lowest || is_higher(pass_totals(g, lowest->pass, device),
						  pass_totals(g, found->items[i].pass, device))))
				lowest = &found->items[i];
		lowest->is_left_out = 1;
	}
	return nr;
}

/* One class alone is the stage itself. */
static void add_modules(const struct gathering *g, const struct vt_device *device,
			unsigned stage, struct vt_report_stage *row)
{
	struct candidates found = { 0 };
	uint32_t index = device_index(g, device);

	find_candidates(g, stage, index, &found);
	if (found.len > 1) {
		row->modules = vt_xcalloc(found.len, sizeof(*row->modules));
		row->nr_more_modules = leave_out(g, &found, index);
	}
	for (size_t i = 0; found.len > 1 && i < found.len; i++) {
		const struct candidate *c = &found.items[i];
		const char *name = vt_model_text(model_of(g), c->type);

		if (!c->is_left_out)
			row->modules[row->nr_modules++] =
				make_row(g, device, name ? name : "?", &g->passes[c->pass],
					 pass_totals(g, c->pass, index));
	}
	vt_vector_release(&found);
}

static void add_stage(struct gathering *g, const struct vt_device *device, unsigned stage)
{
	const struct vt_stages *stages = g->stages;
	const struct vt_range_totals *best = NULL;
	struct vt_report_stage row;
	struct vt_range range = { 0 };

	for (uint32_t i = 0; i < stages->nr_spans; i++) {
		const struct vt_range_totals *totals =
			vt_stages_totals(stages, i, device_index(g, device));

		if (stages->spans[i].stage != stage || (best && !is_higher(totals, best)))
			continue;
		best = totals;
		range.first_event = stages->spans[i].first_event;
		range.last_event = stages->spans[i].last_event;
	}
	if (!best)
		return;
	row = make_row(g, device, vt_evidence_stages[stage], &range, best);
	add_modules(g, device, stage, &row);
	vt_vector_push(&g->rows, row);
}

/* A range of the program, or what lies between two of its marks. */
struct stretch {
	uint32_t name;
	uint32_t thread;
	struct vt_range range;
	int is_open;
};

VT_VECTOR_DECLARE(stretches, struct stretch);

/* The innermost open range of that name on that thread. */
static struct stretch *find_open(struct stretches *found, const struct vt_mark *mark)
{
	for (size_t i = found->len; i-- > 0;)
		if (found->items[i].is_open && found->items[i].name == mark->name &&
		    found->items[i].thread == mark->thread)
			return &found->items[i];
	return NULL;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->range.first_event != y->range.first_event)
		return x->range.first_event < y->range.first_event ? -1 : 1;
	return x->range.last_event > y->range.last_event ? -1 : 1;
}

/* Ranges whose names the rules know are the framework's, and stages anyway. */
static int is_own(const struct gathering *g, const struct vt_mark *mark)
{
	return mark->name && mark->name < model_of(g)->strings.nr &&
	       g->stages->evidence.by_scope[mark->name] == VT_NO_STAGE;
}

static void find_stretches(const struct gathering *g, struct stretches *found)
{
	const struct vt_model *model = model_of(g);
	int64_t last_point = 0;

	for (uint32_t i = 0; i < model->nr_marks; i++) {
		const struct vt_mark *mark = &model->marks[i];
		struct stretch one = { mark->name, mark->thread,
				       { mark->event, model->last_event }, 1 };
		struct stretch *open;

		if (!is_own(g, mark))
			continue;
		if (mark->kind == VT_MARK_POINT) {
			one.range = (struct vt_range){ last_point + 1, mark->event };
			one.is_open = 0;
			last_point = mark->event;
			vt_vector_push(found, one);
		} else if (mark->kind == VT_MARK_BEGIN) {
			vt_vector_push(found, one);
		} else if ((open = find_open(found, mark))) {
			open->range.last_event = mark->event;
			open->is_open = 0;
		}
	}
	vt_vector_sort(found, compare_stretches);
}

/* The highest of each name, in the order in which the names came up. */
static void add_marks_of(struct gathering *g, const struct vt_device *device,
			 const struct stretches *found, const struct vt_range_totals *totals)
{
	uint32_t nr_devices = model_of(g)->nr_devices, index = device_index(g, device);
	VT_VECTOR(size_t) best = { 0 };
	struct vt_map known = { 0 };

	for (size_t i = 0; i < found->len; i++) {
		struct vt_key name = { found->items[i].name, 0, 0 };
		uint64_t *at = vt_map_find(&known, name);

		if (!at) {
			vt_map_put(&known, name, best.len);
			vt_vector_push(&best, i);
		} else if (is_higher(&totals[i * nr_devices + index],
				     &totals[best.items[*at] * nr_devices + index])) {
			best.items[*at] = i;
		}
	}
	for (size_t k = 0; k < best.len; k++) {
		const struct stretch *s = &found->items[best.items[k]];

		vt_vector_push(&g->rows,
			       make_row(g, device, vt_model_text(model_of(g), s->name), &s->range,
					&totals[best.items[k] * nr_devices + index]));
	}
	vt_map_release(&known);
	vt_vector_release(&best);
}

/* As many as `vtrace info` counts. */
static void say_no_marks(const struct gathering *g, struct vt_diag *diag)
{
	uint32_t nr = model_of(g)->nr_marks;
	char others[80] = "";

	if (nr)
		snprintf(others, sizeof(others),
			 ": its %" PRIu32
			 " marks begin and end ranges of a framework, which are"
			 " stages",
			 nr);
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no marks and no ranges of the program%s",
		    vt_db_path(g->analysis->db), others);
}

static int add_marks(struct gathering *g, struct vt_diag *diag)
{
	struct stretches found = { 0 };
	struct vt_range *ranges;
	struct vt_range_totals *totals;

	find_stretches(g, &found);
	if (!found.len) {
		say_no_marks(g, diag);
		return -1;
	}
	ranges = vt_xcalloc(found.len, sizeof(*ranges));
	for (size_t i = 0; i < found.len; i++)
		ranges[i] = found.items[i].range;
	totals = vt_totals_add_up(g->stages->timeline, ranges, (uint32_t)found.len);
	for (uint32_t d = 0; d < g->nr_devices; d++)
		add_marks_of(g, g->devices[d], &found, totals);
	free(ranges);
	free(totals);
	vt_vector_release(&found);
	return 0;
}

int vt_report_stages_init(struct vt_report_stages *rows, struct vt_analysis *analysis,
			  const struct vt_device *const *devices, uint32_t nr_devices,
			  int has_marks, struct vt_diag *diag)
{
	const struct vt_stages *stages = &analysis->stages;
	struct vt_range *passes = vt_stages_passes(stages);
	struct vt_range_totals *totals =
		vt_totals_add_up(stages->timeline, passes, stages->passes.nr);
	struct gathering g = { .analysis = analysis,
			       .devices = devices,
			       .nr_devices = nr_devices,
			       .stages = stages,
			       .passes = passes,
			       .pass_totals = totals };
	int rc = 0;

	for (uint32_t d = 0; !has_marks && d < nr_devices; d++)
		for (unsigned stage = 0; stage < VT_NR_STAGES; stage++)
			add_stage(&g, devices[d], stage);
	if (has_marks)
		rc = add_marks(&g, diag);
	rows->rows = g.rows.items;
	rows->nr = (uint32_t)g.rows.len;
	free(passes);
	free(totals);
	return rc;
}

static void release_row(struct vt_report_stage *row)
{
	vt_books_release(&row->before);
	vt_books_release(&row->after);
	for (uint32_t i = 0; i < row->nr_modules; i++)
		release_row(&row->modules[i]);
	free(row->modules);
}

void vt_report_stages_release(struct vt_report_stages *rows)
{
	for (uint32_t i = 0; i < rows->nr; i++)
		release_row(&rows->rows[i]);
	free(rows->rows);
	memset(rows, 0, sizeof(*rows));
}
