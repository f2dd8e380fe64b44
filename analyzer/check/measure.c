/* SPDX-License-Identifier: MIT */
#include "analyzer/check/measure.h"

#include <string.h>

#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/attribution/known_owners.h"
#include "analyzer/attribution/moments.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/util.h"
#include "analyzer/model/losses.h"
#include "analyzer/model/samples.h"
#include "analyzer/analysis/ended.h"
#include "analyzer/report/report.h"

/* Bytes that libraries keep for their own later use are left by nobody's mistake. */
static const char *const kept_by_libraries[] = { "workspace", "communication", "graph pools" };

static int is_below(const char *owner, const char *path)
{
	return vt_owner_path_is_below(owner, path, strlen(path));
}

static const char *owner_of(const struct vt_measure *m, uint32_t allocation)
{
	struct vt_attribution *attribution = &m->analysis->attribution;

	return vt_attribution_owner(attribution,
				    vt_attribution_judge(attribution, allocation).owner);
}

static int is_left(const struct vt_measure *m, const struct vt_limit *limit, uint32_t allocation)
{
	const struct vt_allocation *a = &m->analysis->model.allocations[allocation];
	const char *owner;

	if (!vt_allocation_is_owned(a) || a->event <= m->first_event ||
	    !vt_allocation_is_live(a, m->last_event))
		return 0;
	owner = owner_of(m, allocation);
	if (limit->what == VT_LIMIT_LEFT_OWNER)
		return is_below(owner, limit->subject);
	return !vt_owner_path_is_below_any(owner, kept_by_libraries,
					   VT_ARRAY_SIZE(kept_by_libraries));
}

int vt_measure_is_counted(const struct vt_measure *m, const struct vt_limit *limit,
			  uint32_t allocation)
{
	const struct vt_allocation *a = &m->analysis->model.allocations[allocation];

	switch (limit->what) {
	case VT_LIMIT_DEVICE_USED:
		return vt_allocation_is_driver(a);
	case VT_LIMIT_RESERVED:
		return vt_allocation_is_driver(a) && a->holds_blocks;
	case VT_LIMIT_OWNER:
		return vt_allocation_is_owned(a) &&
		       is_below(owner_of(m, allocation), limit->subject);
	case VT_LIMIT_LEFT:
	case VT_LIMIT_LEFT_OWNER:
		return is_left(m, limit, allocation);
	default:
		return vt_allocation_is_owned(a);
	}
}

/* Evaluation and generation between training steps are no part of what a step takes. */
static int is_in_step(const struct vt_span *span, const struct vt_limit *limit)
{
	return span->stage != VT_STAGE_EVALUATION && span->stage != VT_STAGE_GENERATION &&
	       (limit->what == VT_LIMIT_STEPS ? span->step != 0 : span->step == limit->step);
}

static int is_inside(const struct vt_measure *m, const struct vt_limit *limit, int64_t event)
{
	const struct vt_stages *stages = &m->analysis->stages;
	uint32_t span;

	if (event < m->first_event || event > m->last_event)
		return 0;
	if (limit->what != VT_LIMIT_STAGE && limit->what != VT_LIMIT_STEPS &&
	    limit->what != VT_LIMIT_STEP)
		return 1;
	span = vt_stages_span_at(stages, event);
	if (span == VT_NO_INDEX)
		return 0;
	if (limit->what != VT_LIMIT_STAGE)
		return is_in_step(&stages->spans[span], limit);
	return !strcmp(vt_evidence_stages[stages->spans[span].stage], limit->subject);
}

struct highest {
	uint64_t bytes;
	int64_t event;
	int is_found; /* any event was inside */
};

/* The totals of the timeline have no owners, and nobody's allocator alone. */
static int is_sum_of_its_own(const struct vt_limit *limit)
{
	return limit->what == VT_LIMIT_OWNER || limit->what == VT_LIMIT_RESERVED;
}

static void add_counted(const struct vt_measure *m, const struct vt_limit *limit, int device,
			const struct vt_moment *moment, uint64_t *bytes)
{
	const struct vt_allocation *a;

	if (moment->what != VT_MOMENT_ALLOC && moment->what != VT_MOMENT_FREE)
		return;
	a = &m->analysis->model.allocations[moment->index];
	if (a->common->device != device || !vt_measure_is_counted(m, limit, moment->index))
		return;
	*bytes += moment->what == VT_MOMENT_ALLOC ? a->common->size_bytes : -a->common->size_bytes;
}

