/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/when.h"
#include "analyzer/analysis/analysis.h"
#include "analyzer/report/report_stages_text.h"
#include "analyzer/base/util.h"
#include "tests/lib/database_builder.h"

#define TORCH   "/usr/lib/python3/dist-packages/torch"
#define FORWARD "train.py:9 Net.forward Net@1 < train.py:40 main"
#define USER    "train.py:50 main"
#define STEP    TORCH "/optim/sgd.py:90 SGD.step SGD@7 < train.py:44 main"

/*
 * One event of a scenario: an allocation that shows what its fields say.  The first that has a size
 * is freed before the last one.
 */
struct moment {
	struct build_event event;
	enum vt_stage stage;
	uint32_t step;
};

static void open_analysis(struct vt_analysis *analysis)
{
	struct vt_diag diag = { 0 };

	if (vt_analysis_open(analysis, "run.db", NULL, &diag))
		fail_msg("%s", diag.text);
}

static void check(const struct moment *moments, size_t nr)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	int64_t ids[32], result = 0;

	assert_true(nr <= VT_ARRAY_SIZE(ids));
	for (size_t i = 0; i < nr; i++) {
		struct build_event event = moments[i].event;

		if (i + 1 == nr && result)
			build_free(b, result, &(struct build_event){ .python = USER });
		if (!event.size)
			event.size = 512;
		ids[i] = build_alloc(b, &event);
		if (moments[i].event.size && !result)
			result = ids[i];
	}
	build_close(b);
	open_analysis(&analysis);
	for (size_t i = 0; i < nr; i++) {
		uint32_t span = vt_stages_span_at(&analysis.stages, ids[i]);

		assert_int_not_equal(span, VT_NO_INDEX);
		if (analysis.stages.spans[span].stage != moments[i].stage ||
		    analysis.stages.spans[span].step != moments[i].step)
			fail_msg("moment %zu: %s %u, expected %s %u", i,
				 vt_evidence_stages[analysis.stages.spans[span].stage],
				 analysis.stages.spans[span].step,
				 vt_evidence_stages[moments[i].stage], moments[i].step);
	}
	vt_analysis_close(&analysis);
}

