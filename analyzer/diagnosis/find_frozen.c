/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/find_frozen.h"

#include "analyzer/attribution/calls/operator_classes.h"
#include "analyzer/base/map.h"
#include "analyzer/base/units.h"

/* Looks since `from`, and at gradients, are one; of the others each is its own. */
static uint64_t look_of(const struct vt_tensor *tensor, int64_t from)
{
	return tensor->role == VT_ROLE_GRADIENT || tensor->event >= from ? UINT64_MAX
									 : tensor->probe;
}

static struct vt_key name_key(const struct vt_tensor *tensor)
{
	return (struct vt_key){ tensor->name, 0, 0 };
}

static struct vt_key address_key(const struct vt_tensor *tensor)
{
	return (struct vt_key){ tensor->address, 1, 0 };
}

static void note_look(struct vt_map *looks, struct vt_map *trained, struct vt_key key,
		      uint64_t look, int is_trained)
{
	const uint64_t *last = vt_map_find(looks, key);

	if (last && *last < look)
		vt_map_remove(trained, key);
	if (!last || *last < look)
		vt_map_put(looks, key, look);
	if (is_trained)
		vt_map_put(trained, key, 1);
}

/*
 * The names and the addresses of what is trained.  One look does not say it: a local shard of a
 * trained parameter needs no gradient itself, and a program freezes a model after it has loaded it.
 * So any look since the first backward pass tells, and of those before it the last one.
 */
static void collect_trained(const struct vt_finding_context *context, struct vt_map *trained)
{
	const struct vt_model *model = context->model;
	int64_t from = vt_stages_next_backward(context->facts->stages, 0);
	struct vt_map looks = { 0 };

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];
		uint64_t look = look_of(tensor, from);

		if (tensor->role == VT_ROLE_GRADIENT)
			note_look(&looks, trained, name_key(tensor), look, 1);
		if (tensor->role != VT_ROLE_PARAMETER)
			continue;
		note_look(&looks, trained, name_key(tensor), look,
			  tensor->flags & VT_TENSOR_REQUIRES_GRAD);
		note_look(&looks, trained, address_key(tensor), look,
			  tensor->flags & VT_TENSOR_REQUIRES_GRAD);
	}
	vt_map_release(&looks);
}

/* Which frozen weights are worth a finding. */
struct frozen {
	const struct vt_finding_context *context;
	struct vt_map trained;
	struct vt_map cast;  /* by address: parameters that a training step computes with, cast */
	uint8_t *is_written; /* by allocation: since the first backward pass */
	int has_writes;
};

static void collect_writes(struct frozen *frozen)
{
	const struct vt_model *model = frozen->context->model;
	int64_t from = vt_stages_next_backward(frozen->context->facts->stages, 0);

	frozen->is_written = vt_xcalloc((size_t)model->nr_allocations + 1, 1);
	for (uint32_t c = 0; c < model->calls.nr; c++) {
		const struct vt_operator_call *call = &model->calls.items[c];
		const char *name = vt_model_text(model, call->name);

		if (call->event < from || !name || !vt_operator_is_in_place(name))
			continue;
		for (uint32_t t = 0; t < call->nr_tensors; t++) {
			const struct vt_call_tensor *tensor =
				&model->calls.tensors[call->first_tensor + t];

			if (tensor->is_output || tensor->position ||
			    tensor->allocation == VT_NO_INDEX)
				continue;
			frozen->is_written[tensor->allocation] = 1;
			frozen->has_writes = 1;
		}
	}
}

static void collect_casts(struct frozen *frozen)
{
	const struct vt_finding_context *context = frozen->context;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_span *span;
		const struct vt_tensor *of;

		if (!vt_finding_context_is_owner(context, i, VT_OWNERS_CASTS) ||
		    !vt_allocation_is_owned(a))
			continue;
		span = vt_facts_span(context->facts, a);
		of = vt_facts_parameter(context->facts, a);
		if (of && span && span->step)
			vt_map_put(&frozen->cast, address_key(of), 1);
	}
}

