/* SPDX-License-Identifier: MIT */
#include "analyzer/report/oom.h"

#include <string.h>

#include "analyzer/analysis/limits.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/diagnosis/failed_request.h"
#include "analyzer/model/when.h"

const char *const vt_oom_causes[VT_NR_OOM_CAUSES] = {
#define VT_OOM_CAUSE_TEXT(name, text) text,
	VT_OOM_CAUSES(VT_OOM_CAUSE_TEXT)
#undef VT_OOM_CAUSE_TEXT
};

const struct vt_frag_device *vt_oom_device(const struct vt_oom *oom)
{
	return oom->frag.nr_devices && !*oom->unplayed.text ? &oom->frag.devices[0] : NULL;
}

static uint32_t index_of(const struct vt_oom *oom)
{
	return (uint32_t)(oom->oom - oom->analysis->model.ooms);
}

static void play(struct vt_oom *oom)
{
	const struct vt_frag_options options = { .when = "oom",
						 .device = oom->oom->device,
						 .top = VT_FRAMES_MAX };

	vt_frag_begin(&oom->frag, oom->analysis, &options);
	if (!oom->frag.has_failed)
		vt_oom_remedies_find(&oom->remedies, oom->frag.devices[0].ready, index_of(oom));
}

static void judge(struct vt_oom *oom)
{
	oom->frag.options.has_all_frames = oom->describe->has_all_frames;
	if (vt_frag_finish(&oom->frag, &oom->unplayed))
		return;
	vt_smaller_begin(&oom->smaller, &oom->analysis->attribution, oom->frag.devices[0].trace,
			 index_of(oom));
	/* A program that ended well has caught it: a library took a smaller workspace instead. */
	oom->is_ending =
		vt_limits_ending(oom->analysis) &&
		(oom->kept_bytes || vt_stages_has(&oom->analysis->stages, VT_STAGE_BACKWARD));
}

static void find_free(struct vt_oom *oom)
{
	const struct vt_device *device = vt_model_device(&oom->analysis->model, oom->oom->device);
	uint64_t used = vt_books_device_used(&oom->books);

	oom->device_free_bytes = UINT64_MAX;
	if (device && device->total_bytes)
		oom->device_free_bytes =
			device->total_bytes > used ? device->total_bytes - used : 0;
}

/* Of the device and in the cache. */
static uint64_t free_bytes(const struct vt_oom *oom)
{
	uint64_t cached = oom->oom->reserved_bytes - oom->oom->allocated_bytes;

	return oom->device_free_bytes == UINT64_MAX ? cached : cached + oom->device_free_bytes;
}

/*
 * Before it fails, PyTorch waits for all streams and gives back what is wholly free: what is still
 * cached then lies beside live blocks, in another stream's or in a private pool.
 */
static void find_cause(struct vt_oom *oom)
{
	uint64_t needed = oom->oom->requested_bytes, all = oom->device_free_bytes;
	const struct vt_frag_device *device = vt_oom_device(oom);

	if (device)
		needed = device->trace->settings.is_expandable ? device->account.request_bytes
							     : device->account.segment_bytes;
	if (all == UINT64_MAX || !oom->books.has_context)
		return;
	oom->missing_bytes = needed > all ? needed - all : 0;
	if (!oom->missing_bytes) {
		oom->cause = VT_OOM_LIMIT;
		return;
	}
	if (free_bytes(oom) >= needed)
		oom->cause = VT_OOM_FRAGMENTATION;
	else if (oom->books.has_other &&
		 oom->device_free_bytes + oom->books.other_bytes >= needed)
		oom->cause = VT_OOM_OTHERS;
	else
		oom->cause = VT_OOM_CAPACITY;
}

static int is_recorded(const struct vt_facts *facts, const struct vt_allocation *a)
{
	uint32_t modes = vt_facts_grad_modes(facts, a);

	/* Outside of modules the numbers of autograd's nodes are all that tells. */
	if (!modes)
		return a->forward_sequence != VT_NO_SEQUENCE;
	return (modes & 1u << VT_GRAD_MODE_ON) != 0;
}

/*
 * What a first forward keeps for a backward pass that nobody saw: whether it was to come, the
 * program knows, and so the findings of training do not speak of it.
 */
static void find_kept(struct vt_oom *oom)
{
	static const char *const results[] = { "activations", "logits" };
	struct vt_attribution *attribution = &oom->analysis->attribution;
	const struct vt_model *model = &oom->analysis->model;

	if (vt_stages_has(&oom->analysis->stages, VT_STAGE_BACKWARD))
		return;
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		const char *owner;

		if (a->common->device != oom->oom->device || !vt_allocation_is_owned(a) ||
		    !vt_allocation_is_live(a, oom->oom->event) ||
		    !is_recorded(attribution->facts, a))
			continue;
		owner = vt_attribution_owner(attribution,
					     vt_attribution_judge(attribution, i).owner);
		if (vt_owner_path_is_below_any(owner, results, VT_ARRAY_SIZE(results)))
			oom->kept_bytes += a->common->size_bytes;
	}
}

static void find_owner(struct vt_oom *oom)
{
	struct vt_attribution *attribution = &oom->analysis->attribution;
	uint32_t like = vt_failed_request_find_like(oom->describe, oom->oom);

	oom->producer = vt_producer_of_failed(&oom->analysis->model, oom->oom);
	if (like != VT_NO_INDEX)
		oom->owner = vt_attribution_owner(attribution,
						  vt_attribution_judge(attribution, like).owner);
}

void vt_oom_begin(struct vt_oom *oom, struct vt_analysis *analysis, int device)
{
	const struct vt_model *model = &analysis->model;

	memset(oom, 0, sizeof(*oom));
	oom->analysis = analysis;
	oom->device = device;
	for (uint32_t i = 0; i < model->nr_ooms; i++)
		if (device == VT_WHEN_ALL_DEVICES || device == model->ooms[i].device) {
			oom->oom = &model->ooms[i];
			oom->nr_ooms++;
		}
	if (oom->oom)
		play(oom);
}

void vt_oom_judge(struct vt_oom *oom, const struct vt_describe *describe)
{
	struct vt_analysis *analysis = oom->analysis;

	oom->describe = describe;
	if (!oom->oom)
		return;
	vt_peak_context_find(&oom->place, analysis, oom->oom->event);
	find_owner(oom);
	vt_books_init(&oom->books, &analysis->attribution, oom->oom->device, oom->oom->event);
	find_free(oom);
	find_kept(oom);
	judge(oom);
	find_cause(oom);
	vt_next_passes_find(&oom->next, &analysis->attribution, oom->oom, free_bytes(oom));
}

void vt_oom_play_smaller(struct vt_oom *oom)
{
	vt_smaller_play(&oom->smaller);
}

void vt_oom_finish(struct vt_oom *oom)
{
	if (oom->is_ending)
		vt_whole_step_find(&oom->whole, &oom->analysis->attribution,
				   oom->frag.devices[0].trace, index_of(oom), &oom->smaller,
				   vt_replay_is_exact(&oom->remedies.recorded));
}

void vt_oom_release(struct vt_oom *oom)
{
	if (oom->oom) {
		vt_peak_context_release(&oom->place);
		vt_books_release(&oom->books);
		vt_frag_release(&oom->frag);
		vt_smaller_release(&oom->smaller);
	}
	memset(oom, 0, sizeof(*oom));
}
