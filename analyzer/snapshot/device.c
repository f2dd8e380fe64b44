/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/device.h"

#include <string.h>

#include "analyzer/base/search.h"

/*
 * Expandable segments grow by granules, each with its handle; an entry may be of several.  What
 * would take more of them than a device has is one piece.
 */
#define MOST_GRANULES 16384
#define MOST_PIECES   ((uint64_t)1 << 20)

/* The driver's handles are not in a snapshot: theirs are numbers that no address is. */
#define FIRST_HANDLE ((uint64_t)1 << 62)
#define FIRST_POOL   (FIRST_HANDLE | (uint64_t)1 << 61)

int vt_snapshot_device_init(struct vt_snapshot_device *d, int id, struct vt_device_shared *shared,
			    struct vt_diag *diag)
{
	memset(d, 0, sizeof(*d));
	d->id = id;
	d->shared = shared;
	d->sizes.settings = shared->settings;
	return vt_start_find(&d->start, shared->input, (uint32_t)id, diag);
}

void vt_snapshot_device_release(struct vt_snapshot_device *d)
{
	vt_start_release(&d->start);
	vt_block_sizes_release(&d->sizes);
	vt_map_release(&d->live);
	vt_map_release(&d->private);
	vt_vector_release(&d->pieces);
}

static struct vt_key key(uint64_t address)
{
	return (struct vt_key){ address, 0, 0 };
}

/* What an entry or a block has of the place in the program. */
struct place {
	vt_value frames, forward_frames;
	struct vt_snapshot_labels labels;
};

static struct place place_of(const struct vt_snapshot_entry *entry)
{
	return (struct place){ entry->frames, entry->forward_frames, entry->labels };
}

static struct place only_frames(vt_value frames)
{
	return (struct place){ frames, VT_VALUE_UNSET, vt_snapshot_no_labels };
}

/* Fills what a record has of it. */
static int put_place(struct vt_snapshot_device *d, struct vt_event_record *record,
		     const struct place *place, struct vt_diag *diag)
{
	struct vt_snapshot_stacks *stacks = d->shared->stacks;
	struct vt_snapshot_stack stack, forward;

	if (vt_snapshot_stacks_take(stacks, place->frames, &stack, diag) ||
	    vt_snapshot_stacks_take_lines(stacks, place->forward_frames, &forward, diag) ||
	    vt_snapshot_labels_scope(&place->labels, stacks, d->shared->scope, &record->scope)) {
		vt_db_diag(d->shared->writer->db, diag);
		return -1;
	}
	record->native_stack = stack.native;
	record->python_stack = stack.python;
	record->node_class = stack.node_class;
	record->forward_python_stack = forward.python;
	return 0;
}

/* What a private pool is called: a number that no address and no handle is. */
static uint64_t pool_handle(const struct vt_snapshot_device *d, uint64_t pool)
{
	return FIRST_POOL | (uint64_t)d->id << (2 * VT_SNAPSHOT_POOL_BITS) | pool;
}

/* The segment or piece that the last event made is a private pool's. */
static int bind_to_pool(struct vt_snapshot_device *d, uint64_t pool, struct vt_diag *diag)
{
	struct vt_event_record record = vt_writer_record(d->shared->writer, VT_OP_BIND,
							 VT_KIND_GRAPH, d->id,
							 (enum vt_writer_function)0);

	if (!pool)
		return 0;
	record.address = pool_handle(d, pool);
	record.extra = d->shared->writer->nr_events;
	return vt_writer_event(d->shared->writer, &record, diag);
}

/* PyTorch gives a private pool's memory back when nothing needs the pool any more. */
static int end_pool(struct vt_snapshot_device *d, uint64_t pool, struct vt_diag *diag)
{
	struct vt_event_record record = vt_writer_record(d->shared->writer, VT_OP_UNBIND,
							 VT_KIND_GRAPH, d->id,
							 (enum vt_writer_function)0);

	if (!pool)
		return 0;
	record.address = pool_handle(d, pool);
	return vt_writer_event(d->shared->writer, &record, diag);
}

static int write_simple(struct vt_snapshot_device *d, struct vt_event_record *record,
			uint64_t address, uint64_t size_bytes, struct vt_diag *diag)
{
	record->address = address;
	record->size_bytes = size_bytes;
	return vt_writer_event(d->shared->writer, record, diag);
}

