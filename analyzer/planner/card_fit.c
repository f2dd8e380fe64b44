/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/card_fit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/planner/estimate.h"
#include "analyzer/planner/load.h"
#include "analyzer/planner/validation.h"

#define FIT_TEXT(name, text) text,
static const char *const fit_texts[] = { VT_FITS(FIT_TEXT) };
#undef FIT_TEXT

const char *vt_card_fit_text(enum vt_card_fit fit)
{
	return fit_texts[fit];
}

double vt_card_fit_headroom(const struct vt_plan *plan, const struct vt_gpu *gpu)
{
	return (double)gpu->usable_bytes - vt_plan_peak(plan);
}

enum vt_card_fit vt_card_fit_judge(const struct vt_plan *plan, const struct vt_gpu *gpu)
{
	double peak = vt_plan_peak(plan), usable = (double)gpu->usable_bytes, high = 0;

	for (int stage = 0; stage < VT_NR_PLAN_STAGES; stage++)
		high = plan->high[stage] > high ? plan->high[stage] : high;
	if (peak > usable)
		return VT_FIT_NO;
	if (vt_plan_is_guessed(plan))
		return VT_FIT_GUESSED;
	return high > usable || peak > VT_FIT_COMFORTABLE * usable ? VT_FIT_TIGHT : VT_FIT_YES;
}

const char *vt_card_fit_fallback(const struct vt_plan *plan, const struct vt_gpu *gpu)
{
	int64_t autocast = vt_plan_setting(plan, VT_SET_AUTOCAST);
	int64_t dtype = vt_plan_setting(plan, VT_SET_DTYPE);
	int is_half = vt_plan_symbol(plan, "e") == 2;
	int is_fp16 = autocast ? autocast == 2
			       : dtype == VT_DTYPE_FP16 ||
					 (!dtype && !strcmp(plan->model->dtype, "float16"));

	if (!gpu->capability || !is_half)
		return NULL;
	/* CUDA's programming guide: bfloat16 from 8.0, half arithmetic from 5.3. */
	if (!is_fp16 && gpu->capability < 80)
		return gpu->capability < 53 ? "fp32" : "fp16";
	return gpu->capability < 53 ? "fp32" : NULL;
}

/* By what they cost, the cheapest first; "/2" halves and "*2" doubles, again until it fits. */
static const struct rung {
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
	{ VT_SET_LOSS, "checkpointed", "the LM head is computed twice" },
	{ VT_SET_KV_CACHE, "latent", "a runtime that caches latents (transformers from 5.x on)" },
	{ VT_SET_ACCUMULATE, "1", "a smaller effective batch" },
	{ VT_SET_BATCH, "/2", "fewer sequences at a time (in training: accumulate)" },
	{ VT_SET_CHECKPOINTING, "full", "one more forward: about a third more compute" },
	{ VT_SET_OPTIMIZER, "adamw8bit", "rounding of the states" },
	{ VT_SET_OFFLOAD, "optimizer", "copies over PCIe at every step" },
	{ VT_SET_KV_DTYPE, "int8", "rounding of keys and values" },
	{ VT_SET_QUANTISE, "int8", "rounding of the weights" },
	{ VT_SET_QUANTISE, "nf4-double", "coarser rounding of the weights" },
	{ VT_SET_TENSOR, "*2", "more cards, and communication between them" },
	{ VT_SET_SEQ, "/2", "a shorter context" },
	{ VT_SET_LORA, "16", "another way of training: adapters only" },
	{ VT_SET_OFFLOAD, "weights", "copies of every layer over PCIe for every token" },
};

/* Cards of one host, which a link joins. */
#define MAX_TENSOR 8

struct ladder_search {
	const struct vt_plan *plan;
	const struct vt_gpu *gpu;
	enum vt_card_fit before;
	struct vt_load load; /* the last replay: most changes leave the weights alone */
};

/* The value of that rung in its turn: 0, or -1 where there is none. */
static int value_at(const struct rung *rung, int64_t before, unsigned turn, char *value,
		    size_t size)
{
	int64_t number;

	if (!strchr("/*", rung->value[0])) {
		snprintf(value, size, "%s", rung->value);
		return turn ? -1 : 0;
	}
	if (rung->value[0] == '/')
		number = turn < 62 ? before >> (turn + 1) : 0;
	else
		number = before <= MAX_TENSOR >> (turn + 1) ? before << (turn + 1) : 0;
	snprintf(value, size, "%lld", (long long)number);
	return number ? 0 : -1;
}

