/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/measured.h"

#include <string.h>

#include "analyzer/analysis/books.h"
#include "analyzer/attribution/moments.h"
#include "analyzer/base/search.h"
#include "analyzer/replay/trace.h"

/* Which spans make a stage, and what a plan calls what happens there. */
struct rule {
	const char *name;
	enum vt_stage stage;
	int pass; /* enum vt_pass_kind of generation, -1: any */
	unsigned planned;
};

#define IN_PREFILL (VT_IN(FIRST_LAYER) | VT_IN(FORWARD) | VT_IN(LOGITS))

static const struct rule training[] = {
	{ "load", VT_STAGE_LOAD, -1, VT_IN(LOAD) },
	{ "forward", VT_STAGE_FORWARD, -1, VT_IN(FIRST_LAYER) | VT_IN(FORWARD) | VT_IN(LOSS) },
	{ "backward", VT_STAGE_BACKWARD, -1, VT_IN_BACKWARD },
	{ "optimizer", VT_STAGE_OPTIMIZER, -1, VT_IN(STEP) },
};
static const struct rule inference[] = {
	{ "load", VT_STAGE_LOAD, -1, VT_IN(LOAD) },
	{ "forward", VT_STAGE_FORWARD, -1, IN_PREFILL },
	{ "evaluation", VT_STAGE_EVALUATION, -1, IN_PREFILL },
	{ "prefill", VT_STAGE_GENERATION, VT_PASS_PREFILL, IN_PREFILL },
	{ "decode", VT_STAGE_GENERATION, VT_PASS_DECODE, VT_IN(DECODE) },
};
_Static_assert(VT_ARRAY_SIZE(inference) <= VT_MEASURED_MAX_STAGES &&
		       VT_ARRAY_SIZE(training) <= VT_MEASURED_MAX_STAGES,
	       "more stages than places");

struct looking {
	const struct vt_measured *measured;
	const struct rule *rule;
};

const char *vt_measured_owner(const char *owner, int is_training)
{
	/* A cache that is on in training keeps what attention needs for backward. */
	if (!strcmp(owner, "kv cache"))
		return is_training ? "activations/attention" : "kv cache";
	/* Gradients that have not reached their parameter yet, and sums of them. */
	if (!strcmp(owner, "activation gradients"))
		return "gradients";
	if (!strcmp(owner, "activations/residual"))
		return "activations/norm";
	if (!strcmp(owner, "activations/mask"))
		return "activations/attention";
	return owner;
}

/* The kind of the pass that an event lies in, -1 outside of all. */
static int pass_at(const struct vt_stages *stages, int64_t event)
{
	const struct vt_pass *passes = stages->passes.passes;
	uint32_t behind = vt_search_first(i, stages->passes.nr, passes[i].first_event <= event);

	if (!behind || event >= passes[behind - 1].end_event || !passes[behind - 1].generation)
		return -1;
	return passes[behind - 1].kind;
}

static int is_looked_at(const struct vt_span *span, int64_t event, const void *context)
{
	const struct looking *looking = context;
	const struct vt_measured *measured = looking->measured;
	const struct rule *rule = looking->rule;

	if (span->stage != rule->stage)
		return 0;
	if (measured->first_step && rule->stage != VT_STAGE_LOAD &&
	    (span->step < measured->first_step ||
	     span->step > measured->first_step + measured->nr_steps))
		return 0;
	return rule->pass < 0 || pass_at(&measured->analysis->stages, event) == rule->pass;
}

static void add_owners(const struct vt_measured *measured, struct vt_measured_stage *stage)
{
	struct vt_books books;

	vt_books_init(&books, &measured->analysis->attribution, measured->device->id,
		      stage->event);
	for (uint32_t i = 0; i < books.nr_lines; i++)
		vt_owners_add(&stage->owners, books.lines[i].owner, (double)books.lines[i].bytes);
	vt_owners_sort(&stage->owners);
	vt_books_release(&books);
}

/* A plan of loading is of what it leaves: what it takes in between is each program's own way. */
static void go_to_end(const struct vt_measured *measured, struct vt_highest *highest)
{
	const struct vt_stages *stages = &measured->analysis->stages;
	uint32_t device = (uint32_t)(measured->device - measured->analysis->model.devices);

	for (uint32_t i = 0; i < stages->nr_spans && stages->spans[i].stage == VT_STAGE_LOAD; i++) {
		highest->event = stages->spans[i].last_event;
		highest->allocated_bytes =
			vt_stages_totals(stages, i, device)->end_allocated_bytes;
	}
}

