/* SPDX-License-Identifier: MIT */
/*
 * Layers that mix tokens without attention: state spaces of the first and second kind, gated delta
 * rules, short convolutions.  "fused": by kernels that keep what they cannot make again; else by
 * PyTorch's operators, as transformers does where the kernels are not installed.
 */
#include <stdio.h>

#include "analyzer/planner/terms.h"

static const struct vt_stack *text_of(const struct vt_plan *plan)
{
	return &plan->model->stacks[VT_PART_TEXT];
}

static void add(struct vt_plan *plan, const char *bytes, const char *why, int is_recomputed)
{
	vt_terms_add_piece(plan, "activations/mixer", vt_terms_mixers(plan), bytes, why,
			   is_recomputed);
}

static void add_mamba(struct vt_plan *plan, int is_recomputed)
{
	int is_cast = vt_plan_symbol(plan, "e") < 4; /* what is fp32 already is not copied */

	add(plan, "e*(2*inner+4*inner)+4*inner",
	    "projections, convolution, step sizes and the gate of a fused scan", is_recomputed);
	if (!vt_terms_is_scanned(plan))
		return;
	if (is_cast)
		add(plan, "(4+4+4+e)*inner*states+4*inner+3*e*inner",
		    "token by token: decay, input and state of every token in fp32, the state's "
		    "cast, the input in fp32, its copy in another layout, and what the scan and "
		    "the gate give",
		    is_recomputed);
	else
		add(plan, "3*4*inner*states+3*4*inner",
		    "token by token: decay, input and state of every token, the input's copy in "
		    "another layout, and what the scan and the gate give",
		    is_recomputed);
}

static void add_mamba2(struct vt_plan *plan, int is_recomputed)
{
	if (!vt_terms_is_scanned(plan)) {
		add(plan, "e*(projected+2*inner)",
		    "what the first product gave, which the kernel makes the rest from again; "
		    "what it gave, and that normalised",
		    is_recomputed);
		return;
	}
	add(plan, "e*(projected+3*convolved)",
	    "the first product; the convolution's input, output and its activation", is_recomputed);
	add(plan, "4*(5*inner+6*mh*states)+3*4*scanned*mh",
	    "chunk by chunk in fp32: inputs, these times their steps, inputs and outputs of the "
	    "state for every head, copies of them in the layout of products; decay, scores and "
	    "both of every pair of tokens in a chunk",
	    is_recomputed);
	vt_terms_add_piece(plan, "activations/norm", vt_terms_mixers(plan), "4*4*inner",
			   "the norm after its gate, in fp32", is_recomputed);
}

void vt_terms_mixer(struct vt_plan *plan, int is_recomputed)
{
	switch (text_of(plan)->mixer) {
	case VT_MIXER_NONE:
		break;
	case VT_MIXER_MAMBA:
		add_mamba(plan, is_recomputed);
		break;
	case VT_MIXER_MAMBA2:
		add_mamba2(plan, is_recomputed);
		break;
	case VT_MIXER_DELTA:
		add(plan, "e*(projected+2*convolved+3*inner)",
		    "the first products, the convolution's output and its activation, what the "
		    "kernel and its gated norm gave",
		    is_recomputed);
		break;
	case VT_MIXER_CONVOLUTION:
		add(plan, "e*(projected+2*inner)+e*inner",
		    "both gates and the input between them, the convolution's, and their product",
		    is_recomputed);
		break;
	}
}

const char *vt_terms_widest_of_mixer(const struct vt_plan *plan)
{
	if (!vt_terms_is_scanned(plan))
		return NULL;
	return text_of(plan)->mixer == VT_MIXER_MAMBA ?
		       "3*4*inner*states+4*e*inner+4*4*inner" :
		       "4*4*scanned*mh+4*(4*inner+2*mh*states)+e*(projected+2*convolved)";
}

void vt_terms_mixer_transient(struct vt_plan *plan, unsigned stages)
{
	const struct vt_term_spec states = { "gradients", stages, VT_PLAYED_TRANSIENT, NULL, NULL,
		"of every token's decay and input" };
	const struct vt_term_spec state = { "workspace/other", stages, VT_PLAYED_TRANSIENT, NULL,
		NULL, "their product, of which sums are made" };
	const struct vt_term_spec pairs = { "gradients", stages, VT_PLAYED_TRANSIENT, NULL, NULL,
		"of decay and scores of every pair of tokens in a chunk, and of both" };

	if (text_of(plan)->mixer == VT_MIXER_MAMBA2) {
		vt_plan_add(plan, &pairs, "T*3*4*scanned*mh");
		return;
	}
	vt_plan_add(plan, &states, "T*2*4*inner*states");
	vt_plan_add(plan, &state, "T*4*inner*states");
}
