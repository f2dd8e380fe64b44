/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/finding_context.h"

#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/parallel.h"
#include "analyzer/diagnosis/savings_replay.h"
#include "analyzer/model/producer.h"

/* A hundredth of the highest use is worth a line, less is not. */
#define LEAST_SHARE 0.01

struct vt_key vt_finding_context_name_key(const struct vt_finding_context *context,
					  const struct vt_tensor *tensor)
{
	const char *name = vt_model_text(context->model, tensor->name);

	return vt_map_text_key(name ? name : "", name ? strlen(name) : 0);
}

struct vt_key vt_finding_context_place_key(const struct vt_allocation *a)
{
	return (struct vt_key){ a->common->made->python_stack, a->common->made->native_stack, 0 };
}

unsigned vt_finding_context_width(const struct vt_finding_context *context,
				  const struct vt_tensor *tensor)
{
	const char *dtype = vt_model_text(context->model, tensor->dtype);

	if (!dtype)
		return 0;
	if (strcmp(dtype, "float32") == 0)
		return 4;
	return strcmp(dtype, "bfloat16") == 0 || strcmp(dtype, "float16") == 0 ? 2 : 0;
}

void vt_finding_release(struct vt_finding *finding)
{
	free(finding->text);
	free(finding->where);
	free(finding->caller);
	vt_vector_release(&finding->savings);
}

int vt_finding_context_is_little(const struct vt_finding_context *context, uint64_t bytes)
{
	return (double)bytes < LEAST_SHARE * (double)context->peak_bytes;
}

static void push(struct vt_finding_context *context, struct vt_finding finding,
		 uint64_t likely_bytes)
{
	finding.device = context->device;
	finding.flag = context->engine ? vt_engine_flag(context->engine, finding.id) : NULL;
	if (finding.flag) {
		finding.is_for_cache = 1;
		finding.lowers_allocated_bytes = 0;
		vt_vector_release(&finding.savings);
	}
	if (vt_finding_context_is_little(context, likely_bytes))
		vt_finding_release(&finding);
	else
		vt_vector_push(context->findings, finding);
}

static void set_where(const struct vt_finding_context *context, uint32_t allocation,
		      struct vt_finding *finding)
{
	const struct vt_caller *made = context->model->allocations[allocation].common->made;
	struct vt_producer at = { .python_stack = made->forward_python_stack
							  ? made->forward_python_stack
							  : made->python_stack };
	struct vt_lines lines = vt_describe_python(context->describe, at.python_stack);

	finding->where = lines.nr ? vt_xstrdup(lines.text[0]) : NULL;
	finding->caller = vt_producer_caller(context->describe, &at);
	vt_lines_free(&lines);
}

static void add(struct vt_finding_context *context, struct vt_finding finding,
		struct vt_savings *savings, uint64_t likely_bytes, uint32_t allocation)
{
	struct vt_verdict verdict;
	uint64_t peak;

	/* Only of a file whose figures contradict each other. */
	if (allocation == VT_NO_INDEX) {
		vt_vector_release(savings);
		free(finding.text);
		return;
	}
	verdict = vt_attribution_judge(context->attribution, allocation);
	peak = vt_savings_peak(savings, &context->allocated);
	finding.saves_bytes = context->peak_bytes > peak ? context->peak_bytes - peak : 0;
	finding.lowers_allocated_bytes = finding.saves_bytes;
	finding.owner = vt_attribution_owner(context->attribution, verdict.owner);
	set_where(context, allocation, &finding);
	finding.savings = *savings;
	memset(savings, 0, sizeof(*savings));
	push(context, finding,
	     likely_bytes > finding.saves_bytes ? likely_bytes : finding.saves_bytes);
}

void vt_finding_context_add(struct vt_finding_context *context, enum vt_finding_id id,
			    struct vt_savings *savings, uint32_t allocation, char *text)
{
	add(context, (struct vt_finding){ .id = id, .text = text }, savings, 0, allocation);
}

void vt_finding_context_add_least(struct vt_finding_context *context, enum vt_finding_id id,
				  struct vt_savings *savings, uint64_t likely_bytes,
				  uint32_t allocation, char *text)
{
	add(context, (struct vt_finding){ .id = id, .text = text, .is_least = 1 }, savings,
	    likely_bytes, allocation);
}

void vt_finding_context_add_for_cache(struct vt_finding_context *context, enum vt_finding_id id,
				      uint64_t bytes, uint32_t allocation, char *text)
{
	uint32_t owner = vt_attribution_judge(context->attribution, allocation).owner;
	struct vt_finding finding = {
		.id = id,
		.saves_bytes = bytes,
		.owner = vt_attribution_owner(context->attribution, owner),
		.text = text,
	};

	set_where(context, allocation, &finding);
	push(context, finding, bytes);
}

static uint64_t lowered(uint64_t before, uint64_t after)
{
	return before > after ? before - after : 0;
}

void vt_finding_context_add_replayed(struct vt_finding_context *context, enum vt_finding_id id,
			   const struct vt_replay *recorded, const struct vt_replay *changed,
			   char *text)
{
	struct vt_finding finding = {
		.id = id,
		.text = text,
		.is_replayed = 1,
		.is_used_known = 1,
		.lowers_allocated_bytes = lowered(recorded->peak_allocated_bytes,
						  changed->peak_allocated_bytes),
		.lowers_used_bytes = lowered(recorded->peak_used_bytes, changed->peak_used_bytes),
	};

	finding.saves_bytes = finding.lowers_used_bytes;
	push(context, finding, finding.saves_bytes);
}

