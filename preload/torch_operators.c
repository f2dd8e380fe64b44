/* SPDX-License-Identifier: MIT */
/*
 * A RecordFunction observer in C for the scope of operators.  They nest, on one thread, and each
 * that begins under the observer ends under it, also when an exception passes or the observer was
 * switched off in between: the numbers of those in progress are a stack.
 */

#include "preload/torch_operators.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/config.h"
#include "preload/guard.h"
#include "preload/info.h"
#include "preload/intern.h"
#include "preload/journal.h"
#include "preload/python_stack.h"
#include "preload/thread_state.h"
#include "preload/torch_callback.h"
#include "preload/torch_observing.h"
#include "preload/torch_real.h"
#include "preload/torch_values.h"
#include "preload/tracker.h"

/* In vt_thread.operators: its beginning is in the journal. */
#define HAS_BEGUN 0x80000000u

typedef size_t (*count_fn)(const void *call);

static struct {
	vt_torch_call_name_fn name;
	count_fn nr_inputs;
	uint32_t last; /* atomic; number of the operator that began last */
} g;

static uint32_t innermost(const struct vt_thread *thread)
{
	uint32_t nr = thread->nr_operators;

	return nr && nr <= VT_OPERATOR_DEPTH ? thread->operators[nr - 1] & ~HAS_BEGUN : 0;
}

/* Returns 0, or -1 where there was no room for it. */
static int write_begin(struct vt_thread *thread, const void *call, uint32_t id, uint32_t parent,
		       uint32_t python_stack, uint32_t nr_inputs)
{
	const char *name = g.name(call);
	uint32_t name_id = name ? vt_intern_string(name, strlen(name)) : 0;
	size_t bytes = sizeof(struct vt_operator_record) +
		       nr_inputs * sizeof(struct vt_operator_address);
	struct vt_operator_record *record;
	uint64_t slot;

	if (!name_id || !(record = vt_journal_reserve(bytes, &slot)))
		return -1;
	record->id = id;
	record->parent = parent;
	record->thread = vt_thread_id();
	record->name = name_id;
	record->python_stack = python_stack;
	record->node_class = thread->node_class;
	record->forward_python_stack = thread->node_class ? thread->forward_python_stack : 0;
	record->node_sequence = thread->node_class ? thread->node_sequence : UINT64_MAX;
	record->next_sequence = thread->forward_sequence;
	/* Another thread may have changed what was counted: the fewer of both. */
	record->nr_tensors = nr_inputs ? vt_torch_values_inputs(call, record->tensors, nr_inputs)
				       : 0;
	vt_journal_commit(record, slot, bytes, VT_RECORD_OPERATOR);
	vt_torch_observing_count_record();
	return 0;
}

static void write_end(struct vt_thread *thread, const void *call, uint32_t id, uint32_t nr_outputs)
{
	size_t bytes = sizeof(struct vt_operator_end_record) +
		       nr_outputs * sizeof(struct vt_operator_address);
	struct vt_operator_end_record *record;
	uint64_t slot;

	record = vt_journal_reserve(bytes, &slot);
	if (!record)
		return;
	record->id = id;
	record->next_sequence = thread->forward_sequence;
	record->nr_tensors = nr_outputs ? vt_torch_values_outputs(call, record->tensors, nr_outputs)
					: 0;
	vt_journal_commit(record, slot, bytes, VT_RECORD_OPERATOR_END);
}

/* Returns its entry among those in progress. */
static uint32_t take_begin(struct vt_thread *thread, const void *call)
{
	uint32_t python_stack = vt_python_stack_capture(), id, nr_inputs;

	enum vt_torch_layout layout;

	if (!vt_torch_observing_count(python_stack))
		return 0;
	/* Once: another thread may be settling it. */
	layout = vt_torch_values_layout();
	if (layout == VT_TORCH_LAYOUT_UNPROVEN) {
		thread->last_block = 0;
		vt_torch_values_try_inputs(call, g.nr_inputs(call));
	}
	if (layout != VT_TORCH_LAYOUT_PROVEN)
		return 0;
	id = __atomic_add_fetch(&g.last, 1, __ATOMIC_RELAXED) & ~HAS_BEGUN;
	nr_inputs = vt_torch_values_inputs(call, NULL, VT_OPERATOR_MAX_ADDRESSES);
	if (!nr_inputs || thread->nr_operators >= VT_OPERATOR_DEPTH)
		return id;
	if (write_begin(thread, call, id, innermost(thread), python_stack, nr_inputs))
		return 0;
	return id | HAS_BEGUN;
}

