/* SPDX-License-Identifier: MIT */
/*
 * Keys and values of generation, and the recurrent states of models that have them instead.
 */
#include <stdio.h>

#include "analyzer/planner/terms.h"

#define IN_PREFILL (VT_IN(FORWARD) | VT_IN(LOGITS))
#define IN_CACHE   (IN_PREFILL | VT_IN(DECODE))

static int is_latent(const struct vt_plan *plan)
{
	return plan->model->stacks[VT_PART_TEXT].kv_rank &&
	       vt_plan_setting(plan, VT_SET_KV_CACHE) != VT_KV_EXPANDED;
}

/* Caches that grow by a copy per token; any other kind has its last length from the start. */
static int is_concatenated(const struct vt_plan *plan)
{
	int64_t cache = vt_plan_setting(plan, VT_SET_KV_CACHE);

	return cache == VT_KV_DYNAMIC || cache == VT_KV_EXPANDED;
}

/* Elements per token and layer. */
static const char *token(const struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	if (is_latent(plan))
		return "(rank+rope)";
	return s->kv_rank ? "a*(d+dv)" : "k*(d+dv)";
}

/* Bytes per element, with the scales of quantised caches. */
static const char *element(const struct vt_plan *plan)
{
	int64_t dtype = vt_plan_setting(plan, VT_SET_KV_DTYPE);

	return dtype == VT_DTYPE_INT8 || dtype == VT_DTYPE_INT4 ? "(c+4/group)" : "c";
}

static void add_cache(struct vt_plan *plan, unsigned stages, enum vt_played_kind played,
		      const char *layers, const char *tokens, const char *why)
{
	const struct vt_term_spec spec = { "kv cache", stages, played, NULL, NULL, why };
	const char *over = vt_plan_setting(plan, VT_SET_TENSOR) > 1 &&
				   !is_latent(plan) ?
				   "/min(t,k)" :
				   "";

	vt_plan_add(plan, &spec, "b*%s*%s*%s*%s%s", layers, token(plan), tokens, element(plan),
		    over);
}

/* vLLM's pages of 16 tokens; what its pool takes beyond them is a setting of the server. */
static void add_paged(struct vt_plan *plan, const char *why)
{
	add_cache(plan, IN_CACHE, VT_PLAYED_KEPT, "Lfull", "16*ceil((sd+n)/16)", why);
	add_cache(plan, IN_CACHE, VT_PLAYED_KEPT, "Lwindow", "16*ceil(min(sd+n,window)/16)", why);
}

static void add_whole(struct vt_plan *plan, const char *why)
{
	static const char window[] = "layers that see a window keep that much";
	int is_static = !is_concatenated(plan);
	/* What has its last length from the start is played with the prefill. */
	enum vt_played_kind decode = is_static ? VT_PLAYED_PASSED_OVER : VT_PLAYED_GROWING;

	add_cache(plan, IN_PREFILL, VT_PLAYED_KEPT, "Lfull", is_static ? "(sd+n)" : "sd", why);
	add_cache(plan, VT_IN(DECODE), decode, "Lfull", "(sd+n)", why);
	add_cache(plan, VT_IN(DECODE), decode, "Lwindow", "min(sd+n,window)", window);
	if (is_static)
		add_cache(plan, IN_PREFILL, VT_PLAYED_KEPT, "Lwindow", "min(sd+n,window)", window);
	else
		add_cache(plan, IN_PREFILL, VT_PLAYED_KEPT, "Lwindow", "sd",
			  "DynamicCache keeps a view of the window, and so all of the prefill");
}

/* DynamicCache concatenates: the old and the new tensors of one layer live side by side. */
static void add_growth(struct vt_plan *plan)
{
	const struct vt_term_spec spec = { "kv cache", VT_IN(DECODE), VT_PLAYED_PASSED_OVER, NULL,
		NULL, "one layer's keys or values twice while a token is appended (torch.cat)" };

	if (!is_concatenated(plan))
		return;
	if (is_latent(plan))
		vt_plan_add(plan, &spec, "b*max(rank,rope)*(sd+n)*%s", element(plan));
	else
		vt_plan_add(plan, &spec, "b*k*max(d,dv)*(sd+n)*%s", element(plan));
}

void vt_terms_cache(struct vt_plan *plan)
{
	const struct vt_stack *s = &plan->model->stacks[VT_PART_TEXT];
	const struct vt_term_spec state = { "kv cache", IN_CACHE, VT_PLAYED_STAGED, NULL, NULL,
					    "recurrent states in fp32, whatever the length" };
	const char *why = !s->kv_rank ? "keys and values of every token" :
			  is_latent(plan) ?
				  "latents of every token (transformers from 5.x on)" :
				  "latent attention, but its keys and values are cached expanded";
	const struct vt_term_spec encoder = { "kv cache", VT_IN(LOGITS) | VT_IN(DECODE),
		VT_PLAYED_PASSED_OVER, NULL, NULL,
		"keys and values of the attention to the encoder" };

	if (vt_plan_is_training(plan) ||
	    (s->has_no_cache &&
	     !(s->has_generated_cache && vt_plan_setting(plan, VT_SET_NEW_TOKENS))) ||
	    (s->is_cache_off && !plan->settings->is_given[VT_SET_KV_CACHE]) ||
	    vt_plan_setting(plan, VT_SET_KV_CACHE) == VT_KV_NONE)
		return;
	vt_plan_add(plan, &state, "b*state");
	if (!s->attention_layers)
		return;
	if (vt_plan_setting(plan, VT_SET_KV_CACHE) == VT_KV_PAGED)
		add_paged(plan, why);
	else
		add_whole(plan, why);
	if (plan->model->stacks[VT_PART_ENCODER].layers)
		vt_plan_add(plan, &encoder, "Te*L*k*(d+dv)*c");
	add_growth(plan);
}
