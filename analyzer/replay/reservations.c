/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/reservations.h"

struct vt_reservation *vt_reservations_at(const struct vt_reservations *found, uint64_t address,
					  int64_t event)
{
	/* From the end: the ones in use are mostly the latest. */
	for (size_t i = found->len; i-- > 0;) {
		struct vt_reservation *r = &found->items[i];

		if (address - r->address < r->size_bytes && r->event <= event &&
		    event <= r->ended_event)
			return r;
	}
	return NULL;
}

static void take_event(struct vt_reservations *found, const struct vt_other_event *event)
{
	struct vt_reservation *at;

	if (event->op == VT_OP_RESERVE) {
		struct vt_reservation reservation = {
			.address = event->address,
			.size_bytes = event->size_bytes,
			.event = event->event,
			.ended_event = VT_NEVER,
			.segment = VT_NO_INDEX,
		};
		vt_vector_push(found, reservation);
		return;
	}
	if (event->op != VT_OP_UNRESERVE && event->op != VT_OP_MAP)
		return;
	at = vt_reservations_at(found, event->address, event->event);
	if (at && event->op == VT_OP_UNRESERVE)
		at->ended_event = event->event;
	else if (at && !at->granule_bytes)
		at->granule_bytes = event->size_bytes;
}

static void take_block(struct vt_reservations *found, const struct vt_allocation *block)
{
	struct vt_reservation *at = vt_reservations_at(found, block->address, block->event);

	if (!at)
		return;
	at->has_blocks = 1;
	at->device = block->common->device;
}

void vt_reservations_find(struct vt_reservations *found, const struct vt_timeline *timeline)
{
	const struct vt_model *model = timeline->model;

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];

		if (moment->what == VT_MOMENT_OTHER)
			take_event(found, &model->events[moment->index]);
		else if (found->len && moment->what == VT_MOMENT_ALLOC &&
			 model->allocations[moment->index].common->kind == VT_KIND_BLOCK)
			take_block(found, &model->allocations[moment->index]);
	}
}

void vt_reservations_release(struct vt_reservations *found)
{
	vt_vector_release(found);
}
