/* SPDX-License-Identifier: MIT */
#include "analyzer/check/top_contributors.h"

#include <string.h>

#include "analyzer/base/numbers.h"
#include "analyzer/base/util.h"
#include "analyzer/diff/changes.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/frag.h"
#include "analyzer/report/hotspots.h"

struct finding_out {
	struct vt_contributors *out;
	struct vt_measure *measure;
	const struct vt_limit *limit;
	int device;
	unsigned top;
};

/* "backward of train.py:12 f" or "train.py:12 f": a line that an annotation can point at. */
static void find_line(struct vt_contributor *contributor, const char *text)
{
	static const char backward[] = "backward of ";
	const char *blank, *colon;
	char number[16];
	int64_t line;

	if (strncmp(text, backward, strlen(backward)) == 0)
		text += strlen(backward);
	/* The name of a function has no blank, that of a file may. */
	blank = strrchr(text, ' ');
	colon = blank ? memrchr(text, ':', (size_t)(blank - text)) : strrchr(text, ':');
	if (!colon || colon == text)
		return;
	if (!blank)
		blank = text + strlen(text);
	if ((size_t)(blank - colon) > sizeof(number))
		return;
	memcpy(number, colon + 1, (size_t)(blank - colon - 1));
	number[blank - colon - 1] = 0;
	if (vt_numbers_parse(number, INT32_MAX, &line))
		return;
	contributor->line = (int)line;
	contributor->file = vt_xstrndup(text, (size_t)(colon - text));
}

static struct vt_contributor *add(const struct finding_out *f, const char *owner)
{
	struct vt_contributor *contributor = &f->out->items[f->out->nr++];

	contributor->owner = owner ? vt_xstrdup(owner) : NULL;
	return contributor;
}

static const char *path_of(const struct vt_measure *measure, const struct vt_allocation *a)
{
	const struct vt_model *model = &measure->analysis->model;
	uint32_t ids[VT_FRAMES_MAX];

	vt_describe_visible(&measure->describe, vt_producer_stack(model, a), ids);
	return vt_frames_code(&model->frames, ids[0])->file;
}

static void add_stack(const struct finding_out *f, struct vt_contributor *contributor,
		      uint32_t allocation)
{
	const struct vt_model *model = &f->measure->analysis->model;

	contributor->lines =
		vt_producer_lines(&f->measure->describe, &model->allocations[allocation]);
	if (contributor->lines.nr && vt_producer_stack(model, &model->allocations[allocation]))
		find_line(contributor, contributor->lines.text[0]);
	if (contributor->file)
		contributor->path = path_of(f->measure, &model->allocations[allocation]);
}

static const char *owner_of(const struct finding_out *f, uint32_t owner)
{
	return vt_attribution_owner(&f->measure->analysis->attribution, owner);
}

/* A place belongs to a limit as its oldest allocation does: it is of one owner. */
static void find_largest(const struct finding_out *f, int64_t event)
{
	struct vt_analysis *analysis = f->measure->analysis;
	struct vt_limit owned = { .what = VT_LIMIT_ALLOCATED };
	const struct vt_limit *limit = f->limit->subject ? f->limit : &owned;
	struct vt_hotspots spots;

	if (f->limit->what == VT_LIMIT_STAGE)
		limit = &owned;
	if (f->limit->what == VT_LIMIT_LEFT)
		limit = f->limit;
	vt_hotspots_init(&spots, &analysis->attribution, &f->measure->describe, f->device, event);
	for (uint32_t i = 0; i < spots.nr && f->out->nr < f->top; i++) {
		uint32_t index = (uint32_t)(spots.items[i].first - analysis->model.allocations);
		struct vt_contributor *contributor;

		if (!vt_measure_is_counted(f->measure, limit, index))
			continue;
		contributor = add(f, owner_of(f, spots.items[i].owner));
		contributor->bytes = spots.items[i].bytes;
		contributor->blocks = spots.items[i].blocks;
		add_stack(f, contributor, index);
	}
	vt_hotspots_release(&spots);
}