static int add_segment(struct vt_snapshot_device *d, uint64_t address, uint64_t size_bytes,
		       const struct place *place, uint64_t pool, struct vt_diag *diag)
{
	struct vt_event_record record = vt_writer_record(
		d->shared->writer, VT_OP_ALLOC, VT_KIND_SEGMENT, d->id, VT_WRITER_cuMemAlloc_v2);

	vt_block_sizes_add_segment(&d->sizes, address, size_bytes);
	d->reserved_bytes += size_bytes;
	if (pool)
		vt_map_put(&d->private, key(address), pool);
	if (put_place(d, &record, place, diag) ||
	    write_simple(d, &record, address, size_bytes, diag))
		return -1;
	return bind_to_pool(d, pool, diag);
}

static int remove_segment(struct vt_snapshot_device *d, const struct vt_snapshot_entry *entry,
			  struct vt_diag *diag)
{
	struct vt_event_record record = vt_writer_record(
		d->shared->writer, VT_OP_FREE, VT_KIND_SEGMENT, d->id, VT_WRITER_cuMemFree_v2);
	const struct place place = only_frames(entry->frames);
	const uint64_t *pool = vt_map_find(&d->private, key(entry->address));

	if (pool && end_pool(d, *pool, diag))
		return -1;
	vt_map_remove(&d->private, key(entry->address));
	vt_block_sizes_remove_segment(&d->sizes, entry->address);
	d->reserved_bytes -= entry->size_bytes < d->reserved_bytes ? entry->size_bytes :
								      d->reserved_bytes;
	if (put_place(d, &record, &place, diag))
		return -1;
	return write_simple(d, &record, entry->address, entry->size_bytes, diag);
}

static size_t first_piece_from(const struct vt_snapshot_device *d, uint64_t address)
{
	return vt_search_first(i, d->pieces.len, d->pieces.items[i].start < address);
}

static int add_piece(struct vt_snapshot_device *d, uint64_t start, uint64_t end,
		     const struct place *place, uint64_t pool, struct vt_diag *diag)
{
	struct vt_writer *writer = d->shared->writer;
	struct vt_device_piece piece = { start, end, FIRST_HANDLE + d->shared->nr_pieces++,
					 pool };
	struct vt_event_record made = vt_writer_record(writer, VT_OP_ALLOC, VT_KIND_VMM, d->id,
						       VT_WRITER_cuMemCreate);
	struct vt_event_record mapped = vt_writer_record(writer, VT_OP_MAP, VT_KIND_VMM, -1,
							 VT_WRITER_cuMemMap);
	size_t at = first_piece_from(d, start);

	vt_vector_push(&d->pieces, piece);
	memmove(&d->pieces.items[at + 1], &d->pieces.items[at],
		(d->pieces.len - 1 - at) * sizeof(piece));
	d->pieces.items[at] = piece;
	d->reserved_bytes += end - start;
	if (put_place(d, &made, place, diag) ||
	    write_simple(d, &made, piece.handle, end - start, diag) ||
	    bind_to_pool(d, pool, diag))
		return -1;
	mapped.extra = piece.handle;
	mapped.python_stack = made.python_stack;
	mapped.native_stack = made.native_stack;
	return write_simple(d, &mapped, start, end - start, diag);
}

/* By the size of what was mapped: requests of the small pool never map as much at once. */
static uint64_t granule_of(const struct vt_snapshot_device *d, uint64_t size_bytes)
{
	uint64_t large = vt_settings_granule(d->shared->settings, 0);
	uint64_t small = vt_settings_granule(d->shared->settings, 1);
	uint64_t granule = size_bytes % large == 0 ? large :
			   size_bytes % small == 0 ? small : size_bytes;

	if (size_bytes / granule > MOST_GRANULES || d->shared->nr_pieces > MOST_PIECES)
		return size_bytes;
	return granule;
}

static int add_pieces(struct vt_snapshot_device *d, uint64_t address, uint64_t size_bytes,
		      const struct place *place, uint64_t pool, struct vt_diag *diag)
{
	uint64_t granule = size_bytes ? granule_of(d, size_bytes) : 1;

	for (uint64_t done = 0; done < size_bytes; done += granule)
		if (add_piece(d, address + done, address + done + granule, place, pool, diag))
			return -1;
	return 0;
}

static int remove_piece(struct vt_snapshot_device *d, const struct vt_device_piece *piece,
			const struct vt_event_record *place, struct vt_diag *diag)
{
	struct vt_event_record unmapped = *place, released = *place;

	if (end_pool(d, piece->pool, diag))
		return -1;
	d->reserved_bytes -= piece->end - piece->start;
	released.op = VT_OP_RELEASE;
	released.function = VT_WRITER_cuMemRelease;
	return write_simple(d, &unmapped, piece->start, piece->end - piece->start, diag) ||
			       write_simple(d, &released, piece->handle, 0, diag) ?
		       -1 :
		       0;
}

