/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"
#include "analyzer/model/samples.h"
#include "analyzer/model/when.h"

/* A tensor or two of PyTorch's: segments of 2 and 20 MiB.  More is what a context is for. */
#define MOST_USED (64 * VT_MIB)
/* What the process has on the device that it works on, in multiples of the other. */
#define LEAST_TIMES 4

static uint64_t used_on(const struct vt_model *model, int device)
{
	const struct vt_peak *peak = vt_model_peak(model, device);

	return peak ? peak->used_bytes : 0;
}

/* The last that is known: it grows as kernels are loaded. */
static uint64_t context_on(const struct vt_model *model, int device)
{
	return vt_samples_at(model, device, INT64_MAX).context_bytes;
}

static const struct vt_context_event *find_made(const struct vt_model *model, int device)
{
	for (uint32_t i = 0; i < model->nr_context_events; i++) {
		const struct vt_context_event *event = &model->context_events[i];

		if (event->op == VT_OP_CREATE && event->kind == VT_KIND_CONTEXT &&
		    event->device == device)
			return event;
	}
	return NULL;
}

static const struct vt_allocation *find_first(const struct vt_model *model, int device)
{
	for (uint32_t i = 0; i < model->nr_allocations; i++)
		if (model->allocations[i].common->device == device &&
		    vt_allocation_is_driver(&model->allocations[i]))
			return &model->allocations[i];
	return NULL;
}

/* Returns 0 where the process has no context there that is known. */
static int read_context(const struct vt_model *model, int device, struct vt_idle_context *context)
{
	const struct vt_context_event *made = find_made(model, device);
	const struct vt_allocation *first = find_first(model, device);
	const struct vt_peak *peak = vt_model_peak(model, device);

	if (!made && !first)
		return 0;
	*context = (struct vt_idle_context){
		.device = (int16_t)device,
		.works_on = -1,
		.context_bytes = context_on(model, device),
		.used_bytes = used_on(model, device),
		.allocated_bytes = peak ? vt_model_most_allocated(peak) : 0,
		.python_stack = made ? made->python_stack : first->common->made->python_stack,
		.native_stack = made ? made->native_stack : first->common->made->native_stack,
	};
	return 1;
}

static int is_hardly_used(const struct vt_idle_context *context)
{
	return context->used_bytes <= MOST_USED &&
	       (!context->context_bytes || context->used_bytes < context->context_bytes);
}

static int working_device(const struct vt_model *model)
{
	int device = -1;

	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (used_on(model, model->devices[i].id) >
		    (device < 0 ? 0 : used_on(model, device)))
			device = model->devices[i].id;
	return device;
}

/* Of equal cards contexts are equal, too. */
static void take_from_other(const struct vt_model *model, struct vt_idle_context *context)
{
	const struct vt_device *device = vt_model_device(model, context->device);
	const struct vt_device *other = vt_model_device(model, context->works_on);

	if (context->context_bytes || !device || !other || strcmp(device->name, other->name) != 0)
		return;
	context->context_bytes = context_on(model, other->id);
	context->is_like_other = context->context_bytes != 0;
}

void vt_find_contexts_elsewhere(const struct vt_model *model, struct vt_idle_contexts *contexts)
{
	int works_on = working_device(model);

	for (uint32_t i = 0; works_on >= 0 && i < model->nr_devices; i++) {
		struct vt_idle_context context;

		if (model->devices[i].id == works_on ||
		    !read_context(model, model->devices[i].id, &context))
			continue;
		context.works_on = (int16_t)works_on;
		take_from_other(model, &context);
		if (is_hardly_used(&context) &&
		    used_on(model, works_on) >= LEAST_TIMES * context.used_bytes)
			vt_vector_push(contexts, context);
	}
}

/* "rank 1", else "process 4711". */
static char *name_process(const struct vt_model *model)
{
	int64_t rank = vt_db_run_get_int(model->db, "rank", -1);

	return rank >= 0 ? vt_xasprintf("rank %lld", (long long)rank)
			 : vt_xasprintf("process %lld",
					(long long)vt_db_run_get_int(model->db, "pid", 0));
}

