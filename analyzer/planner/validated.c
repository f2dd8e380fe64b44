/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/validated.h"

#include "analyzer/planner/families.h"
#include "analyzer/planner/term_facts.h"

/* Options that a kind of model answers in its own way; those that hold for all are not here. */
static const struct {
	int64_t mode;
	enum vt_setting id;
	int64_t value; /* ANY: all but 0 */
	const char *word, *doubt;
} options[] = {
#define ANY (-1)
	{ VT_MODE_TRAIN, VT_SET_CHECKPOINTING, VT_CHECKPOINTING_FULL, "checkpointing",
	  "checkpointing was not validated for this model type" },
	/* No library has it, so that no run has been compared. */
	{ VT_MODE_TRAIN, VT_SET_CHECKPOINTING, VT_CHECKPOINTING_SELECTIVE, "selective",
	  "checkpointing of attention alone was not validated for this model type" },
	{ VT_MODE_TRAIN, VT_SET_AUTOCAST, ANY, "autocast",
	  "autocast was not validated for this model type" },
	{ VT_MODE_TRAIN, VT_SET_ATTENTION, VT_ATTENTION_EAGER, "eager",
	  "training with eager attention was not validated for this model type" },
	{ VT_MODE_TRAIN, VT_SET_LORA, ANY, "lora",
	  "adapters were not validated for this model type" },
	{ VT_MODE_INFER, VT_SET_ATTENTION, VT_ATTENTION_EAGER, "eager",
	  "eager attention was not validated for this model type" },
	{ VT_MODE_INFER, VT_SET_NEW_TOKENS, ANY, "generate",
	  "generation was not validated for this model type" },
};

static const char *key_of(const struct vt_plan *plan)
{
	return vt_plan_is_training(plan) ? "compared_train" : "compared_infer";
}

static int is_asked(const struct vt_plan *plan, size_t option)
{
	int64_t value = vt_plan_setting(plan, options[option].id);

	return vt_plan_setting(plan, VT_SET_MODE) == options[option].mode &&
	       (options[option].value == ANY ? value != 0 : value == options[option].value);
}

const char *vt_validated_doubt(const struct vt_plan *plan)
{
	const char *family = plan->model->family;

	if (vt_plan_setting(plan, VT_SET_LORA) && vt_plan_symbol(plan, "Lmoe") &&
	    vt_plan_setting(plan, VT_SET_LORA_TARGETS) == VT_TARGETS_LINEAR)
		return "adapters of a mixture's experts are not planned";
	if (plan->model->is_nominal || plan->model->is_guessed || !vt_families_is_known(family))
		return NULL;
	if (vt_families_has(family, "is_like_this", "in-part"))
		return "this model type computes in a way that is not planned";
	/* An option was compared with what it changes, and changes what must be right itself. */
	if (!vt_families_says(family, key_of(plan),
			      vt_term_facts_scanned(plan) ? "scanned" : "plain"))
		return vt_plan_is_training(plan)
			       ? "training was not validated for this model type"
			       : "a forward was not validated for this model type";
	for (size_t i = 0; i < VT_ARRAY_SIZE(options); i++)
		if (is_asked(plan, i) && !vt_families_says(family, key_of(plan), options[i].word))
			return options[i].doubt;
	return NULL;
}
