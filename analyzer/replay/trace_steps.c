/* SPDX-License-Identifier: MIT */
#include "analyzer/model/captures.h"
#include "analyzer/replay/trace.h"

/* What the recorder knew, where a block of this size can have come of it. */
static uint64_t asked_bytes(const struct vt_trace *trace, const struct vt_allocation *block)
{
	uint64_t asked = block->common->requested_bytes;

	if (!asked || vt_settings_round(&trace->settings, asked) > block->common->size_bytes)
		return block->common->size_bytes;
	return asked;
}

uint64_t vt_trace_request(const struct vt_trace *trace, uint32_t allocation)
{
	uint64_t guessed = trace->guessed_bytes ? trace->guessed_bytes[allocation] : 0;

	return guessed ? guessed : asked_bytes(trace, &trace->model->allocations[allocation]);
}

int64_t vt_trace_event(const struct vt_trace *trace, const struct vt_trace_step *step)
{
	switch (step->op) {
	case VT_TRACE_TAKE:
	case VT_TRACE_OTHER_TAKE:
		return trace->model->allocations[step->allocation].event;
	case VT_TRACE_GIVE:
	case VT_TRACE_OTHER_GIVE:
		return trace->model->allocations[step->allocation].freed_event;
	case VT_TRACE_FAILED:
		return vt_allocation_event(trace->model->ooms[step->allocation].event);
	case VT_TRACE_POOL_GONE:
		return vt_captures_pool_gone(trace->model, step->allocation);
	default:
		return trace->emptied.items[step->allocation];
	}
}

uint32_t vt_trace_segment(const struct vt_trace *trace, const struct vt_trace_step *step)
{
	if (step->op == VT_TRACE_TAKE)
		return vt_narrow_get(&trace->block_segments, step->allocation) - 1;
	return step->op == VT_TRACE_FAILED ? trace->failed_segments[step->allocation] : VT_NO_INDEX;
}

uint64_t vt_trace_server(const struct vt_trace *trace, const struct vt_trace_step *step)
{
	uint32_t number = vt_trace_segment(trace, step);
	const struct vt_trace_segment *segment;

	if (number == VT_NO_INDEX)
		return 0;
	segment = &trace->segments.items[number];
	return (uint64_t)segment->stream << 32 | segment->pool;
}

uint64_t vt_trace_bytes(const struct vt_trace *trace, const struct vt_trace_step *step)
{
	switch (step->op) {
	case VT_TRACE_TAKE:
		return vt_trace_request(trace, step->allocation);
	case VT_TRACE_FAILED:
		return trace->model->ooms[step->allocation].requested_bytes;
	case VT_TRACE_OTHER_TAKE:
	case VT_TRACE_OTHER_GIVE:
		return trace->model->allocations[step->allocation].common->size_bytes;
	default:
		return 0;
	}
}