static void find_grown(const struct finding_out *f, int64_t event,
		       const struct vt_contributors_base *base)
{
	const struct vt_changes_side sides[VT_DIFF_SIDES] = {
		{ base->measure->analysis, &base->measure->describe, base->event, f->device },
		{ f->measure->analysis, &f->measure->describe, event, f->device },
	};
	struct vt_changes_live live[VT_DIFF_SIDES] = { 0 };
	const struct vt_changes_live *const both[] = { &live[0], &live[1] };
	struct vt_changes changes = { 0 };

	for (int side = 0; side < VT_DIFF_SIDES; side++)
		vt_changes_gather(&live[side], &sides[side], VT_CHANGES_BY_STACK);
	vt_changes_init(&changes, sides, both, VT_CHANGES_BY_STACK, 0);
	for (uint32_t i = 0; i < changes.nr && f->out->nr < f->top; i++) {
		const struct vt_change *change = &changes.items[i];
		uint32_t index = change->allocation[VT_DIFF_NEW];
		struct vt_contributor *contributor;

		if (change->bytes[VT_DIFF_NEW] <= change->bytes[VT_DIFF_BASE] ||
		    (f->limit->what == VT_LIMIT_OWNER &&
		     !vt_measure_is_counted(f->measure, f->limit, index)))
			continue;
		contributor = add(f, change->owner[VT_DIFF_NEW]);
		contributor->bytes = change->bytes[VT_DIFF_NEW];
		contributor->base_bytes = change->bytes[VT_DIFF_BASE];
		contributor->blocks = change->blocks[VT_DIFF_NEW];
		add_stack(f, contributor, index);
	}
	vt_changes_release(&changes);
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		vt_changes_live_release(&live[side]);
}

static void find_growing(const struct finding_out *f)
{
	const struct vt_leaks *leaks = &f->measure->leaks.leaks;

	for (uint32_t i = 0; i < leaks->nr_growth && f->out->nr < f->top; i++) {
		const struct vt_leak *leak = &leaks->growth[i];
		struct vt_contributor *contributor = add(f, owner_of(f, leak->owner));

		contributor->bytes = (uint64_t)(leak->bytes_per_iteration + 0.5);
		contributor->blocks = leak->blocks;
		if (leak->nr_holders)
			contributor->what = vt_xasprintf("held by %s", leak->holders[0].path);
		add_stack(f, contributor, leak->allocation);
	}
}

static void find_findings(const struct finding_out *f)
{
	const struct vt_findings *findings = &f->measure->findings;

	for (size_t i = 0; i < findings->len && f->out->nr < f->top; i++) {
		const struct vt_finding *finding = &findings->items[i];
		struct vt_contributor *contributor;

		if (strcmp(vt_findings_words[finding->id].id, f->limit->subject) != 0)
			continue;
		contributor = add(f, finding->owner);
		contributor->bytes = finding->saves_bytes;
		contributor->what = vt_xstrdup(finding->text);
		if (!finding->where)
			continue;
		contributor->lines.text = vt_xcalloc(1, sizeof(char *));
		contributor->lines.text[contributor->lines.nr++] = vt_xstrdup(finding->where);
		find_line(contributor, finding->where);
	}
}

/* Live blocks that keep free bytes from going back to the driver. */
static void find_pinning(const struct finding_out *f, int64_t event)
{
	char *when = vt_xasprintf("event:%lld", (long long)event);
	const struct vt_frag_options options = { .when = when, .device = f->device };
	struct vt_frag frag;

	if (!vt_frag_init(&frag, f->measure->analysis, &options, NULL) && frag.nr_devices)
		for (size_t i = 0; i < frag.devices[0].pins.len && f->out->nr < f->top; i++) {
			const struct vt_frag_pin *pin = &frag.devices[0].pins.items[i];
			struct vt_contributor *contributor = add(f, owner_of(f, pin->owner));

			contributor->bytes = pin->pinned_bytes;
			contributor->blocks = pin->blocks;
			add_stack(f, contributor, pin->allocation);
		}
	vt_frag_release(&frag);
	free(when);
}

void vt_contributors_find(struct vt_contributors *contributors, struct vt_measure *measure,
		      const struct vt_limit *limit, int device, int64_t event,
		      const struct vt_contributors_base *base, unsigned top)
{
	const struct finding_out f = { contributors, measure, limit, device, top };

	contributors->nr = 0;
	contributors->are_grown = 0;
	contributors->items = vt_xcalloc(top + 1, sizeof(*contributors->items));
	switch (limit->what) {
	case VT_LIMIT_LOST:
	case VT_LIMIT_ENDED:
		/* No place in the program did it. */
		break;
	case VT_LIMIT_GROWTH:
		find_growing(&f);
		break;
	case VT_LIMIT_FINDING:
		find_findings(&f);
		break;
	case VT_LIMIT_CACHED:
	case VT_LIMIT_CACHED_SHARE:
		find_pinning(&f, event);
		break;
	case VT_LIMIT_LEFT:
	case VT_LIMIT_LEFT_OWNER:
		find_largest(&f, event);
		break;
	default:
		if (base)
			find_grown(&f, event, base);
		contributors->are_grown = contributors->nr != 0;
		/* Reserved may grow by what no place did. */
		if (!contributors->nr)
			find_largest(&f, event);
	}
}

void vt_contributors_release(struct vt_contributors *contributors)
{
	for (unsigned i = 0; i < contributors->nr; i++) {
		free(contributors->items[i].owner);
		free(contributors->items[i].what);
		free(contributors->items[i].file);
		vt_lines_free(&contributors->items[i].lines);
	}
	free(contributors->items);
	memset(contributors, 0, sizeof(*contributors));
}