static void add_moment(const struct vt_measure *m, const struct vt_limit *limit, int device,
		       const struct vt_moment *moment, struct vt_totals *totals, uint64_t *bytes)
{
	if (is_sum_of_its_own(limit)) {
		add_counted(m, limit, device, moment, bytes);
		return;
	}
	vt_timeline_add(&m->analysis->timeline, moment, device, totals);
	*bytes = limit->what == VT_LIMIT_DEVICE_USED ? totals->used_bytes : totals->allocated_bytes;
}

static struct highest find_highest(const struct vt_measure *m, const struct vt_limit *limit,
				   int device)
{
	const struct vt_timeline *timeline = &m->analysis->timeline;
	struct vt_totals totals = { 0 };
	struct highest highest = { 0 };
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];

		add_moment(m, limit, device, moment, &totals, &bytes);
		if (!vt_timeline_is_instant(timeline, moment) ||
		    !is_inside(m, limit, vt_moment_event(timeline->model, moment)) ||
		    (highest.is_found && bytes <= highest.bytes))
			continue;
		highest = (struct highest){ bytes, vt_moment_event(timeline->model, moment), 1 };
	}
	return highest;
}

static uint64_t highest_of(const struct vt_measure *m, enum vt_limit_what what, int device,
			   int64_t *event)
{
	const struct vt_limit limit = { .what = what };
	struct highest highest = find_highest(m, &limit, device);

	if (event)
		*event = highest.event;
	return highest.bytes;
}

static void take_highest(const struct vt_measure *m, const struct vt_limit *limit, int device,
			 struct vt_figure *figure)
{
	struct highest highest = find_highest(m, limit, device);

	figure->value = highest.bytes;
	figure->event = highest.event;
	if (limit->what == VT_LIMIT_OWNER && !vt_measure_has_owner(m, limit->subject))
		figure->why = vt_xstrdup("unknown owner, in this run and in the rules");
	else if (limit->what == VT_LIMIT_STAGE && !highest.is_found)
		figure->why = vt_xasprintf("the run has no stage %s", limit->subject);
	else if (!highest.is_found)
		figure->why = vt_xasprintf("the run has %u steps", m->analysis->stages.steps.nr);
}

static void take_device_used(const struct vt_measure *m, const struct vt_limit *limit, int device,
			     struct vt_figure *figure)
{
	take_highest(m, limit, device, figure);
	figure->value =
		vt_samples_process_used(&m->analysis->model, device, figure->value,
					vt_timeline_time(&m->analysis->timeline, figure->event));
}

static void take_fragmentation(const struct vt_measure *m, const struct vt_limit *limit, int device,
			       struct vt_figure *figure)
{
	uint64_t reserved = highest_of(m, VT_LIMIT_RESERVED, device, &figure->event);
	uint64_t allocated = highest_of(m, VT_LIMIT_ALLOCATED, device, NULL);
	uint64_t cached = reserved > allocated ? reserved - allocated : 0;

	if (!reserved)
		figure->why = vt_xstrdup("no framework's allocator reserved anything");
	else
		figure->value = vt_budget_unit(limit) == VT_BUDGET_SHARE ?
					(uint64_t)(10000.0 * (double)cached / (double)reserved) :
					cached;
}

static void take_left(const struct vt_measure *m, const struct vt_limit *limit, int device,
		      struct vt_figure *figure)
{
	const struct vt_model *model = &m->analysis->model;
	char *ended = vt_db_run_get(m->analysis->db, "ended");

	if (!m->is_window && (!ended || strncmp(ended, "exit ", strlen("exit ")) != 0))
		figure->why = vt_xasprintf("%s: what the program would have freed is unknown",
					   ended ? vt_ended_text(ended) : "still running");
	free(ended);
	if (limit->subject && !vt_measure_has_owner(m, limit->subject))
		figure->why = vt_xstrdup("unknown owner, in this run and in the rules");
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->device == device &&
		    vt_measure_is_counted(m, limit, i))
			figure->value += model->allocations[i].common->size_bytes;
	figure->event = m->last_event;
}