static void add_stage(struct vt_measured *measured, const struct rule *rule)
{
	const struct looking looking = { measured, rule };
	struct vt_highest highest = { 0 };
	struct vt_measured_stage *stage = &measured->stages[measured->nr_stages];

	if (vt_moments_find_highest(&measured->analysis->stages, measured->device->id,
				    is_looked_at, &looking, &highest))
		return;
	if (rule->stage == VT_STAGE_LOAD)
		go_to_end(measured, &highest);
	stage->name = rule->name;
	stage->planned = rule->planned;
	stage->event = highest.event;
	stage->step = highest.span->step;
	stage->allocated_bytes = highest.allocated_bytes;
	add_owners(measured, stage);
	measured->nr_stages++;
}

const struct vt_device *vt_measured_device(const struct vt_model *model)
{
	const struct vt_peak *highest = NULL;

	for (uint32_t i = 0; i < model->nr_peaks; i++)
		if ((!highest ||
		     model->peaks[i].max_allocated_bytes > highest->max_allocated_bytes) &&
		    vt_trace_has_blocks(model, model->peaks[i].device))
			highest = &model->peaks[i];
	return highest ? vt_model_device(model, highest->device) : NULL;
}

/* Of most bytes among what optimizers may change or a model holds. */
static const char *find_dtype(const struct vt_model *model)
{
	const char *best = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const char *dtype = vt_model_text(model, model->tensors[i].dtype);
		uint64_t sum = 0;

		if (model->tensors[i].role != VT_ROLE_PARAMETER || !dtype ||
		    (best && !strcmp(dtype, best)))
			continue;
		for (uint32_t j = i; j < model->nr_tensors; j++)
			if (model->tensors[j].role == VT_ROLE_PARAMETER &&
			    model->tensors[j].dtype == model->tensors[i].dtype)
				sum += model->tensors[j].size_bytes;
		if (sum > most) {
			most = sum;
			best = dtype;
		}
	}
	return best;
}

/* The first one makes the optimizer's states, which a plan has from the beginning. */
static void count_steps(struct vt_measured *measured)
{
	const struct vt_steps *steps = &measured->analysis->stages.steps;

	for (uint32_t i = 0; i < steps->nr; i++)
		measured->nr_steps += steps->steps[i].is_complete;
	if (measured->nr_steps)
		measured->first_step = measured->nr_steps > 1 ? 2 : 1;
}

static int refuse(const struct vt_measured *measured, const char *why, struct vt_diag *diag)
{
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", vt_db_path(measured->analysis->db), why);
	return -1;
}

int vt_measured_init(struct vt_measured *measured, struct vt_analysis *analysis, int is_training,
		     struct vt_diag *diag)
{
	const struct rule *rules = is_training ? training : inference;
	size_t nr = is_training ? VT_ARRAY_SIZE(training) : VT_ARRAY_SIZE(inference);

	memset(measured, 0, sizeof(*measured));
	measured->analysis = analysis;
	measured->ended = vt_db_run_get(analysis->db, "ended");
	measured->nr_lost = (uint64_t)vt_db_run_get_int(analysis->db, "lost_events", 0);
	measured->device = vt_measured_device(&analysis->model);
	if (!measured->device)
		return refuse(measured,
			      "no blocks of a framework in it, only driver allocations: owners "
			      "cannot be compared",
			      diag);
	count_steps(measured);
	if (is_training && !measured->nr_steps)
		return refuse(measured, "it has no complete training step to compare with --train",
			      diag);
	if (!is_training && measured->nr_steps)
		return refuse(measured, "it is a training run: use --train", diag);
	measured->weights_dtype = find_dtype(&analysis->model);
	measured->size = vt_scaling_size_of(analysis->attribution.facts);
	for (size_t i = 0; i < nr; i++)
		add_stage(measured, &rules[i]);
	return 0;
}

void vt_measured_release(struct vt_measured *measured)
{
	for (unsigned i = 0; i < measured->nr_stages; i++)
		vt_vector_release(&measured->stages[i].owners);
	free(measured->ended);
	memset(measured, 0, sizeof(*measured));
}