static void take_end(struct vt_thread *thread, const void *call, uint32_t operator)
{
	uint32_t id = operator & ~HAS_BEGUN, nr_outputs;
	enum vt_torch_layout layout = vt_torch_values_layout();

	if (layout == VT_TORCH_LAYOUT_UNPROVEN) {
		vt_torch_values_try_outputs(call, thread->last_block);
		thread->last_block = 0;
	}
	if (!id || layout != VT_TORCH_LAYOUT_PROVEN)
		return;
	nr_outputs = vt_torch_values_outputs(call, NULL, VT_OPERATOR_MAX_ADDRESSES);
	if (!(operator & HAS_BEGUN) &&
	    (!nr_outputs || write_begin(thread, call, id, innermost(thread),
					vt_python_stack_capture(), 0)))
		return;
	write_end(thread, call, id, nr_outputs);
}

static void *begin(void **result, const void *call)
{
	struct vt_thread *thread = vt_thread_self();
	int saved = errno, entered VT_GUARD_SCOPE = vt_guard_enter();
	uint32_t operator = 0;

	*result = NULL;
	if (!vt_tracker_is_active())
		vt_torch_observing_end();
	else if (entered)
		operator = take_begin(thread, call);
	if (thread->nr_operators < VT_OPERATOR_DEPTH)
		thread->operators[thread->nr_operators] = operator;
	thread->nr_operators++;
	errno = saved;
	return result;
}

static void end(const void *call, void *context)
{
	struct vt_thread *thread = vt_thread_self();
	int saved = errno, entered VT_GUARD_SCOPE = vt_guard_enter();
	uint32_t operator = 0;

	(void)context;
	/* A fork child forgets what was in progress. */
	if (!thread->nr_operators)
		return;
	thread->nr_operators--;
	if (thread->nr_operators < VT_OPERATOR_DEPTH)
		operator = thread->operators[thread->nr_operators];
	if (entered && vt_tracker_is_active())
		take_end(thread, call, operator);
	errno = saved;
}

void vt_torch_operators_start(void)
{
	struct vt_torch_callback callback = {
		.start = begin,
		.end = end,
		.sampling_probability = 1.0,
		.needs_inputs = 1,
		.needs_outputs = 1,
	};
	vt_torch_add_callback_fn add =
		(vt_torch_add_callback_fn)vt_torch_real_find(VT_TORCH_FUNCTION_ADD_CALLBACK, NULL);
	vt_torch_switch_callback_fn disable = (vt_torch_switch_callback_fn)vt_torch_real_find(
		VT_TORCH_FUNCTION_DISABLE_CALLBACK, NULL);
	vt_torch_switch_callback_fn enable = (vt_torch_switch_callback_fn)vt_torch_real_find(
		VT_TORCH_FUNCTION_ENABLE_CALLBACK, NULL);

	if (!vt_config()->observe)
		return;
	g.name = (vt_torch_call_name_fn)vt_torch_real_find(VT_TORCH_FUNCTION_RANGE_NAME, NULL);
	g.nr_inputs = (count_fn)vt_torch_real_find(VT_TORCH_FUNCTION_NR_INPUTS, NULL);
	if (!add || !disable || !enable || !g.name || !g.nr_inputs) {
		vt_info_once("operators", "not observed: unsupported PyTorch release");
		return;
	}
	callback.scopes[VT_TORCH_SCOPE_FUNCTION] = 1;
	vt_torch_observing_start(add(callback), disable, enable);
}
