/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/live.h"

#include <string.h>

#include "analyzer/attribution/inference/module_path.h"
#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"
#include "analyzer/diff/makers.h"
#include "analyzer/model/producer.h"

#define WORD(name, text) text,
static const char *const words[VT_NR_CHANGES_BY] = { VT_CHANGES_BY(WORD) };
#undef WORD

int vt_changes_parse(const char *word, enum vt_changes_by *by)
{
	for (int i = 0; i < VT_NR_CHANGES_BY; i++)
		if (strcmp(word, words[i]) == 0) {
			*by = (enum vt_changes_by)i;
			return 0;
		}
	return -1;
}

const char *vt_changes_word(enum vt_changes_by by)
{
	return words[by];
}

static char *module_of(const struct vt_changes_side *side, const struct vt_allocation *a)
{
	char *path = vt_module_path_module(&side->analysis->facts, a), *folded = NULL;

	if (path)
		folded = vt_module_path_fold(path);
	free(path);
	return folded;
}

static uint64_t hash_module(const struct vt_changes_side *side, const struct vt_allocation *a)
{
	char *module = module_of(side, a);
	uint64_t hash = module ? vt_hash_text(module, strlen(module)) : 0;

	free(module);
	return hash;
}

static char *file_of(const struct vt_changes_side *side, const struct vt_allocation *a)
{
	const struct vt_model *model = &side->analysis->model;
	uint32_t ids[VT_FRAMES_MAX];
	const struct vt_code *code;

	if (!vt_describe_visible(side->describe, vt_producer_stack(model, a), ids))
		return NULL;
	code = vt_frames_code(&model->frames, ids[0]);
	return code->file ? vt_xstrdup(vt_describe_file(side->describe, code->file)) : NULL;
}

uint64_t vt_changes_asked(const struct vt_traces *traces, const struct vt_allocation *a)
{
	if (!a->common->requested_bytes || traces->are_misread || !traces->settings.is_native)
		return a->common->size_bytes;
	return vt_settings_round(&traces->settings, a->common->requested_bytes);
}

void vt_changes_gather(struct vt_changes_live *live, const struct vt_changes_side *side,
		       enum vt_changes_by by)
{
	const struct vt_model *model = &side->analysis->model;
	struct vt_attribution *attribution = &side->analysis->attribution;
	struct vt_makers makers;

	vt_makers_init(&makers, side->describe);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];
		struct vt_changes_block one = { .bytes = a->common->size_bytes, .allocation = i };

		if (a->common->device != side->device || !vt_allocation_is_live(a, side->event) ||
		    !vt_allocation_is_owned(a))
			continue;
		one.asked_bytes = vt_changes_asked(&side->analysis->traces, a);
		one.owner = vt_attribution_owner(attribution,
						 vt_attribution_judge(attribution, i).owner);
		if (by == VT_CHANGES_BY_MODULE)
			one.name = module_of(side, a);
		else if (by == VT_CHANGES_BY_FILE)
			one.name = file_of(side, a);
		else if (by == VT_CHANGES_BY_OWNER)
			one.name = vt_xstrdup(one.owner);
		if (by == VT_CHANGES_BY_STACK) {
			one.operator = vt_makers_of(&makers, a);
			one.module = hash_module(side, a);
		}
		vt_vector_push(live, one);
	}
	vt_makers_release(&makers);
}

void vt_changes_live_release(struct vt_changes_live *live)
{
	for (size_t i = 0; i < live->len; i++)
		free(live->items[i].name);
	vt_vector_release(live);
}
