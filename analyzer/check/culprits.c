/* SPDX-License-Identifier: MIT */
#include "analyzer/check/culprits.h"

#include <string.h>

#include "analyzer/base/numbers.h"
#include "analyzer/base/util.h"
#include "analyzer/diff/changes.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/frag.h"
#include "analyzer/report/hotspots.h"

struct finding_out {
	struct vt_culprits *out;
	struct vt_measure *measure;
	const struct vt_limit *limit;
	int device;
	unsigned top;
};

/* "backward of train.py:12 f" or "train.py:12 f": a line that an annotation can point at. */
static void find_line(struct vt_culprit *culprit, const char *text)
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
	culprit->line = (int)line;
	culprit->file = vt_xstrndup(text, (size_t)(colon - text));
}

static struct vt_culprit *add(const struct finding_out *f, const char *owner)
{
	struct vt_culprit *culprit = &f->out->items[f->out->nr++];

	culprit->owner = owner ? vt_xstrdup(owner) : NULL;
	return culprit;
}

static void add_stack(const struct finding_out *f, struct vt_culprit *culprit, uint32_t allocation)
{
	const struct vt_model *model = &f->measure->analysis->model;

	culprit->lines = vt_producer_lines(&f->measure->describe, &model->allocations[allocation]);
	if (culprit->lines.nr && vt_producer_stack(model, &model->allocations[allocation]))
		find_line(culprit, culprit->lines.text[0]);
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
		struct vt_culprit *culprit;

		if (!vt_measure_is_counted(f->measure, limit, index))
			continue;
		culprit = add(f, owner_of(f, spots.items[i].owner));
		culprit->bytes = spots.items[i].bytes;
		culprit->blocks = spots.items[i].blocks;
		add_stack(f, culprit, index);
	}
	vt_hotspots_release(&spots);
}

static void find_grown(const struct finding_out *f, int64_t event,
		       const struct vt_culprits_base *base)
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
	vt_changes_init(&changes, sides, both, base->alignment, VT_CHANGES_BY_STACK, 0);
	for (uint32_t i = 0; i < changes.nr && f->out->nr < f->top; i++) {
		const struct vt_change *change = &changes.items[i];
		uint32_t index = change->allocation[VT_DIFF_NEW];
		struct vt_culprit *culprit;

		if (change->bytes[VT_DIFF_NEW] <= change->bytes[VT_DIFF_BASE] ||
		    (f->limit->what == VT_LIMIT_OWNER &&
		     !vt_measure_is_counted(f->measure, f->limit, index)))
			continue;
		culprit = add(f, change->owner[VT_DIFF_NEW]);
		culprit->bytes = change->bytes[VT_DIFF_NEW];
		culprit->base_bytes = change->bytes[VT_DIFF_BASE];
		culprit->blocks = change->blocks[VT_DIFF_NEW];
		add_stack(f, culprit, index);
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
		struct vt_culprit *culprit = add(f, owner_of(f, leak->owner));

		culprit->bytes = (uint64_t)(leak->bytes_per_turn + 0.5);
		culprit->blocks = leak->blocks;
		if (leak->nr_holders)
			culprit->what = vt_xasprintf("held by %s", leak->holders[0].way);
		add_stack(f, culprit, leak->allocation);
	}
}

static void find_findings(const struct finding_out *f)
{
	const struct vt_findings *findings = &f->measure->findings;

	for (size_t i = 0; i < findings->len && f->out->nr < f->top; i++) {
		const struct vt_finding *finding = &findings->items[i];
		struct vt_culprit *culprit;

		if (strcmp(vt_findings_words[finding->id].id, f->limit->subject) != 0)
			continue;
		culprit = add(f, finding->owner);
		culprit->bytes = finding->saves_bytes;
		culprit->what = vt_xstrdup(finding->text);
		if (!finding->where)
			continue;
		culprit->lines.text = vt_xcalloc(1, sizeof(char *));
		culprit->lines.text[culprit->lines.nr++] = vt_xstrdup(finding->where);
		find_line(culprit, finding->where);
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
			struct vt_culprit *culprit = add(f, owner_of(f, pin->owner));

			culprit->bytes = pin->pinned_bytes;
			culprit->blocks = pin->blocks;
			add_stack(f, culprit, pin->allocation);
		}
	vt_frag_release(&frag);
	free(when);
}

void vt_culprits_find(struct vt_culprits *culprits, struct vt_measure *measure,
		      const struct vt_limit *limit, int device, int64_t event,
		      const struct vt_culprits_base *base, unsigned top)
{
	const struct finding_out f = { culprits, measure, limit, device, top };

	culprits->nr = 0;
	culprits->are_grown = 0;
	culprits->items = vt_xcalloc(top + 1, sizeof(*culprits->items));
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
		culprits->are_grown = culprits->nr != 0;
		/* Reserved may grow by what no place did. */
		if (!culprits->nr)
			find_largest(&f, event);
	}
}

void vt_culprits_release(struct vt_culprits *culprits)
{
	for (unsigned i = 0; i < culprits->nr; i++) {
		free(culprits->items[i].owner);
		free(culprits->items[i].what);
		free(culprits->items[i].file);
		vt_describe_free(&culprits->items[i].lines);
	}
	free(culprits->items);
	memset(culprits, 0, sizeof(*culprits));
}