struct settling {
	const struct vt_trace_ready *ready;
	struct vt_finding *findings;
	const struct vt_replay *recorded;
	uint8_t *is_dropped; /* by finding: it lowers nothing */
};

static void settle_one(void *context, size_t number)
{
	const struct settling *settling = context;
	const struct vt_replay *recorded = settling->recorded;
	struct vt_finding *finding = &settling->findings[number];
	uint64_t before = recorded->peak_used_bytes;
	struct vt_replay replay;

	if (finding->is_replayed || finding->is_for_cache ||
	    vt_savings_replay(settling->ready, &finding->savings, &replay))
		return;
	/* The program would ask in another order: what pieces of segments are left is a guess. */
	finding->is_used_known = replay.peak_used_bytes <= before;
	finding->lowers_used_bytes = lowered(before, replay.peak_used_bytes);
	finding->lowers_allocated_bytes =
		lowered(recorded->peak_allocated_bytes, replay.peak_allocated_bytes);
	finding->saves_bytes = finding->lowers_allocated_bytes;
	settling->is_dropped[number] =
		!finding->is_least &&
		(double)finding->saves_bytes <
			LEAST_SHARE * (double)recorded->peak_allocated_bytes;
}

void vt_finding_context_settle(struct vt_finding_context *context)
{
	struct vt_findings *findings = context->findings;
	struct vt_trace_ready *ready = NULL;
	size_t first = findings->len, nr = 0, kept;
	struct settling settling;

	while (first && findings->items[first - 1].device == context->device)
		first--;
	nr = findings->len - first;
	if (nr && vt_trace_has_blocks(context->model, context->device))
		ready = vt_traces_get(context->traces, context->device, NULL);
	if (!ready || !vt_replay_is_exact(vt_traces_recorded(ready)))
		return;
	settling.ready = ready;
	settling.findings = &findings->items[first];
	settling.recorded = vt_traces_recorded(ready);
	settling.is_dropped = vt_xcalloc(nr, 1);
	vt_parallel_run(nr, settle_one, &settling);
	kept = first;
	for (size_t i = 0; i < nr; i++) {
		struct vt_finding finding = findings->items[first + i];

		if (settling.is_dropped[i])
			vt_finding_release(&finding);
		else
			findings->items[kept++] = finding;
	}
	findings->len = kept;
	free(settling.is_dropped);
}

/* By verdict + 1; to be freed. */
static uint32_t *find_owners(const struct vt_attribution *attribution)
{
#define PATH(name, path) path,
	static const char *const paths[] = { VT_FINDING_OWNERS(PATH) };
#undef PATH
	const struct vt_verdicts *verdicts = &attribution->verdicts;
	size_t nr = verdicts->items.len;
	uint32_t *owners = vt_xcalloc(nr + 1, sizeof(*owners));

	for (size_t v = 0; v < nr; v++) {
		const char *owner = verdicts->paths.items[verdicts->items.items[v].owner];

		for (unsigned k = 0; k < VT_NR_FINDING_OWNERS; k++)
			if (vt_owner_path_is_below(owner, paths[k], strlen(paths[k])))
				owners[v + 1] |= 1u << k;
	}
	return owners;
}

void vt_finding_context_init(struct vt_finding_context *context, int64_t event)
{
	const struct vt_stages *stages = context->attribution->facts->stages;
	uint32_t span = vt_stages_span_at(stages, event);
	VT_VECTOR(uint32_t) live = { 0 };
	char *ended;

	vt_attribution_complete(context->attribution);
	context->owners = find_owners(context->attribution);
	context->facts = context->attribution->facts;
	context->model = context->facts->model;
	context->timeline = stages->timeline;
	context->engine = vt_engine_of(context->model);
	context->event = event;
	context->unused_graph = vt_xcalloc((size_t)context->model->nr_allocations + 1, 1);
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];

		if (a->common->device == context->device &&
		    vt_allocation_is_live(a, context->event) && vt_allocation_is_owned(a))
			vt_vector_push(&live, i);
	}
	context->live = live.items;
	context->nr_live = (uint32_t)live.len;
	if (span != VT_NO_INDEX) {
		context->stage = stages->spans[span].stage;
		context->step = stages->spans[span].step;
	}
	for (uint32_t i = 0; i < stages->nr_spans; i++)
		context->is_training |= stages->spans[i].stage == VT_STAGE_BACKWARD;
	/* A loss, and no memory for its backward pass. */
	context->is_training |= context->model->nr_ooms && context->facts->lm_heads.nr;
	ended = vt_db_run_get(context->model->db, "ended");
	context->is_ended_well = ended && !strcmp(ended, "exit 0");
	context->has_failed = (uint8_t)vt_ended_has_failed(ended);
	free(ended);
	vt_allocated_init(&context->allocated, context->timeline, context->device);
	context->peak_bytes = vt_savings_peak(NULL, &context->allocated);
}

void vt_finding_context_release(struct vt_finding_context *context)
{
	vt_allocated_release(&context->allocated);
	free(context->owners);
	free(context->live);
	free(context->unused_graph);
}