/*
 * A copy of trained weights under their names.  Master weights and averages are written in a
 * step, and averages seldom computed with: a copy that a step does compute with, cast, and never
 * writes is the model that training began with, against which it is held.
 */
static int is_constant(const struct frozen *frozen, const struct vt_tensor *tensor)
{
	return frozen->has_writes && !vt_map_find(&frozen->trained, address_key(tensor)) &&
	       vt_map_find(&frozen->cast, address_key(tensor));
}

static int is_frozen_wide(const struct frozen *frozen, const struct vt_tensor *tensor,
			  uint32_t allocation)
{
	return tensor && tensor->role == VT_ROLE_PARAMETER && !frozen->is_written[allocation] &&
	       vt_finding_context_width(frozen->context, tensor) == 4 &&
	       (!vt_map_find(&frozen->trained, name_key(tensor)) || is_constant(frozen, tensor));
}

/* Whether anything computes in 16 bits: parameters, or what autocast makes of them. */
static int has_narrow(const struct vt_finding_context *context)
{
	for (uint32_t i = 0; i < context->model->nr_tensors; i++)
		if (context->model->tensors[i].role == VT_ROLE_PARAMETER &&
		    vt_finding_context_width(context, &context->model->tensors[i]) == 2)
			return 1;
	for (uint32_t i = 0; i < context->model->nr_allocations; i++)
		if (vt_finding_context_has(context, i, VT_OWNERS_CASTS))
			return 1;
	return 0;
}

/* What they take, and, by address, which they are. */
static uint64_t save_frozen(struct frozen *frozen, struct vt_savings *savings, struct vt_map *found,
			    uint32_t *first)
{
	const struct vt_finding_context *context = frozen->context;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_tensor *tensor =
			vt_names_find(&context->facts->names, i, 1u << VT_ROLE_PARAMETER);

		if (a->common->device != context->device || !is_frozen_wide(frozen, tensor, i))
			continue;
		*first = *first == VT_NO_INDEX ? i : *first;
		bytes += vt_allocation_is_live(a, context->event) ? a->common->size_bytes : 0;
		vt_savings_add(savings, a, a->common->size_bytes / 2);
		vt_map_put(found, address_key(tensor), 1);
	}
	return bytes;
}

static void save_casts(const struct vt_finding_context *context, struct vt_savings *savings,
		       const struct vt_map *found)
{
	for (uint32_t i = 0; i < context->model->nr_allocations; i++) {
		const struct vt_allocation *a = &context->model->allocations[i];
		const struct vt_tensor *of;

		if (!vt_finding_context_has(context, i, VT_OWNERS_CASTS))
			continue;
		of = vt_facts_parameter(context->facts, a);
		if (of && vt_map_find(found, address_key(of)))
			vt_savings_add(savings, a, a->common->size_bytes);
	}
}

void vt_find_frozen_detect(struct vt_finding_context *context)
{
	struct frozen frozen = { .context = context };
	struct vt_savings savings = { 0 };
	struct vt_map found = { 0 };
	uint32_t first = VT_NO_INDEX;
	uint64_t bytes;
	char all[VT_UNITS_MAX];

	if (!has_narrow(context))
		return;
	collect_trained(context, &frozen.trained);
	collect_writes(&frozen);
	collect_casts(&frozen);
	bytes = save_frozen(&frozen, &savings, &found, &first);
	save_casts(context, &savings, &found);
	vt_map_release(&frozen.trained);
	vt_map_release(&frozen.cast);
	vt_map_release(&found);
	free(frozen.is_written);
	if (first == VT_NO_INDEX)
		return;
	vt_units_bytes(all, sizeof(all), bytes);
	/* Results follow the weights' type, as far as autocast does not say otherwise. */
	vt_finding_context_add_least(context, VT_FINDING_FROZEN_WEIGHTS_WIDE, &savings, 0, first,
				     vt_xasprintf("%s of them", all));
}