static void training_has_its_stages_and_steps(void **state)
{
	static const struct moment moments[] = {
		{ { .python = TORCH "/nn/m.py:1 Module._apply Net@1 < train.py:30 main" },
		  VT_STAGE_LOAD,
		  0 },
		{ { .python = USER }, VT_STAGE_LOAD, 0 },
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .python = USER, .forward = 2 },
		  VT_STAGE_FORWARD,
		  1 }, /* the loss, outside of modules */
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .thread = BUILD_ENGINE_THREAD },
		  VT_STAGE_BACKWARD,
		  1 },                                     /* the engine between two nodes */
		{ { .python = USER }, VT_STAGE_OTHER, 1 }, /* gradient clipping by hand */
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 1 },
		{ { .scope = "Optimizer.step#SGD.step" }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = USER }, VT_STAGE_OTHER, 2 },
		{ { .python = FORWARD, .forward = 3 }, VT_STAGE_FORWARD, 2 },
		{ { .python = TORCH "/autograd/__init__.py:1 backward < " USER },
		  VT_STAGE_BACKWARD,
		  2 },
		{ { .node = "AddmmBackward0", .sequence = 3 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = FORWARD, .forward = 4 },
		  VT_STAGE_FORWARD,
		  2 }, /* a second micro-batch */
		{ { .node = "AddmmBackward0", .sequence = 4 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 2 },
		/* a module moved in the middle of the run */
		{ { .python = TORCH "/nn/m.py:1 Module._apply Net@1 < " USER }, VT_STAGE_OTHER, 3 },
		{ { .python = FORWARD, .forward = 5 }, VT_STAGE_FORWARD, 3 }, /* interrupted */
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

static void inference_has_no_steps(void **state)
{
	static const struct moment moments[] = {
		{ { .python = USER }, VT_STAGE_LOAD, 0 },
		{ { .python = FORWARD }, VT_STAGE_FORWARD, 0 },
		{ { .python = USER }, VT_STAGE_FORWARD, 0 },
		{ { .python = FORWARD " < gen.py:3 Mixin.generate < main.py:1 main" },
		  VT_STAGE_GENERATION,
		  0 },
		{ { .python = "gen.py:3 Mixin.generate < main.py:1 main" },
		  VT_STAGE_GENERATION,
		  0 },
		{ { .python = USER }, VT_STAGE_OTHER, 0 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

static void forward_without_autograd_between_steps_is_evaluation(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_EVALUATION, 2 },
		{ { .python = USER, .scope = "Optimizer.zero_grad#SGD.zero_grad" },
		  VT_STAGE_OTHER,
		  2 },
		{ { .python = FORWARD, .forward = 2 }, VT_STAGE_FORWARD, 2 },
		{ { .node = "AddmmBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 2 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* Nothing else happens between the last batch that is evaluated and the first that is learned. */
static void an_evaluation_right_before_a_forward_is_told_from_it(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = USER, .forward = 1 }, VT_STAGE_OTHER, 2 },
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_EVALUATION, 2 },
		{ { .python = USER, .forward = 1 }, VT_STAGE_EVALUATION, 2 },
		{ { .python = FORWARD, .forward = 2 }, VT_STAGE_FORWARD, 2 },
		{ { .node = "AddmmBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 2 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

static void a_teacher_serves_the_step_it_is_called_in(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = "train.py:9 Net.forward Net@2 < " USER, .forward = 1, .size = 4096 },
		  VT_STAGE_FORWARD,
		  2 },
		{ { .python = FORWARD, .forward = 2 }, VT_STAGE_FORWARD, 2 },
		{ { .node = "AddmmBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 2 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* Autocast casts weights with autograd enabled, under no_grad too, and keeps them. */
static void casts_of_autocast_do_not_make_an_evaluation_train(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = FORWARD, .forward = 2, .grad = VT_GRAD_ENABLED },
		  VT_STAGE_EVALUATION,
		  2 },
		{ { .python = FORWARD, .forward = 2, .grad = VT_GRAD_DISABLED },
		  VT_STAGE_EVALUATION,
		  2 },
		{ { .python = USER, .forward = 2 }, VT_STAGE_EVALUATION, 2 },
		{ { .python = FORWARD, .forward = 3 }, VT_STAGE_FORWARD, 2 },
		{ { .node = "AddmmBackward0", .sequence = 3 }, VT_STAGE_BACKWARD, 2 },
		{ { .node = "ToCopyBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 2 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* model.eval() alone: the graphs are made, and nobody uses them. */
static void a_forward_that_no_backward_pass_uses_is_evaluation(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = USER, .forward = 1 }, VT_STAGE_OTHER, 0 },
		{ { .python = FORWARD, .forward = 2 }, VT_STAGE_EVALUATION, 0 },
		{ { .python = USER, .forward = 3 }, VT_STAGE_EVALUATION, 0 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* A critic learns from images that a trained generator makes without autograd. */
static void what_the_next_backward_pass_needs_serves_the_step(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = FORWARD, .forward = 1, .size = 4096 }, VT_STAGE_FORWARD, 2 },
		{ { .python = USER }, VT_STAGE_FORWARD, 2 },
		{ { .python = "train.py:9 Net.forward Net@2 < " USER, .forward = 2 },
		  VT_STAGE_FORWARD,
		  2 },
		{ { .node = "AddmmBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 2 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* The first iteration's scores of the old policy are freed by the next one's, these by nobody. */
static void what_the_last_backward_pass_needs_serves_the_step(void **state)
{
	static const char scores[] = "train.py:9 Net.forward Net@1 < train.py:41 main";
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = scores, .forward = 1, .size = 4096 }, VT_STAGE_FORWARD, 2 },
		{ { .python = USER }, VT_STAGE_FORWARD, 2 },
		{ { .python = FORWARD, .forward = 2 }, VT_STAGE_FORWARD, 2 },
		{ { .node = "AddmmBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP, .forward = 2 }, VT_STAGE_OPTIMIZER, 2 },
		{ { .python = scores, .forward = 2, .size = 4096 }, VT_STAGE_FORWARD, 3 },
		{ { .python = USER }, VT_STAGE_FORWARD, 3 },
		{ { .python = FORWARD, .forward = 3 }, VT_STAGE_FORWARD, 3 },
		{ { .node = "AddmmBackward0", .sequence = 3 }, VT_STAGE_BACKWARD, 3 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 3 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* An average of the weights is a copy inside another module, and is never trained. */
static void a_copy_in_a_wrapper_evaluates(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = USER, .forward = 1 }, VT_STAGE_OTHER, 0 },
		{ { .python = "linear.py:1 Linear.forward Linear@4 < train.py:9 Net.forward Net@3 "
			      "< avg.py:5 Average.forward Average@2 < " USER,
		    .forward = 1 },
		  VT_STAGE_EVALUATION,
		  0 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* A frozen encoder, which prepares a batch, is made of what every model is made of. */
static void a_frozen_model_of_the_same_layers_is_no_copy(void **state)
{
	static const char convolution[] = "conv.py:1 Conv2d.forward Conv2d@7 < "
					  "train.py:9 Net.forward Net@1 < train.py:41 main";
	static const char encoder[] = "conv.py:1 Conv2d.forward Conv2d@5 < "
				      "encoder.py:5 Encoder.forward Encoder@2 < train.py:40 main";
	static const struct moment moments[] = {
		{ { .python = encoder }, VT_STAGE_FORWARD, 1 },
		{ { .python = convolution, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "ConvolutionBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .forward = 1 }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = encoder, .forward = 1 }, VT_STAGE_FORWARD, 2 },
		{ { .python = convolution, .forward = 2 }, VT_STAGE_FORWARD, 2 },
		{ { .node = "ConvolutionBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = STEP, .forward = 2 }, VT_STAGE_OPTIMIZER, 2 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* The closure computes its loss outside of modules; the optimizer's own work is under no_grad. */
static void a_closure_is_no_part_of_its_optimizer(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD " < " STEP, .forward = 1, .grad = VT_GRAD_ENABLED },
		  VT_STAGE_FORWARD,
		  1 },
		{ { .python = "train.py:60 closure < " STEP,
		    .scope = "Optimizer.step#SGD.step",
		    .forward = 2,
		    .grad = VT_GRAD_ENABLED },
		  VT_STAGE_FORWARD,
		  1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .grad = VT_GRAD_DISABLED }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = "train.py:70 helper < " STEP, .grad = VT_GRAD_DISABLED },
		  VT_STAGE_OPTIMIZER,
		  1 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* Its step allocates here and there, inside the optimizer that it calls and outside of it. */
static void an_optimizer_that_calls_another_is_one(void **state)
{
#define WRAPPER TORCH "/optim/optimizer.py:484 wrapper"
#define OUTER	"sam.py:20 SAM.step SAM@3 < " WRAPPER " < train.py:44 main"
#define INNER	TORCH "/optim/sgd.py:90 SGD.step SGD@7 < " WRAPPER " < " OUTER
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = INNER }, VT_STAGE_OPTIMIZER, 1 },
		{ { .python = FORWARD, .forward = 2 }, VT_STAGE_FORWARD, 2 },
		{ { .node = "AddmmBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 2 },
		{ { .python = OUTER }, VT_STAGE_OPTIMIZER, 2 },
		{ { .python = FORWARD, .forward = 3 }, VT_STAGE_FORWARD, 3 },
		{ { .node = "AddmmBackward0", .sequence = 3 }, VT_STAGE_BACKWARD, 3 },
		{ { .python = INNER }, VT_STAGE_OPTIMIZER, 3 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
#undef WRAPPER
#undef OUTER
#undef INNER
}

/* An optimizer that was written without no_grad calls no model. */
static void a_step_with_autograd_enabled_is_an_optimizer(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1, .grad = VT_GRAD_ENABLED },
		  VT_STAGE_FORWARD,
		  1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP, .grad = VT_GRAD_ENABLED }, VT_STAGE_OPTIMIZER, 1 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* forward(model, batch) is no method, wherever its first argument comes from. */
static void a_function_with_a_model_as_argument_is_no_method(void **state)
{
	static const struct moment moments[] = {
		{ { .python = "train.py:3 forward Net@1 < " USER }, VT_STAGE_LOAD, 0 },
		{ { .python = "train.py:4 main.<locals>.forward Net@1 < " USER },
		  VT_STAGE_LOAD,
		  0 },
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

static void recomputation_and_closures_go_by_the_innermost_frame(void **state)
{
	static const struct moment moments[] = {
		{ { .python = FORWARD, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		/* a module's forward inside a node: checkpointing */
		{ { .python = FORWARD, .node = "CheckpointFunctionBackward", .sequence = 1 },
		  VT_STAGE_BACKWARD,
		  1 },
		/* a module's forward inside an optimizer step: LBFGS's closure */
		{ { .python = FORWARD " < " STEP, .forward = 2 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "AddmmBackward0", .sequence = 2 }, VT_STAGE_BACKWARD, 1 },
		{ { .python = STEP }, VT_STAGE_OPTIMIZER, 1 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

static void a_program_that_shows_nothing_is_other(void **state)
{
	static const struct moment moments[] = {
		{ { .native = "libapp.so!f" }, VT_STAGE_OTHER, 0 },
		{ { .python = USER }, VT_STAGE_OTHER, 0 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

static void functions_without_modules_show_their_forward_by_numbers(void **state)
{
	static const struct moment moments[] = {
		{ { .python = USER }, VT_STAGE_LOAD, 0 },
		{ { .python = USER, .forward = 1 }, VT_STAGE_FORWARD, 1 },
		{ { .node = "MmBackward0", .sequence = 1 }, VT_STAGE_BACKWARD, 1 },
	};

	(void)state;
	check(moments, VT_ARRAY_SIZE(moments));
}

/* A fused optimizer allocates nothing: the range alone ends the step. */
static void a_range_without_allocations_is_a_step(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	const struct vt_step *first;

	(void)state;
	for (int i = 0; i < 3; i++) {
		build_alloc(b, &(struct build_event){ .size = 512, .python = FORWARD });
		build_alloc(b, &(struct build_event){
				       .size = 512, .node = "MmBackward0", .sequence = 1 });
		build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_BEGIN,
			   VT_SOURCE_RECORD_FUNCTION);
		build_mark(b, "Optimizer.step#AdamW.step", VT_MARK_END, VT_SOURCE_RECORD_FUNCTION);
	}
	build_close(b);

	open_analysis(&analysis);

	assert_int_equal(analysis.stages.steps.nr, 3);
	assert_true(analysis.stages.steps.steps[2].is_complete);
	first = vt_stages_step(&analysis.stages, 1);
	assert_int_equal(analysis.stages.spans[first->last_span].last_event, 4);
	vt_analysis_close(&analysis);
}

/* Beyond both ends, too; a few spans among many events. */
static void each_event_is_in_the_span_that_a_search_finds(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	const struct vt_stages *stages = &analysis.stages;

	(void)state;
	for (int i = 0; i < 100; i++)
		build_alloc(b, &(struct build_event){
				       .size = 512, .python = i % 37 > 30 ? FORWARD : USER,
				       .node = i % 37 == 36 ? "MmBackward0" : NULL });
	build_close(b);

	open_analysis(&analysis);
	assert_true(stages->nr_spans > 3 && stages->nr_spans < 20);
	for (int64_t event = -1; event < 105; event++)
		assert_int_equal(vt_stages_span_at(stages, event),
				 vt_spans_find(stages->spans, stages->nr_spans, event));
	vt_analysis_close(&analysis);
}

/* A damaged file names any stack. */
static void a_stack_that_is_not_there_shows_nothing(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;

	(void)state;
	build_alloc(b, &(struct build_event){ .python = FORWARD, .size = 512 });
	build_close(b);
	open_analysis(&analysis);
	assert_int_equal(vt_stage_evidence_landmarks(&analysis.stages.evidence, 4000000000)->module,
			 0);
	assert_int_not_equal(vt_stage_evidence_landmarks(
				     &analysis.stages.evidence,
				     analysis.model.allocations[0].common->made->python_stack)
				     ->module,
			     0);
	vt_analysis_close(&analysis);
}

static void what_follows_an_out_of_memory_is_other(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	int64_t kept, oom;
	const struct vt_span *span;

	(void)state;
	kept = build_alloc(b, &(struct build_event){ .size = 512, .python = FORWARD });
	oom = build_oom(b, &(struct build_event){ .size = 1 << 30, .python = FORWARD });
	build_free(b, kept, &(struct build_event){ .python = USER });
	build_close(b);

	open_analysis(&analysis);

	span = &analysis.stages.spans[vt_stages_span_at(&analysis.stages, oom)];
	assert_int_equal(span->stage, VT_STAGE_FORWARD);
	assert_int_equal(span->step, 1);
	assert_int_equal(span->last_event, oom);
	assert_int_equal(analysis.stages.spans[analysis.stages.nr_spans - 1].stage, VT_STAGE_OTHER);
	vt_analysis_close(&analysis);
}

/* The highest use inside a span, not only at its ends; what is live at its end. */
static void spans_know_their_peak(void **state)
{
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	int64_t big;

	(void)state;
	build_alloc(b,
		    &(struct build_event){ .size = 1000, .kind = VT_KIND_SEGMENT, .python = USER });
	big = build_alloc(b, &(struct build_event){
				     .size = 5000, .kind = VT_KIND_SEGMENT, .python = FORWARD });
	build_free(b, big, &(struct build_event){ .python = FORWARD });
	build_alloc(b, &(struct build_event){ .size = 100,
					      .kind = VT_KIND_SEGMENT,
					      .node = "MmBackward0",
					      .sequence = 1 });
	build_close(b);

	open_analysis(&analysis);

	assert_int_equal(analysis.stages.nr_spans, 3);
	assert_int_equal(vt_stages_totals(&analysis.stages, 0, 0)->peak_used_bytes, 1000);
	assert_int_equal(vt_stages_totals(&analysis.stages, 1, 0)->peak_used_bytes, 6000);
	assert_int_equal(vt_stages_totals(&analysis.stages, 1, 0)->end_allocated_bytes, 1000);
	assert_int_equal(vt_stages_totals(&analysis.stages, 1, 0)->peak_event, big);
	assert_int_equal(vt_stages_totals(&analysis.stages, 2, 0)->peak_used_bytes, 1100);
	vt_analysis_close(&analysis);
}

/* The report's line on steps, each of which keeps `kept` bytes or, below 0, frees them. */
static char *steps_line(const int *kept, size_t nr)
{
	static const struct vt_report_options options = {
		.when = "peak", .device = VT_WHEN_ALL_DEVICES, .top = 1
	};
	struct builder_db *b = build_open("run.db");
	struct vt_analysis analysis;
	struct vt_report report;
	struct vt_diag diag = { 0 };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	build_device(b, 0, 1 << 30, 0);
	build_alloc(b, &(struct build_event){
			       .size = 1 << 20, .kind = VT_KIND_SEGMENT, .python = USER });
	for (size_t i = 0; i < nr; i++) {
		struct build_event forward = { .size = 512, .python = FORWARD, .forward = i + 1 };
		struct build_event step = { .size = (uint64_t)abs(kept[i]), .python = STEP };
		int64_t made = build_alloc(b, &forward), state;

		build_alloc(b, &(struct build_event){ .size = 512,
						      .node = "MmBackward0",
						      .sequence = i + 1 });
		build_free(b, made, &(struct build_event){ .python = USER });
		build_free(b, made + 1, &(struct build_event){ .python = USER });
		state = build_alloc(b, &step);
		if (kept[i] < 0)
			build_free(b, state, &step);
	}
	build_close(b);
	open_analysis(&analysis);
	vt_report_begin(&report, &analysis, &options);
	if (vt_report_finish(&report, &diag))
		fail_msg("%s", diag.text);
	vt_report_stages_text_steps(&report, 0, vt_report_sections_unit(1 << 20), out);
	vt_report_release(&report);
	vt_analysis_close(&analysis);
	assert_int_equal(remove("run.db"), 0);
	fclose(out);
	return text;
}

static void growth_is_what_most_steps_leave_behind(void **state)
{
	static const int leak[] = { 4096, 1024, 1024, 1024, 1024, 1024 };
	static const int once[] = { 4096, 1024, -512, -512, 8192, -512, -512, -512 };
	static const int back[] = { 4096, 1024, -512, 1024 };
	static const int single[] = { 4096, 1024, 1024 };
	char *text;

	(void)state;
	text = steps_line(leak, VT_ARRAY_SIZE(leak));
	assert_non_null(strstr(text, "growth +1.00 KiB/step"));
	free(text);
	text = steps_line(once, VT_ARRAY_SIZE(once));
	assert_non_null(strstr(text, "growth 0 B/step"));
	free(text);
	text = steps_line(back, VT_ARRAY_SIZE(back));
	assert_non_null(strstr(text, "growth 0 B/step"));
	free(text);
	/* one difference between two steps is not a trend */
	text = steps_line(single, VT_ARRAY_SIZE(single));
	assert_null(strstr(text, "growth"));
	free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, unit_enter, unit_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(training_has_its_stages_and_steps),
		TEST(inference_has_no_steps),
		TEST(forward_without_autograd_between_steps_is_evaluation),
		TEST(an_evaluation_right_before_a_forward_is_told_from_it),
		TEST(a_teacher_serves_the_step_it_is_called_in),
		TEST(casts_of_autocast_do_not_make_an_evaluation_train),
		TEST(a_forward_that_no_backward_pass_uses_is_evaluation),
		TEST(what_the_next_backward_pass_needs_serves_the_step),
		TEST(what_the_last_backward_pass_needs_serves_the_step),
		TEST(a_copy_in_a_wrapper_evaluates),
		TEST(a_frozen_model_of_the_same_layers_is_no_copy),
		TEST(a_closure_is_no_part_of_its_optimizer),
		TEST(an_optimizer_that_calls_another_is_one),
		TEST(a_step_with_autograd_enabled_is_an_optimizer),
		TEST(a_function_with_a_model_as_argument_is_no_method),
		TEST(recomputation_and_closures_go_by_the_innermost_frame),
		TEST(a_program_that_shows_nothing_is_other),
		TEST(functions_without_modules_show_their_forward_by_numbers),
		TEST(a_range_without_allocations_is_a_step),
		TEST(each_event_is_in_the_span_that_a_search_finds),
		TEST(a_stack_that_is_not_there_shows_nothing),
		TEST(what_follows_an_out_of_memory_is_other),
		TEST(spans_know_their_peak),
		TEST(growth_is_what_most_steps_leave_behind),
	};

	return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