static void forget_device(struct vt_measure *m)
{
	if (m->has_leaks)
		vt_leaks_report_release(&m->leaks);
	if (m->has_findings)
		vt_findings_release(&m->findings);
	m->has_leaks = m->has_findings = 0;
}

static void take_growth(struct vt_measure *m, int device, struct vt_figure *figure)
{
	const struct vt_leaks_report_options options = { .device = device };

	if (!m->has_leaks && vt_leaks_report_init(&m->leaks, m->analysis, &options, NULL)) {
		figure->why = vt_xstrdup("no memory of this device");
		return;
	}
	m->has_leaks = 1;
	figure->value = vt_leaks_report_growth(&m->leaks);
	if (!m->leaks.leaks.nr_points)
		figure->why = vt_xstrdup(m->leaks.notes.nr ? m->leaks.notes.text[0] :
							     "too few steps to measure growth");
	else if (m->leaks.leaks.iterations.kind == VT_ITERATION_SLICE)
		figure->why = vt_xstrdup("the run has no steps, generations, marks or calls");
}

static void take_finding(struct vt_measure *m, const struct vt_limit *limit, int device,
			 struct vt_figure *figure)
{
	if (!m->has_findings)
		vt_findings_init(&m->findings, &m->analysis->attribution,
				 &m->analysis->traces, &m->describe, device);
	m->has_findings = 1;
	for (size_t i = 0; i < m->findings.len; i++)
		if (!strcmp(vt_findings_words[m->findings.items[i].id].id, limit->subject))
			figure->value += m->findings.items[i].saves_bytes;
}

/* 0 is well. */
static void take_ending(const struct vt_measure *m, struct vt_figure *figure)
{
	char *ended = vt_report_ended(m->analysis);

	figure->value = strcmp(ended, "exit 0") != 0 || vt_losses_is_cut(m->analysis->db);
	free(ended);
}

void vt_measure_take(struct vt_measure *m, const struct vt_limit *limit, int device,
		     struct vt_figure *figure)
{
	memset(figure, 0, sizeof(*figure));
	if (m->device != device)
		forget_device(m);
	m->device = device;
	switch (limit->what) {
	case VT_LIMIT_DEVICE_USED:
		take_device_used(m, limit, device, figure);
		break;
	case VT_LIMIT_CACHED:
	case VT_LIMIT_CACHED_SHARE:
		take_fragmentation(m, limit, device, figure);
		break;
	case VT_LIMIT_LEFT:
	case VT_LIMIT_LEFT_OWNER:
		take_left(m, limit, device, figure);
		break;
	case VT_LIMIT_GROWTH:
		take_growth(m, device, figure);
		break;
	case VT_LIMIT_FINDING:
		take_finding(m, limit, device, figure);
		break;
	case VT_LIMIT_LOST:
		figure->value = vt_losses_count(m->analysis->db);
		break;
	case VT_LIMIT_ENDED:
		take_ending(m, figure);
		break;
	default:
		take_highest(m, limit, device, figure);
	}
}

int vt_measure_has_owner(const struct vt_measure *m, const char *owner)
{
	return vt_known_owners_has(&m->analysis->attribution, &m->analysis->rules, owner,
				   strlen(owner));
}

static int find_mark(const struct vt_measure *m, const char *name, int64_t *event,
		     struct vt_diag *diag)
{
	char *when;
	int rc;

	if (!name)
		return 0;
	when = vt_xasprintf("mark:%s", name);
	rc = vt_when_resolve(&m->analysis->model, when, VT_WHEN_ALL_DEVICES, event, diag);
	free(when);
	return rc;
}

int vt_measure_init(struct vt_measure *m, struct vt_analysis *analysis, const char *from,
		    const char *to, struct vt_diag *diag)
{
	memset(m, 0, sizeof(*m));
	m->analysis = analysis;
	m->last_event = analysis->model.last_event;
	m->is_window = to != NULL;
	m->device = -1;
	vt_describe_init(&m->describe, &analysis->model, 0);
	if (find_mark(m, from, &m->first_event, diag) || find_mark(m, to, &m->last_event, diag))
		return -1;
	if (m->first_event <= m->last_event)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: the mark \"%s\" comes before \"%s\"",
		    vt_db_path(analysis->db), to, from);
	return -1;
}

void vt_measure_release(struct vt_measure *m)
{
	forget_device(m);
	vt_describe_release(&m->describe);
	memset(m, 0, sizeof(*m));
}
