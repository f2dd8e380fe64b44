/* SPDX-License-Identifier: MIT */
#include "tests/lib/flow_steps.h"

#include <string.h>

#include "analyzer/attribution/dataflow/flow_kinds.h"
#include "analyzer/model/model.h"
#include "tests/lib/unit.h"

#define NR_MAX 64

struct fixture {
	struct vt_model model;
	struct vt_allocation allocations[NR_MAX];
	struct vt_allocation_common commons[NR_MAX];
	struct vt_operator_call calls[NR_MAX];
	struct vt_call_tensor tensors[4 * NR_MAX];
	char *texts[NR_MAX];
	struct vt_names names; /* of leaves that are buffers of modules */
	struct vt_tensor named[LEAF_MAX + 1];
	uint32_t named_rows[LEAF_MAX];
	uint16_t first_rows[NR_MAX + 1];
};

static const struct vt_caller caller;

static uint32_t add_allocation(struct fixture *f, uint32_t bytes)
{
	struct vt_allocation *a = &f->allocations[f->model.nr_allocations];

	a->event = (int64_t)f->model.nr_allocations + 1;
	f->commons[f->model.nr_allocations] = (struct vt_allocation_common){
		.size_bytes = bytes ? bytes : WIDE, .made = &caller, .freed = &caller
	};
	a->common = &f->commons[f->model.nr_allocations];
	return f->model.nr_allocations++;
}

static void add_tensor(struct fixture *f, uint32_t allocation, int is_output, unsigned position)
{
	struct vt_operator_call *call = &f->calls[f->model.calls.nr];
	struct vt_call_tensor *t = &f->tensors[call->first_tensor + call->nr_tensors++];

	t->allocation = allocation;
	t->is_output = (uint8_t)is_output;
	t->position = (uint16_t)position;
	f->model.calls.nr_tensors++;
}

/* The operator that calls a step's; VT_NO_INDEX: none. */
static uint32_t caller_of(const struct step *step, uint32_t number)
{
	if (step->nr_more == GIVEN || step->nr_more < CALLED_BY(0))
		return VT_NO_INDEX;
	if (step->nr_more >= MADE_FOR(0))
		return number - 1;
	return step->nr_more - (step->nr_more >= NOTHING_FOR(0) ? NOTHING_FOR(0) : CALLED_BY(0));
}

static void add_results(struct fixture *f, const struct step *step, uint32_t made)
{
	uint32_t nr_more = step->nr_more < CALLED_BY(0) ? step->nr_more : 0;

	if (step->nr_more >= NOTHING_FOR(0) && step->nr_more < MADE_FOR(0))
		return;
	/* Views and what is written in place are of the storage that was read first. */
	if (strstr(step->name, "slice") || step->name[strlen(step->name) - 1] == '_')
		made = step->inputs[0] - 1;
	else if (step->nr_more >= MADE_FOR(0) && step->nr_more != GIVEN)
		made = f->tensors[f->calls[step->nr_more - MADE_FOR(0)].first_tensor +
				  f->calls[step->nr_more - MADE_FOR(0)].nr_tensors - 1]
			       .allocation;
	else if (step->nr_more != GIVEN)
		made = add_allocation(f, step->bytes);
	add_tensor(f, made, 1, 0);
	for (uint32_t k = 1; k < nr_more + 1; k++)
		add_tensor(f, add_allocation(f, step->bytes), 1, k);
}

