/* SPDX-License-Identifier: MIT */
#include "analyzer/attribution/calls/totals.h"

#include "analyzer/base/util.h"

struct pass {
	const struct vt_range *ranges;
	struct vt_range_totals *totals;
	uint32_t nr;
	uint32_t nr_devices;
	uint32_t device;
	struct vt_totals now;
	int64_t event; /* that `now` is true after */
	uint32_t next; /* the first range that did not begin */
	VT_VECTOR(uint32_t) open;
};

static struct vt_range_totals *totals_of(const struct pass *pass, uint32_t range)
{
	return &pass->totals[(size_t)range * pass->nr_devices + pass->device];
}

/* Ends the ranges that end before `event`, and begins those that begin there. */
static void move_to(struct pass *pass, int64_t event)
{
	size_t kept = 0;

	for (size_t i = 0; i < pass->open.len; i++) {
		uint32_t range = pass->open.items[i];

		if (pass->ranges[range].last_event >= event)
			pass->open.items[kept++] = range;
		else
			totals_of(pass, range)->end_allocated_bytes = pass->now.allocated_bytes;
	}
	pass->open.len = kept;
	for (; pass->next < pass->nr && pass->ranges[pass->next].first_event <= event;
	     pass->next++) {
		struct vt_range_totals *t = totals_of(pass, pass->next);

		t->peak_event = pass->ranges[pass->next].first_event;
		t->end_allocated_bytes = pass->now.allocated_bytes;
		if (pass->ranges[pass->next].last_event >= event)
			vt_vector_push(&pass->open, pass->next);
	}
}

static void see(struct pass *pass, int64_t event)
{
	for (size_t i = 0; i < pass->open.len; i++) {
		struct vt_range_totals *t = totals_of(pass, pass->open.items[i]);

		if (pass->now.used_bytes > t->peak_used_bytes) {
			t->peak_used_bytes = pass->now.used_bytes;
			t->peak_event = event;
		}
		if (pass->now.allocated_bytes > t->peak_allocated_bytes)
			t->peak_allocated_bytes = pass->now.allocated_bytes;
	}
}

struct vt_range_totals *vt_totals_add_up(const struct vt_timeline *timeline,
					 const struct vt_range *ranges, uint32_t nr)
{
	const struct vt_model *model = timeline->model;
	struct pass pass = { .ranges = ranges, .nr = nr, .nr_devices = model->nr_devices };

	pass.totals = vt_xcalloc((size_t)nr * model->nr_devices + 1, sizeof(*pass.totals));
	for (pass.device = 0; pass.device < model->nr_devices; pass.device++) {
		int device = model->devices[pass.device].id;

		pass.next = 0;
		pass.now = (struct vt_totals){ 0 };
		for (uint32_t i = 0; i < timeline->nr; i++) {
			const struct vt_moment *moment = &timeline->moments[i];
			int64_t event = vt_moment_event(model, moment);

			move_to(&pass, event);
			vt_timeline_add(timeline, moment, device, &pass.now);
			if (vt_folded_is_known(&model->folded, event))
				see(&pass, event);
		}
		move_to(&pass, VT_NEVER);
	}
	vt_vector_release(&pass.open);
	return pass.totals;
}