/* Whether the change was made: it is one, and makes sense. */
static int apply(struct vt_plan_settings *settings, struct vt_change_step *step,
		 const struct rung *rung, unsigned turn)
{
	int64_t before = settings->value[rung->id];
	struct vt_diag diag = { 0 };

	step->id = rung->id;
	step->cost = rung->cost;
	return !value_at(rung, before, turn, step->value, sizeof(step->value)) &&
	       !vt_plan_settings_set(settings, rung->id, step->value, &diag) &&
	       settings->value[rung->id] != before;
}

/* The plan with those settings.  0, or -1 where there is none that saves or is enough. */
static int judge(struct ladder_search *search, const struct vt_plan_settings *settings,
		 struct vt_change *change)
{
	struct vt_plan changed = { .model = search->plan->model,
				   .gpu = search->plan->gpu,
				   .settings = settings,
				   .load = &search->load };
	struct vt_diag diag = { 0 };
	int rc = vt_validate_settings(settings, &diag);

	if (!rc)
		rc = vt_estimate_make(&changed, &diag);
	if (!rc) {
		change->peak = vt_plan_peak(&changed);
		change->saves = vt_plan_peak(search->plan) - change->peak;
		change->fit = vt_card_fit_judge(&changed, search->gpu);
		change->is_enough = change->fit < search->before;
	}
	vt_plan_release(&changed);
	/* A lower upper end alone may be enough, too. */
	return rc || (change->saves <= 0 && !change->is_enough) ? -1 : 0;
}

/* That rung on top of `settings`, as far as it takes to fit.  Whether it is of use. */
static int climb(struct ladder_search *search, const struct vt_plan_settings *settings,
		 const struct rung *rung, unsigned step, struct vt_change *change)
{
	struct vt_change last = *change;
	int is_found = 0;

	last.nr_steps = step + 1;
	last.is_enough = 0;
	for (unsigned turn = 0; !last.is_enough; turn++) {
		struct vt_plan_settings own = *settings;

		if (!apply(&own, &last.steps[step], rung, turn))
			break;
		if (judge(search, &own, &last))
			continue;
		*change = last;
		is_found = 1;
	}
	return is_found;
}

/* The cheapest first: by the dearer of the two. */
static void add_pairs(struct ladder_search *search, const struct vt_change *of_rung,
		      struct vt_changes *pairs)
{
	for (size_t dear = 1; dear < VT_ARRAY_SIZE(rungs); dear++) {
		for (size_t cheap = 0; of_rung[dear].nr_steps && cheap < dear; cheap++) {
			struct vt_plan_settings settings = *search->plan->settings;
			struct vt_change pair = of_rung[cheap];
			struct vt_diag diag = { 0 };

			if (!pair.nr_steps || rungs[cheap].id == rungs[dear].id ||
			    vt_plan_settings_set(&settings, pair.steps[0].id, pair.steps[0].value,
						 &diag))
				continue;
			if (climb(search, &settings, &rungs[dear], 1, &pair) && pair.is_enough)
				vt_vector_push(pairs, pair);
		}
	}
}

void vt_card_fit_ladder(const struct vt_plan *plan, const struct vt_gpu *gpu,
			struct vt_ladder *ladder)
{
	struct ladder_search search = { .plan = plan,
					.gpu = gpu,
					.before = vt_card_fit_judge(plan, gpu) };
	struct vt_change of_rung[VT_ARRAY_SIZE(rungs)] = { 0 };

	if (search.before == VT_FIT_YES || search.before == VT_FIT_GUESSED)
		return;
	for (size_t rung = 0; rung < VT_ARRAY_SIZE(rungs); rung++) {
		if (!climb(&search, plan->settings, &rungs[rung], 0, &of_rung[rung]))
			continue;
		vt_vector_push(&ladder->singles, of_rung[rung]);
		ladder->has_enough |= of_rung[rung].is_enough;
	}
	if (!ladder->has_enough)
		add_pairs(&search, of_rung, &ladder->pairs);
	ladder->has_enough |= ladder->pairs.len > 0;
}

void vt_card_fit_ladder_release(struct vt_ladder *ladder)
{
	vt_vector_release(&ladder->singles);
	vt_vector_release(&ladder->pairs);
}