static void add_step(struct fixture *f, const struct step *step)
{
	struct vt_operator_call *call = &f->calls[f->model.calls.nr];
	uint32_t number = f->model.calls.nr, made = 0;
	unsigned i = 0;

	call->name = 1;
	while (f->texts[call->name] && strcmp(f->texts[call->name], step->name) != 0)
		call->name++;
	f->texts[call->name] = (char *)step->name;
	call->python_stack = 1;
	call->parent = caller_of(step, number);
	call->sequence = step->in_backward ? VT_NO_SEQUENCE : number;
	call->node_class = step->in_backward > 0;
	call->node_sequence =
		step->in_backward > 0 ? (uint64_t)step->in_backward - 1 : VT_NO_SEQUENCE;
	call->first_tensor = f->model.calls.nr_tensors;
	if (step->nr_more == GIVEN)
		made = add_allocation(f, step->bytes);
	call->event = (int64_t)f->model.nr_allocations;
	for (; i < VT_ARRAY_SIZE(step->inputs) && step->inputs[i]; i++)
		add_tensor(f, step->inputs[i] - 1, 0, i);
	if (step->nr_more == GIVEN)
		add_tensor(f, made, 0, i);
	add_results(f, step, made);
	call->end_event = (int64_t)f->model.nr_allocations;
	f->model.calls.nr++;
}

/* Leaves from `first` on are buffers. */
static void add_names(struct fixture *f, uint32_t first)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < f->model.nr_allocations; i++) {
		f->first_rows[i] = (uint16_t)nr;
		if (i + 1 < first || i + 1 >= LEAF_MAX)
			continue;
		f->named[nr].role = VT_ROLE_BUFFER;
		f->named_rows[nr] = nr;
		nr++;
	}
	f->first_rows[f->model.nr_allocations] = (uint16_t)nr;
	f->named[nr].role = VT_ROLE_PARAMETER;
	f->named[nr].size_bytes = 2 * CAST_BYTES;
	f->named[nr].shape = NR_MAX - 1;
	f->texts[NR_MAX - 1] = (char *)"768,512";
	f->model.tensors = f->named;
	f->model.nr_tensors = nr + 1;
	f->names = (struct vt_names){ .model = &f->model,
				      .by_allocation = f->named_rows,
				      .first = { .narrow = f->first_rows } };
}

static struct fixture f;

static void find_kinds(const struct step *steps, uint32_t nr, uint32_t first_buffer,
		       struct vt_operators *operators, struct vt_flow_kinds *kinds)
{
	static const struct vt_rules rules;

	memset(&f, 0, sizeof(f));
	f.model.allocations = f.allocations;
	f.model.calls.items = f.calls;
	f.model.calls.tensors = f.tensors;
	f.model.strings.text = f.texts;
	f.model.strings.nr = NR_MAX;
	for (unsigned i = 1; i < LEAF_MAX; i++)
		add_allocation(&f, 0);
	for (uint32_t i = 0; i < nr; i++)
		add_step(&f, &steps[i]);
	vt_operators_init(operators, &f.model, &rules);
	add_names(&f, first_buffer);
	vt_flow_kinds_init(kinds, &f.model, &f.names, operators);
}

uint32_t flow_steps_factors(const struct step *steps, uint32_t nr)
{
	struct vt_flow_kinds kinds;
	struct vt_operators operators;
	uint32_t found = 0;

	find_kinds(steps, nr, LEAF_MAX, &operators, &kinds);
	for (uint32_t leaf = 1; leaf < LEAF_MAX; leaf++)
		if (vt_flow_kinds_is_factor(&kinds, leaf - 1))
			found |= 1u << leaf;
	vt_flow_kinds_release(&kinds);
	vt_operators_release(&operators);
	return found;
}

void flow_steps_check(const struct step *steps, uint32_t nr, uint32_t first_buffer)
{
	struct vt_flow_kinds kinds;
	struct vt_operators operators;

	find_kinds(steps, nr, first_buffer, &operators, &kinds);
	for (uint32_t i = 0; i < nr; i++) {
		const struct vt_allocation *a = &f.allocations[f.calls[i].end_event - 1];

		if ((f.calls[i].event < f.calls[i].end_event || steps[i].nr_more == GIVEN) &&
		    strcmp(vt_flow_label_text(vt_flow_kinds_find(&kinds, a)), steps[i].label) != 0)
			fail_msg("step %u, %s: %s, not %s", i, steps[i].name,
				 vt_flow_label_text(vt_flow_kinds_find(&kinds, a)), steps[i].label);
	}
	vt_flow_kinds_release(&kinds);
	vt_operators_release(&operators);
}
