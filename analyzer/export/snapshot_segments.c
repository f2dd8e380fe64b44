/* SPDX-License-Identifier: MIT */
#include "analyzer/export/snapshot_segments.h"

#include "analyzer/base/search.h"
#include "analyzer/base/util.h"
#include "analyzer/replay/follow.h"

const struct vt_caller *vt_snapshot_maker(const struct vt_model *model, int64_t event)
{
	uint32_t at = vt_search_first(i, model->nr_allocations,
				      model->allocations[i].event < event);

	if (at < model->nr_allocations && model->allocations[at].event == event)
		return model->allocations[at].common->made;
	return &vt_caller_nobody;
}

/* `a` NULL: a gap. */
static void put_block(struct vt_snapshot_pickle *p, struct vt_pickle_list *list, uint64_t address,
		      uint64_t bytes, const struct vt_allocation *a)
{
	vt_pickle_item(&p->pickle, list);
	vt_pickle_dict(&p->pickle);
	vt_snapshot_number(p, VT_SNAPSHOT_address, address);
	vt_snapshot_number(p, VT_SNAPSHOT_size, bytes);
	vt_snapshot_number(p, VT_SNAPSHOT_requested_size, a ? vt_allocation_asked_bytes(a) : 0);
	vt_snapshot_choice(p, VT_SNAPSHOT_state,
			   a ? VT_SNAPSHOT_active_allocated : VT_SNAPSHOT_inactive);
	vt_snapshot_frames(p, a ? a->common->made : &vt_caller_nobody);
	vt_pickle_dict_end(&p->pickle);
}

/* Everything of a segment but its blocks. */
struct head {
	uint64_t address;
	uint64_t total_bytes;
	uint64_t allocated_bytes;
	uint64_t requested_bytes;
	uint64_t stream;
	uint32_t pool;
	int is_small;
	int is_expandable;
	const struct vt_caller *maker;
};

static void put_head(struct vt_snapshot_pickle *p, int device, const struct head *head)
{
	vt_pickle_dict(&p->pickle);
	vt_snapshot_number(p, VT_SNAPSHOT_device, (uint64_t)device);
	vt_snapshot_number(p, VT_SNAPSHOT_address, head->address);
	vt_snapshot_number(p, VT_SNAPSHOT_total_size, head->total_bytes);
	vt_snapshot_number(p, VT_SNAPSHOT_allocated_size, head->allocated_bytes);
	vt_snapshot_number(p, VT_SNAPSHOT_active_size, head->allocated_bytes);
	vt_snapshot_number(p, VT_SNAPSHOT_requested_size, head->requested_bytes);
	vt_snapshot_number(p, VT_SNAPSHOT_stream, head->stream);
	vt_snapshot_choice(p, VT_SNAPSHOT_segment_type,
			   head->is_small ? VT_SNAPSHOT_small : VT_SNAPSHOT_large);
	vt_snapshot_word(p, VT_SNAPSHOT_segment_pool_id);
	vt_pickle_int(&p->pickle, 0);
	vt_pickle_int(&p->pickle, head->pool);
	vt_pickle_pair(&p->pickle);
	vt_snapshot_word(p, VT_SNAPSHOT_is_expandable);
	vt_pickle_bool(&p->pickle, head->is_expandable);
	vt_snapshot_frames(p, head->maker);
	vt_snapshot_word(p, VT_SNAPSHOT_blocks);
	vt_pickle_list(&p->pickle);
}

static const struct vt_allocation *block_in(const struct vt_snapshot_pickle *p,
					    const struct vt_piece *piece)
{
	if (!piece->is_allocated || piece->holder == VT_PIECE_NOBODY)
		return NULL;
	return &p->job->analysis->model.allocations[piece->holder];
}

/* A piece of the segment with memory and without a gap, from `first` on; returns what follows. */
static const struct vt_piece *put_run(struct vt_snapshot_pickle *p, struct vt_pickle_list *segments,
				      const struct vt_trace *trace, const struct vt_piece *first)
{
	const struct vt_trace_segment *segment = &trace->segments.items[first->segment];
	struct head head = { .address = first->address,
			     .stream = segment->stream_id,
			     .pool = segment->pool,
			     .is_small = segment->is_small,
			     .is_expandable = segment->is_expandable,
			     .maker = vt_snapshot_maker(trace->model, segment->taken_event) };
	struct vt_pickle_list blocks;
	const struct vt_piece *piece;

	for (piece = first; piece && piece->is_mapped; piece = piece->next) {
		const struct vt_allocation *a = block_in(p, piece);

		head.total_bytes += piece->size_bytes;
		head.allocated_bytes += a ? piece->size_bytes : 0;
		head.requested_bytes += a ? vt_allocation_asked_bytes(a) : 0;
	}
	vt_pickle_item(&p->pickle, segments);
	put_head(p, trace->device, &head);
	vt_pickle_items(&p->pickle, &blocks);
	for (piece = first; piece && piece->is_mapped; piece = piece->next)
		put_block(p, &blocks, piece->address, piece->size_bytes, block_in(p, piece));
	vt_pickle_items_end(&p->pickle);
	vt_pickle_dict_end(&p->pickle);
	return piece;
}

static void put_trace(struct vt_snapshot_pickle *p, struct vt_pickle_list *segments,
		     const struct vt_trace *trace, uint8_t *is_placed)
{
	struct vt_follow follow;

	vt_follow_init(&follow, trace);
	vt_follow_to(&follow, p->job->event);
	for (uint32_t i = 0; i < trace->segments.len; i++) {
		const struct vt_piece *piece =
			trace->segments.items[i].is_request ? NULL : vt_follow_segment(&follow, i);

		while (piece)
			piece = piece->is_mapped ? put_run(p, segments, trace, piece) : piece->next;
	}
	for (uint32_t i = 0; i < follow.holdings.capacity; i++)
		if (follow.holdings.places[i].piece)
			is_placed[follow.holdings.places[i].allocation] = 1;
	vt_follow_release(&follow);
}

static void put_alone(struct vt_snapshot_pickle *p, struct vt_pickle_list *segments,
		      const struct vt_allocation *a)
{
	struct head head = { .address = a->address,
			     .total_bytes = a->common->size_bytes,
			     .allocated_bytes = a->common->size_bytes,
			     .requested_bytes = vt_allocation_asked_bytes(a),
			     .stream = a->common->made->stream,
			     .maker = a->common->made };
	struct vt_pickle_list blocks;

	vt_pickle_item(&p->pickle, segments);
	put_head(p, a->common->device, &head);
	vt_pickle_items(&p->pickle, &blocks);
	put_block(p, &blocks, a->address, a->common->size_bytes, a);
	vt_pickle_items_end(&p->pickle);
	vt_pickle_dict_end(&p->pickle);
}

void vt_snapshot_segments(struct vt_snapshot_pickle *p, struct vt_pickle_list *list, int device,
			  const struct vt_trace *trace)
{
	const struct vt_model *model = &p->job->analysis->model;
	uint8_t *is_placed = vt_xcalloc((size_t)model->nr_allocations + 1, 1);

	if (trace)
		put_trace(p, list, trace, is_placed);
	for (uint32_t i = 0; i < model->nr_allocations; i++) {
		const struct vt_allocation *a = &model->allocations[i];

		if (a->common->device == device && vt_allocation_is_owned(a) && !is_placed[i] &&
		    vt_allocation_is_live(a, p->job->event))
			put_alone(p, list, a);
	}
	free(is_placed);
}
