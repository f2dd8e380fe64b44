/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/graph_lifetimes.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/map.h"
#include "analyzer/base/search.h"

static uint64_t hash_lines(const struct vt_frames *frames, uint32_t stack)
{
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);
	uint64_t hash = nr;

	for (unsigned k = 0; k < nr; k++) {
		hash = vt_hash_mix(hash, frames->python[ids[k]].code);
		hash = vt_hash_mix(hash, frames->python[ids[k]].line);
	}
	return hash;
}

void vt_graph_lifetimes_init(struct vt_graph_lifetimes *lifetimes,
			     const struct vt_finding_context *context)
{
	const struct vt_model *model = context->model;
	uint32_t nr_stacks = model->frames.python_tree.nr_stacks;

	memset(lifetimes, 0, sizeof(*lifetimes));
	lifetimes->context = context;
	lifetimes->lines = vt_xcalloc((size_t)nr_stacks + 1, sizeof(*lifetimes->lines));
	for (uint32_t s = 0; s < nr_stacks; s++)
		lifetimes->lines[s] = hash_lines(&model->frames, s);
	lifetimes->last_reader =
		vt_xcalloc((size_t)model->nr_allocations + 1, sizeof(*lifetimes->last_reader));
	memset(lifetimes->last_reader, 0xff,
	       (size_t)model->nr_allocations * sizeof(*lifetimes->last_reader));
}

void vt_graph_lifetimes_release(struct vt_graph_lifetimes *lifetimes)
{
	free(lifetimes->lines);
	free(lifetimes->last_reader);
	free(lifetimes->next_same);
	memset(lifetimes, 0, sizeof(*lifetimes));
}

static const struct vt_allocation *block(const struct vt_graph_lifetimes *lifetimes, uint32_t at)
{
	return &lifetimes->context->model->allocations[lifetimes->blocks[at]];
}

static void find_readers(struct vt_graph_lifetimes *lifetimes)
{
	const struct vt_operator_calls *calls = &lifetimes->context->model->calls;
	uint32_t c = (uint32_t)vt_search_first(
		i, calls->nr, calls->items[i].event + 1 < lifetimes->pass->first_event);

	for (; c < calls->nr && calls->items[c].event < lifetimes->pass->end_event; c++) {
		const struct vt_operator_call *call = &calls->items[c];

		if (call->node_class || call->thread != lifetimes->pass->thread)
			continue;
		for (uint32_t t = 0; t < call->nr_tensors; t++) {
			const struct vt_call_tensor *tensor =
				&calls->tensors[call->first_tensor + t];

			if (!tensor->is_output && tensor->allocation != VT_NO_INDEX)
				lifetimes->last_reader[tensor->allocation] = c;
		}
	}
}

static const struct vt_operator_call *reader_of(const struct vt_graph_lifetimes *lifetimes,
						uint32_t at)
{
	uint32_t call = lifetimes->last_reader[lifetimes->blocks[at]];

	return call == VT_NO_INDEX ? NULL : &lifetimes->context->model->calls.items[call];
}

static struct vt_key line_of(const struct vt_graph_lifetimes *lifetimes, uint32_t at)
{
	const struct vt_caller *made = block(lifetimes, at)->common->made;

	return (struct vt_key){ lifetimes->lines[made->python_stack], made->native_stack, 0 };
}

/* What is read behind the next of its line is in a list, and so is all that the line made. */
static void forget_lists(struct vt_graph_lifetimes *lifetimes)
{
	struct vt_map lists = { 0 };

	for (uint32_t k = 0; k < lifetimes->nr; k++) {
		const struct vt_operator_call *reader = reader_of(lifetimes, k);
		uint32_t same = lifetimes->next_same[k];

		if (reader && same < lifetimes->nr &&
		    block(lifetimes, same)->event <= reader->event)
			vt_map_put(&lists, line_of(lifetimes, k), 1);
	}
	for (uint32_t k = 0; k < lifetimes->nr; k++)
		if (vt_map_find(&lists, line_of(lifetimes, k)))
			lifetimes->next_same[k] = VT_NO_INDEX;
	vt_map_release(&lists);
}

static void find_same(struct vt_graph_lifetimes *lifetimes)
{
	struct vt_map next = { 0 };

	free(lifetimes->next_same);
	lifetimes->next_same =
		vt_xcalloc((size_t)lifetimes->nr + 1, sizeof(*lifetimes->next_same));
	for (uint32_t k = lifetimes->nr; k-- > 0;) {
		const uint64_t *same = vt_map_find(&next, line_of(lifetimes, k));

		lifetimes->next_same[k] = same ? (uint32_t)*same : lifetimes->nr;
		vt_map_put(&next, line_of(lifetimes, k), k);
	}
	vt_map_release(&next);
	forget_lists(lifetimes);
}

void vt_graph_lifetimes_see(struct vt_graph_lifetimes *lifetimes, const struct vt_pass *pass,
			    const uint32_t *blocks, uint32_t nr)
{
	lifetimes->pass = pass;
	lifetimes->blocks = blocks;
	lifetimes->nr = nr;
	find_readers(lifetimes);
	find_same(lifetimes);
}

static const struct vt_module_link *modules_of(const struct vt_graph_lifetimes *lifetimes,
					       uint32_t stack, uint32_t *nr)
{
	return vt_module_stacks_get(&lifetimes->context->facts->stages->module_stacks, stack, nr);
}

/*
 * The call of `caller` that a stack is in: the instance that it called, 0 where it is itself the
 * innermost; -1: the stack is not below it.
 */
static int64_t callee_of(const struct vt_graph_lifetimes *lifetimes, uint32_t stack,
			 uint64_t caller)
{
	uint32_t nr;
	const struct vt_module_link *links = modules_of(lifetimes, stack, &nr);

	for (uint32_t i = 0; i < nr; i++)
		if (links[i].address == caller)
			return i ? (int64_t)links[i - 1].address : 0;
	return -1;
}

