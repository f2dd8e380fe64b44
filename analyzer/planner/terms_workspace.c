/* SPDX-License-Identifier: MIT */
/*
 * What nobody's tensors are: inputs, libraries' workspaces, communication, the context.
 */
#include "analyzer/planner/terms.h"

static void add_inputs(struct vt_plan *plan)
{
	const struct vt_term_spec tokens = { "inputs", VT_IN_TRAINING | VT_IN_INFERENCE,
		VT_PLAYED_STAGED, NULL, NULL, "token ids, and in training labels and their shift" };
	const struct vt_term_spec pixels = { "inputs", VT_IN_TRAINING | VT_IN_INFERENCE,
		VT_PLAYED_STAGED, NULL, NULL, "pixels in the type of the weights" };

	const struct vt_term_spec sound = { "inputs", VT_IN_TRAINING | VT_IN_INFERENCE,
		VT_PLAYED_STAGED, NULL, NULL, "sound, of which two moments become one" };

	vt_plan_add(plan, &tokens, "%s", vt_plan_is_training(plan) ? "3*8*T" : "8*T");
	vt_plan_add(plan, &sound, "Te*2*sound*e");
	vt_plan_add(plan, &pixels, "b*images*patches*pixels*w");
}

/* The largest that a card has by default; where the card is not known, it may be this one. */
#define MOST_CUBLAS "33554432"

static void add_libraries(struct vt_plan *plan)
{
	int is_known = plan->gpu && plan->gpu->nr_sms;
	const struct vt_term_spec cublas = { "workspace/cublas",
		VT_IN_TRAINING | VT_IN_INFERENCE | VT_IN(STEP), VT_PLAYED_LIBRARY, "0",
		is_known		     ? NULL :
		vt_plan_is_training(plan) ? "2*" MOST_CUBLAS :
					     MOST_CUBLAS,
		"one per handle and stream; backward's thread has its own handle" };
	const struct vt_term_spec measured = { "workspace/cublas", cublas.stages, VT_PLAYED_LIBRARY,
		NULL, NULL, "all of them, as measured" };

	if (plan->settings->is_given[VT_SET_CUBLAS])
		vt_plan_add(plan, &measured, "cublas");
	else
		vt_plan_add(plan, &cublas, "%s",
			    vt_plan_is_training(plan) ? "2*cublas" : "cublas");
}

static void add_communication(struct vt_plan *plan)
{
	/* LL 524288 + LL128 4915200 + Simple 4194304, in units of 2 MiB (nccl init.cc). */
	const struct vt_term_spec nccl = { "communication", VT_IN_ALL & ~VT_IN(LOAD),
		VT_PLAYED_STAGED, "2*10485760", "64*10485760",
		"NCCL: 10 MiB per channel and connection; it varies, so measure it" };

	const struct vt_term_spec measured = { "communication", nccl.stages, VT_PLAYED_STAGED, NULL,
		NULL, "as measured" };

	if (plan->settings->is_given[VT_SET_COMMUNICATION])
		vt_plan_add(plan, &measured, "communication");
	else if (vt_plan_setting(plan, VT_SET_DATA) > 1 ||
		 vt_plan_setting(plan, VT_SET_TENSOR) > 1 ||
		 vt_plan_setting(plan, VT_SET_PIPELINE) > 1 ||
		 vt_plan_setting(plan, VT_SET_CONTEXT_PARALLEL) > 1)
		vt_plan_add(plan, &nccl, "2*16*ceil(9633792/2097152)*2097152");
}

void vt_terms_workspace(struct vt_plan *plan)
{
	int is_known = vt_plan_setting(plan, VT_SET_CONTEXT) ||
		       (plan->gpu && plan->gpu->context_bytes);
	const struct vt_term_spec context = { "context", VT_IN_ALL, VT_PLAYED_PASSED_OVER,
		is_known ? NULL : "268435456", is_known ? NULL : "644245094",
		is_known ? "CUDA context and libraries" :
			   "CUDA context and libraries: 0.25 to 0.6 GiB until measured" };

	if (!plan->model->is_nominal) {
		add_inputs(plan);
		add_libraries(plan);
	}
	add_communication(plan);
	vt_plan_add(plan, &context, "context");
}