static int remove_pieces(struct vt_snapshot_device *d, const struct vt_snapshot_entry *entry,
			 struct vt_diag *diag)
{
	const struct place where = only_frames(entry->frames);
	struct vt_event_record place = vt_writer_record(
		d->shared->writer, VT_OP_UNMAP, VT_KIND_VMM, -1, VT_WRITER_cuMemUnmap);
	size_t first = first_piece_from(d, entry->address), last = first;
	uint64_t end = entry->address + entry->size_bytes;
	int rc = 0;

	if (put_place(d, &place, &where, diag))
		return -1;
	for (; last < d->pieces.len && d->pieces.items[last].start < end && !rc; last++)
		rc = remove_piece(d, &d->pieces.items[last], &place, diag);
	if (first == last)
		return rc;
	memmove(&d->pieces.items[first], &d->pieces.items[last],
		(d->pieces.len - last) * sizeof(*d->pieces.items));
	d->pieces.len -= last - first;
	return rc;
}

/* What a request became, as far as it is known. */
struct made_block {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t requested_bytes;
	uint64_t stream;
	struct place place;
};

static int add_block(struct vt_snapshot_device *d, const struct made_block *block,
		     struct vt_diag *diag)
{
	const uint64_t *live = vt_map_find(&d->live, key(block->address));
	struct vt_event_record record =
		vt_writer_record(d->shared->writer, VT_OP_ALLOC, VT_KIND_BLOCK, d->id,
				 VT_WRITER_c10_reportMemoryUsage);

	/* Its free is not in the trace. */
	if (live)
		d->allocated_bytes -= *live;
	vt_map_put(&d->live, key(block->address), block->size_bytes);
	vt_block_sizes_add(&d->sizes, block->address, block->size_bytes);
	d->allocated_bytes += block->size_bytes;
	if (put_place(d, &record, &block->place, diag))
		return -1;
	/* As the recorder has it: below the smallest block the size says nothing. */
	if (block->requested_bytes >= VT_SETTINGS_BLOCK_ROUNDING)
		record.extra = block->requested_bytes;
	record.stream = block->stream;
	record.allocated_bytes = d->allocated_bytes;
	record.reserved_bytes = d->reserved_bytes;
	if (write_simple(d, &record, block->address, block->size_bytes, diag))
		return -1;
	return vt_snapshot_labels_write(&block->place.labels, d->shared->stacks, d->shared->writer,
					&record, diag);
}

/* A block is free for its program when that is asked for, and for others when it is done. */
static int take_free(struct vt_snapshot_device *d, const struct vt_snapshot_entry *entry,
		     struct vt_diag *diag)
{
	const uint64_t *live = vt_map_find(&d->live, key(entry->address));
	struct vt_event_record record =
		vt_writer_record(d->shared->writer, VT_OP_FREE, VT_KIND_BLOCK, d->id,
				 VT_WRITER_c10_reportMemoryUsage);
	const struct place place = place_of(entry);

	if (entry->action == VT_SNAPSHOT_FREE_COMPLETED || !d->start.has_completed)
		vt_block_sizes_remove(&d->sizes, entry->address);
	if (!live)
		return 0;
	d->allocated_bytes -= *live;
	vt_map_remove(&d->live, key(entry->address));
	if (put_place(d, &record, &place, diag))
		return -1;
	record.stream = entry->stream;
	record.allocated_bytes = d->allocated_bytes;
	record.reserved_bytes = d->reserved_bytes;
	return write_simple(d, &record, entry->address, entry->size_bytes, diag);
}

static int take_oom(struct vt_snapshot_device *d, const struct vt_snapshot_entry *entry,
		    struct vt_diag *diag)
{
	struct vt_event_record record =
		vt_writer_record(d->shared->writer, VT_OP_OUT_OF_MEMORY, VT_KIND_BLOCK, d->id,
				 VT_WRITER_c10_reportOutOfMemory);
	const struct place place = place_of(entry);

	d->most_bytes = d->reserved_bytes + entry->device_free_bytes;
	if (put_place(d, &record, &place, diag))
		return -1;
	record.stream = entry->stream;
	record.allocated_bytes = d->allocated_bytes;
	record.reserved_bytes = d->reserved_bytes;
	return write_simple(d, &record, 0, entry->size_bytes, diag);
}

