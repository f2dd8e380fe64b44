/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/fit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/planner/estimate.h"

#define FIT_TEXT(name, text) text,
static const char *const fit_texts[] = { VT_FITS(FIT_TEXT) };
#undef FIT_TEXT

/* Above this share PyTorch's allocator begins to retry and to free its cache (torchtune 1360). */
#define COMFORTABLE 0.9

const char *vt_fit_text(enum vt_fit fit)
{
	return fit_texts[fit];
}

double vt_fit_headroom(const struct vt_plan *plan, const struct vt_gpu *gpu)
{
	return (double)gpu->usable_bytes - vt_plan_peak(plan);
}

enum vt_fit vt_fit_judge(const struct vt_plan *plan, const struct vt_gpu *gpu)
{
	double peak = vt_plan_peak(plan), usable = (double)gpu->usable_bytes, high = 0;

	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		high = plan->high[stage] > high ? plan->high[stage] : high;
	if (peak > usable)
		return VT_FIT_NO;
	return high > usable || peak > COMFORTABLE * usable ? VT_FIT_TIGHT : VT_FIT_YES;
}

const char *vt_fit_fallback(const struct vt_plan *plan, const struct vt_gpu *gpu)
{
	int64_t autocast = vt_plan_setting(plan, VT_SET_AUTOCAST);
	int64_t dtype = vt_plan_setting(plan, VT_SET_DTYPE);
	int is_half = vt_plan_symbol(plan, "e") == 2;
	int is_fp16 = autocast ? autocast == 2 :
		      dtype == VT_DTYPE_FP16 || (!dtype && !strcmp(plan->model->dtype, "float16"));

	if (!gpu->capability || !is_half)
		return NULL;
	/* CUDA's programming guide: bfloat16 from 8.0, half arithmetic from 5.3. */
	if (!is_fp16 && gpu->capability < 80)
		return gpu->capability < 53 ? "fp32" : "fp16";
	return gpu->capability < 53 ? "fp32" : NULL;
}

/* By what they cost, the cheapest first; "/2" halves. */
static const struct {
	enum vt_setting id;
	const char *value, *cost;
} rungs[] = {
	{ VT_SET_KEEP_LOGITS, "no", "nothing: del outputs before backward" },
	{ VT_SET_LOGITS, "last", "nothing: logits_to_keep=1" },
	{ VT_SET_BUCKET_VIEW, "yes", "nothing: gradient_as_bucket_view=True" },
	{ VT_SET_OPTIMIZER_LOOP, "fused", "nothing: fused=True" },
	{ VT_SET_ATTENTION, "sdpa", "nothing, unless attention weights are read" },
	{ VT_SET_KEEP, "residual", "nothing, unless other activations are read" },
	{ VT_SET_LOSS, "fused", "nothing: a fused linear cross-entropy (Liger, CCE)" },
	{ VT_SET_LOSS, "checkpointed", "the head's products twice" },
	{ VT_SET_KV_CACHE, "latent", "a runtime that caches latents (transformers from 5.x on)" },
	{ VT_SET_ACCUMULATE, "1", "the batch is smaller" },
	{ VT_SET_BATCH, "/2", "half the batch at a time; accumulate for the same result" },
	{ VT_SET_CHECKPOINTING, "full", "one more forward: about a third more computing" },
	{ VT_SET_OPTIMIZER, "adamw8bit", "rounding of the states" },
	{ VT_SET_OFFLOAD, "optimizer", "copies over PCIe at every step" },
	{ VT_SET_KV_DTYPE, "int8", "rounding of keys and values" },
	{ VT_SET_QUANTISE, "int8", "rounding of the weights" },
	{ VT_SET_QUANTISE, "nf4-double", "coarser rounding of the weights" },
	{ VT_SET_TENSOR, "2", "a second card and its link" },
	{ VT_SET_SEQ, "/2", "half the context" },
	{ VT_SET_LORA, "16", "another way of training: adapters only" },
	{ VT_SET_OFFLOAD, "weights", "every layer over PCIe for every token" },
};

/* Whether the change was made: it is one, and makes sense. */
static int change(struct vt_plan_settings *settings, const struct vt_plan *plan, size_t rung,
		  char *value, size_t size)
{
	struct vt_diag diag = { 0 };
	enum vt_setting id = rungs[rung].id;
	int64_t before = plan->settings->value[id];

	snprintf(value, size, "%s", rungs[rung].value);
	if (!strcmp(value, "/2"))
		snprintf(value, size, "%lld", (long long)before / 2);
	*settings = *plan->settings;
	if (vt_plan_settings_set(settings, id, value, &diag) || settings->value[id] == before)
		return 0;
	return !vt_plan_settings_check(settings, &diag);
}

void vt_fit_ladder(const struct vt_plan *plan, const struct vt_gpu *gpu, struct vt_changes *changes)
{
	for (size_t rung = 0; rung < VT_ARRAY_SIZE(rungs); rung++) {
		struct vt_change one = { .id = rungs[rung].id, .cost = rungs[rung].cost };
		struct vt_plan_settings settings;
		struct vt_plan changed = { .model = plan->model, .gpu = plan->gpu };
		struct vt_diag diag = { 0 };

		if (!change(&settings, plan, rung, one.value, sizeof(one.value)))
			continue;
		changed.settings = &settings;
		if (!vt_estimate_make(&changed, &diag)) {
			one.peak = vt_plan_peak(&changed);
			one.saves = vt_plan_peak(plan) - one.peak;
			one.fit = vt_fit_judge(&changed, gpu);
			if (one.saves > 0)
				vt_vector_push(changes, one);
		}
		vt_plan_release(&changed);
	}
}