/* "522.00 MiB", of the other device's context "about 522.00 MiB (as on cuda:1)". */
static char *say_size(const struct vt_idle_context *context)
{
	char bytes[VT_UNITS_MAX];

	if (!context->context_bytes)
		return vt_xstrdup("unknown size");
	vt_units_bytes(bytes, sizeof(bytes), context->context_bytes);
	return context->is_like_other
		       ? vt_xasprintf("about %s (as on cuda:%d)", bytes, context->works_on)
		       : vt_xstrdup(bytes);
}

static char *say_all(const struct vt_model *model, const struct vt_idle_context *context)
{
	char *process = name_process(model), *size = say_size(context), *text;
	char used[VT_UNITS_MAX], other[64] = "";

	vt_units_bytes(used, sizeof(used), context->used_bytes);
	if (context->works_on >= 0)
		snprintf(other, sizeof(other), "; it works on cuda:%d", context->works_on);
	text = vt_xasprintf("%s on cuda:%d of %s, for %s%s%s", size, context->device, process,
			    context->used_bytes ? used : "nothing",
			    context->used_bytes ? " of memory" : "", other);
	free(process);
	free(size);
	return text;
}

static struct vt_producer producer_of(const struct vt_idle_context *context)
{
	return (struct vt_producer){ .python_stack = context->python_stack,
				     .native_stack = context->native_stack };
}

char *vt_find_contexts_line(const struct vt_describe *describe,
			    const struct vt_idle_context *context)
{
	const struct vt_producer at = producer_of(context);

	return vt_producer_first_line(describe, &at);
}

static void add(struct vt_findings *findings, enum vt_finding_id id, const struct vt_model *model,
		const struct vt_describe *describe, const struct vt_idle_context *context)
{
	const struct vt_producer at = producer_of(context);
	const struct vt_finding finding = {
		.id = id,
		.device = context->device,
		.owner = "context",
		.saves_bytes = context->context_bytes + context->used_bytes,
		.lowers_allocated_bytes = context->allocated_bytes,
		.lowers_used_bytes = context->context_bytes + context->used_bytes,
		.is_used_known = context->context_bytes != 0,
		.text = say_all(model, context),
		.where = vt_producer_first_line(describe, &at),
		.caller = vt_producer_caller(describe, &at),
	};

	vt_vector_push(findings, finding);
}

/* multiprocessing's processes run in it, torch.multiprocessing's and a DataLoader's, too. */
static int is_child(const struct vt_model *model, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(&model->frames, stack, ids);

	for (unsigned i = 0; i < nr; i++)
		if (strstr(vt_frames_code(&model->frames, ids[i])->file,
			   "/multiprocessing/process.py"))
			return 1;
	return 0;
}

/* It runs a model, or trains: it is no helper of another process. */
static int does_work(const struct vt_facts *facts)
{
	for (uint32_t i = 0; i < facts->stages->nr_spans; i++)
		if (facts->stages->spans[i].stage == VT_STAGE_BACKWARD)
			return 1;
	return facts->stages->passes.nr || facts->model->nr_ooms;
}

static void detect_worker(struct vt_findings *findings, const struct vt_facts *facts,
			  const struct vt_describe *describe, int device)
{
	const struct vt_model *model = facts->model;

	for (uint32_t i = 0; i < model->nr_devices; i++) {
		struct vt_idle_context context;

		if ((device == VT_WHEN_ALL_DEVICES || device == model->devices[i].id) &&
		    read_context(model, model->devices[i].id, &context) &&
		    is_hardly_used(&context) && is_child(model, context.python_stack))
			add(findings, VT_FINDING_CONTEXT_OF_WORKER, model, describe, &context);
	}
}

void vt_find_contexts_detect(struct vt_findings *findings, const struct vt_facts *facts,
			     const struct vt_describe *describe, int device)
{
	const struct vt_model *model = facts->model;
	struct vt_idle_contexts elsewhere = { 0 };

	vt_find_contexts_elsewhere(model, &elsewhere);
	for (size_t i = 0; i < elsewhere.len; i++)
		if (device == VT_WHEN_ALL_DEVICES || device == elsewhere.items[i].device)
			add(findings, VT_FINDING_CONTEXT_ELSEWHERE, model, describe,
			    &elsewhere.items[i]);
	if (!elsewhere.len && !does_work(facts) &&
	    used_on(model, working_device(model)) <= MOST_USED)
		detect_worker(findings, facts, describe, device);
	vt_vector_release(&elsewhere);
}