int vt_snapshot_device_take(struct vt_snapshot_device *d, const struct vt_snapshot_entry *entry,
			    struct vt_diag *diag)
{
	const struct place place = only_frames(entry->frames);
	uint64_t pool;

	switch (entry->action) {
	case VT_SNAPSHOT_ALLOC:
		return add_block(d,
				 &(struct made_block){
					 .address = entry->address,
					 .size_bytes = vt_block_sizes_find(
						 &d->sizes, entry->address, entry->size_bytes),
					 .requested_bytes = entry->requested_bytes,
					 .stream = entry->stream,
					 .place = place_of(entry),
				 },
				 diag);
	case VT_SNAPSHOT_FREE_REQUESTED:
	case VT_SNAPSHOT_FREE_COMPLETED:
		return take_free(d, entry, diag);
	case VT_SNAPSHOT_SEGMENT_ALLOC:
		pool = vt_start_pool_of(&d->start, entry);
		return add_segment(d, entry->address, entry->size_bytes, &place, pool, diag);
	case VT_SNAPSHOT_SEGMENT_FREE:
		return remove_segment(d, entry, diag);
	case VT_SNAPSHOT_SEGMENT_MAP:
		pool = vt_start_pool_of(&d->start, entry);
		return add_pieces(d, entry->address, entry->size_bytes, &place, pool, diag);
	case VT_SNAPSHOT_SEGMENT_UNMAP:
		return remove_pieces(d, entry, diag);
	case VT_SNAPSHOT_OOM:
		return take_oom(d, entry, diag);
	case VT_SNAPSHOT_ANNOTATE:
		return vt_snapshot_labels_annotate(entry, d->shared->stacks, d->shared->writer,
						   d->id, diag);
	default:
		return 0;
	}
}

static int begin_segments(struct vt_snapshot_device *d, struct vt_diag *diag)
{
	const struct vt_start *start = &d->start;

	for (size_t i = 0; i < start->expandable.len; i++) {
		const struct vt_range *range = &start->expandable.items[i];
		struct vt_event_record record =
			vt_writer_record(d->shared->writer, VT_OP_RESERVE, VT_KIND_ADDRESS, -1,
					 VT_WRITER_cuMemAddressReserve);

		if (write_simple(d, &record, range->start, range->end - range->start, diag))
			return -1;
	}
	for (size_t i = 0; i < start->segments.len; i++) {
		const struct vt_start_segment *s = &start->segments.items[i];
		const struct place place = only_frames(s->frames);

		if (s->is_expandable ?
			    add_pieces(d, s->address, s->size_bytes, &place, s->pool, diag) :
			    add_segment(d, s->address, s->size_bytes, &place, s->pool, diag))
			return -1;
	}
	return 0;
}

int vt_snapshot_device_begin(struct vt_snapshot_device *d, struct vt_diag *diag)
{
	if (begin_segments(d, diag))
		return -1;
	for (size_t i = 0; i < d->start.blocks.len; i++) {
		const struct vt_start_block *b = &d->start.blocks.items[i];
		struct made_block block = {
			.address = b->address,
			.size_bytes = b->size_bytes,
			.requested_bytes = b->requested_bytes,
			.stream = b->stream,
			.place = { b->frames, b->forward_frames, b->labels },
		};

		if (!block.size_bytes)
			block.size_bytes = vt_settings_round(d->shared->settings,
							     b->requested_bytes);
		if (b->is_pending)
			vt_block_sizes_add(&d->sizes, block.address, block.size_bytes);
		else if (add_block(d, &block, diag))
			return -1;
	}
	return 0;
}

/*
 * A snapshot has no size of its devices.  Where a request failed it is known what PyTorch's
 * allocator could have at most, and that is what failures are judged by: the context is no part.
 */
int vt_snapshot_device_end(struct vt_snapshot_device *d, struct vt_diag *diag)
{
	struct vt_db *db = d->shared->writer->db;
	struct vt_stmt *insert = vt_db_prepare(
		db, "INSERT INTO device"
		    " VALUES (?1, 'unknown device', ifnull(?2, 0), 0, 0, 0, 0, ?2 * 0)");
	int rc;

	vt_stmt_bind_int(insert, 1, d->id);
	if (d->most_bytes && d->most_bytes <= INT64_MAX)
		vt_stmt_bind_int(insert, 2, (int64_t)d->most_bytes);
	else
		vt_stmt_bind_null(insert, 2);
	rc = vt_stmt_step(insert);
	vt_stmt_free(insert);
	if (rc)
		vt_db_diag(db, diag);
	return rc ? -1 : 0;
}