/* Where the block is used: by its last reader, or else where the next block is made; 0: nowhere. */
static uint32_t user_of(const struct vt_graph_lifetimes *lifetimes, uint32_t at)
{
	const struct vt_operator_call *reader = reader_of(lifetimes, at);

	if (reader)
		return reader->python_stack;
	return at + 1 < lifetimes->nr ? block(lifetimes, at + 1)->common->made->python_stack : 0;
}

/* The innermost module that has both the block and what uses it: its frame is what holds it. */
static struct vt_module_link holder_of(const struct vt_graph_lifetimes *lifetimes, uint32_t at)
{
	const struct vt_module_link none = { 0, 0 };
	uint32_t nr, user = user_of(lifetimes, at);
	const struct vt_module_link *links =
		modules_of(lifetimes, block(lifetimes, at)->common->made->python_stack, &nr);

	for (uint32_t i = 0; user && i < nr; i++)
		if (callee_of(lifetimes, user, links[i].address) >= 0)
			return links[i];
	return none;
}

/* The first block behind an event that is in another call of the holder; VT_NEVER: none. */
static int64_t next_call(const struct vt_graph_lifetimes *lifetimes, uint32_t at, int64_t event,
			 uint64_t holder, int64_t callee)
{
	for (uint32_t k = at + 1; k < lifetimes->nr; k++)
		if (block(lifetimes, k)->event > event &&
		    callee_of(lifetimes, block(lifetimes, k)->common->made->python_stack, holder) !=
			    callee)
			return block(lifetimes, k)->event;
	return lifetimes->pass->end_event;
}

/* Arguments live until their module returns, those of operators until these are done. */
static int64_t end_of_use(const struct vt_graph_lifetimes *lifetimes, uint32_t at,
			  const struct vt_operator_call *reader)
{
	uint64_t holder = holder_of(lifetimes, at).address;
	int64_t callee = callee_of(lifetimes, reader->python_stack, holder);

	if (callee <= 0 && reader->end_event != VT_NEVER)
		return reader->end_event + 1;
	return next_call(lifetimes, at, reader->event, holder, callee);
}

int64_t vt_graph_lifetimes_likely(const struct vt_graph_lifetimes *lifetimes, uint32_t at)
{
	const struct vt_finding_context *context = lifetimes->context;
	const struct vt_operator_call *reader = reader_of(lifetimes, at);
	uint64_t holder = holder_of(lifetimes, at).address;
	int64_t callee =
		callee_of(lifetimes, block(lifetimes, at)->common->made->python_stack, holder);
	uint32_t changes = 0;
	int is_sum =
		vt_finding_context_is_owner(context, lifetimes->blocks[at], VT_OWNERS_RESIDUALS);

	if (reader)
		return end_of_use(lifetimes, at, reader);
	/* The sum of a residual stream lives until the next such sum. */
	for (uint32_t k = at + 1; k < lifetimes->nr && holder; k++) {
		int64_t other = callee_of(lifetimes,
					  block(lifetimes, k)->common->made->python_stack, holder);

		if (is_sum &&
		    vt_finding_context_is_owner(context, lifetimes->blocks[k], VT_OWNERS_RESIDUALS))
			return block(lifetimes, k)->event + 1;
		changes += other != callee;
		callee = other;
		if (!is_sum && (changes == 2 || other < 0))
			return block(lifetimes, k)->event;
	}
	return lifetimes->pass->end_event;
}

/* The frame of a module's own code in a stack: its innermost that is not the call of the next. */
static uint32_t frame_of(const struct vt_graph_lifetimes *lifetimes, uint32_t stack,
			 uint64_t module)
{
	const struct vt_frames *frames = &lifetimes->context->model->frames;
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_frames_python(frames, stack, ids);

	for (unsigned k = 0; k < nr; k++)
		if (frames->python[ids[k]].self_address == module &&
		    !strstr(vt_frames_code(frames, ids[k])->short_name, "call_impl"))
			return ids[k];
	return VT_NO_INDEX;
}

/* Made and used by one line of the holder's: no variable has it. */
static int is_of_one_line(const struct vt_graph_lifetimes *lifetimes, uint32_t at, uint64_t holder)
{
	const struct vt_operator_call *reader = reader_of(lifetimes, at);
	uint32_t stack = block(lifetimes, at)->common->made->python_stack, frame;

	if (!reader)
		return 0;
	frame = frame_of(lifetimes, stack, holder);
	return frame != VT_NO_INDEX && frame == frame_of(lifetimes, reader->python_stack, holder);
}

int64_t vt_graph_lifetimes_latest(const struct vt_graph_lifetimes *lifetimes, uint32_t at)
{
	struct vt_module_link holder = holder_of(lifetimes, at);
	const char *type = vt_model_text(lifetimes->context->model, holder.type);
	uint32_t same = lifetimes->next_same[at];

	/* A Sequential hands each result on, and keeps none. */
	if (type && !strcmp(type, "Sequential"))
		return vt_graph_lifetimes_likely(lifetimes, at);
	if (reader_of(lifetimes, at) && same < lifetimes->nr)
		return block(lifetimes, same)->event + 1;
	if (same == lifetimes->nr && is_of_one_line(lifetimes, at, holder.address))
		return vt_graph_lifetimes_likely(lifetimes, at);
	for (uint32_t k = at + 1; k < lifetimes->nr && holder.address; k++)
		if (callee_of(lifetimes, block(lifetimes, k)->common->made->python_stack,
			      holder.address) < 0)
			return block(lifetimes, k)->event;
	return lifetimes->pass->end_event;
}
