/* SPDX-License-Identifier: MIT */
#include "tests/lib/journal_builder.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/util.h"

static void make_room(struct builder *b, uint64_t nr_slots)
{
	size_t wanted = VT_JOURNAL_HEADER_BYTES + (b->nr_slots + nr_slots) * VT_SLOT_BYTES;
	size_t capacity = b->capacity;

	if (wanted <= capacity)
		return;
	b->bytes = vt_vector_grow(b->bytes, &b->capacity, wanted, 1);
	memset(b->bytes + capacity, 0, b->capacity - capacity);
}

static void start(struct builder *b)
{
	struct vt_journal_header *header;

	make_room(b, 1);
	b->time_ns = 1000000;
	header = builder_header(b);
	header->magic = VT_JOURNAL_MAGIC;
	header->version = VT_JOURNAL_VERSION;
	header->minimum_reader = VT_JOURNAL_VERSION;
	header->header_bytes = VT_JOURNAL_HEADER_BYTES;
	header->slot_bytes = VT_SLOT_BYTES;
	header->chunk_bytes = VT_CHUNK_BYTES;
	/* Above what the kernel gives out: a process that is dead. */
	header->pid = 0x7ffffff0;
	header->process_start_ticks = 1;
	header->start_time_ns = 1000000;
	header->start_realtime_ns = 1700000000000000000ull;
	header->state = VT_JOURNAL_RECORDING;
}

void builder_init(struct builder *b)
{
	memset(b, 0, sizeof(*b));
	start(b);
}

void builder_init_in(struct builder *b, void *memory, size_t bytes)
{
	*b = (struct builder){ .bytes = memory, .capacity = bytes };
	start(b);
}

void builder_release(struct builder *b)
{
	free(b->bytes);
	memset(b, 0, sizeof(*b));
}

struct vt_journal_header *builder_header(struct builder *b)
{
	struct vt_journal_header *header = (void *)b->bytes;

	header->head_slots = b->nr_slots;
	return header;
}

const void *builder_slots(const struct builder *b)
{
	return b->bytes + VT_JOURNAL_HEADER_BYTES;
}

size_t builder_bytes(const struct builder *b)
{
	return VT_JOURNAL_HEADER_BYTES + b->nr_slots * VT_SLOT_BYTES;
}

static struct vt_record *record_at(struct builder *b, uint64_t slot)
{
	return (void *)(b->bytes + VT_JOURNAL_HEADER_BYTES + slot * VT_SLOT_BYTES);
}

/* A record never crosses a chunk boundary: the rest of the chunk becomes a pad. */
static void pad(struct builder *b, uint32_t nr_slots)
{
	uint64_t left = VT_CHUNK_SLOTS - b->nr_slots % VT_CHUNK_SLOTS;
	struct vt_record *record;

	if (nr_slots <= left)
		return;
	make_room(b, left);
	record = record_at(b, b->nr_slots);
	record->nr_slots = (uint32_t)left;
	record->type = VT_RECORD_PAD;
	record->commit = vt_record_commit(b->nr_slots);
	b->nr_slots += left;
}

uint64_t builder_append(struct builder *b, enum vt_record_type type, const void *bytes, size_t len)
{
	uint32_t nr_slots = vt_record_slots(len);
	struct vt_record *record;
	uint64_t slot;

	pad(b, nr_slots);
	make_room(b, nr_slots);
	slot = b->nr_slots;
	record = record_at(b, slot);
	memcpy(record, bytes, len);
	record->nr_slots = nr_slots;
	record->type = (uint16_t)type;
	record->reserved = 0;
	record->sum = vt_record_sum(record);
	record->commit = vt_record_commit(slot);
	b->nr_slots += nr_slots;
	return slot;
}

uint64_t builder_tear(struct builder *b, uint32_t nr_slots)
{
	uint64_t slot = b->nr_slots;

	make_room(b, nr_slots);
	memset(record_at(b, slot), 0, nr_slots * VT_SLOT_BYTES);
	b->nr_slots += nr_slots;
	return slot;
}

uint64_t builder_event(struct builder *b, struct vt_event_record event)
{
	event.time_ns = b->time_ns += 1000;
	if (!event.thread)
		event.thread = 1;
	event.node_sequence = event.forward_sequence = UINT64_MAX;
	builder_append(b, VT_RECORD_EVENT, &event, sizeof(event));
	return ++b->nr_events;
}

uint64_t builder_call(struct builder *b, uint32_t thread, enum vt_op op, enum vt_kind kind,
		      uint64_t address, uint64_t size_bytes, uint64_t extra)
{
	return builder_event(b, (struct vt_event_record){ .thread = thread,
							  .op = (uint16_t)op,
							  .kind = (uint16_t)kind,
							  .address = address,
							  .size_bytes = size_bytes,
							  .extra = extra });
}

uint64_t builder_alloc(struct builder *b, enum vt_kind kind, uint64_t address, uint64_t size_bytes)
{
	return builder_event(b, (struct vt_event_record){ .op = VT_OP_ALLOC,
							  .kind = (uint16_t)kind,
							  .address = address,
							  .size_bytes = size_bytes });
}

uint64_t builder_free(struct builder *b, enum vt_kind kind, uint64_t address)
{
	return builder_event(b, (struct vt_event_record){ .op = VT_OP_FREE,
							  .kind = (uint16_t)kind,
							  .address = address });
}

uint64_t builder_mark(struct builder *b, enum vt_mark_kind kind, uint32_t name)
{
	struct vt_mark_record mark = { .time_ns = b->time_ns += 1000,
				       .thread = 1,
				       .kind = (uint16_t)kind,
				       .source = VT_SOURCE_USER,
				       .name = name };

	builder_append(b, VT_RECORD_MARK, &mark, sizeof(mark));
	return ++b->nr_events;
}

/* A record with variable parts: fixed part, then the pieces. */
static void append_pieces(struct builder *b, enum vt_record_type type, const void *fixed,
			  size_t fixed_len, const void *const *pieces, const size_t *lens)
{
	struct vt_buffer bytes;

	vt_buffer_init(&bytes);
	vt_buffer_append(&bytes, fixed, fixed_len);
	for (int i = 0; pieces[i]; i++)
		vt_buffer_append(&bytes, pieces[i], lens[i]);
	builder_append(b, type, bytes.data, bytes.len);
	vt_buffer_release(&bytes);
}

#define PIECES(...) ((const void *const[]){ __VA_ARGS__, NULL })
#define LENS(...)   ((const size_t[]){ __VA_ARGS__ })

void builder_string(struct builder *b, uint32_t id, const char *text)
{
	struct vt_string_record r = { .id = id, .len = (uint32_t)strlen(text) };

	append_pieces(b, VT_RECORD_STRING, &r, sizeof(r), PIECES(text), LENS(r.len));
}

void builder_info(struct builder *b, const char *key, const char *value)
{
	struct vt_info_record r = { .key_len = (uint32_t)strlen(key),
				    .value_len = (uint32_t)strlen(value) };

	append_pieces(b, VT_RECORD_INFO, &r, sizeof(r), PIECES(key, value),
		      LENS(r.key_len, r.value_len));
}

void builder_module(struct builder *b, uint64_t start, uint64_t end, const char *path)
{
	struct vt_module_record r = { .start = start,
				      .end = end,
				      .bias = start,
				      .build_id_len = 2,
				      .path_len = (uint32_t)strlen(path) };

	append_pieces(b, VT_RECORD_MODULE, &r, sizeof(r), PIECES("\xab\x01", path),
		      LENS(2, r.path_len));
}

void builder_native_stack(struct builder *b, uint32_t id, const uint64_t *frames, uint32_t nr)
{
	struct vt_native_stack_record r = { .id = id, .nr_frames = nr };

	append_pieces(b, VT_RECORD_NATIVE_STACK, &r, sizeof(r), PIECES(frames),
		      LENS(nr * sizeof(*frames)));
}

void builder_python_code(struct builder *b, uint32_t id, const char *name, uint32_t first_line,
			 const void *table, uint32_t table_len)
{
	struct vt_python_code_record r = { .id = id,
					   .first_line = first_line,
					   .python_minor = 10,
					   .file_len = 8,
					   .name_len = (uint32_t)strlen(name),
					   .table_len = table_len };

	append_pieces(b, VT_RECORD_PYTHON_CODE, &r, sizeof(r), PIECES("model.py", name, table),
		      LENS(8, r.name_len, table_len));
}

void builder_python_stack(struct builder *b, uint32_t id, const struct vt_python_frame *frames,
			  uint32_t nr)
{
	struct vt_python_stack_record r = { .id = id, .nr_frames = nr };

	append_pieces(b, VT_RECORD_PYTHON_STACK, &r, sizeof(r), PIECES(frames),
		      LENS(nr * sizeof(*frames)));
}

void builder_device(struct builder *b, int32_t id, const char *name, uint64_t total_bytes)
{
	struct vt_device_record r = { .id = id,
				      .name_len = (uint32_t)strlen(name),
				      .total_bytes = total_bytes,
				      .capability = 90,
				      .multiprocessors = 132,
				      .driver_version = 13000,
				      .is_simulated = 1 };

	append_pieces(b, VT_RECORD_DEVICE, &r, sizeof(r), PIECES(name), LENS(r.name_len));
}

void builder_write(const struct builder *b, const char *path)
{
	struct builder copy = *b;
	FILE *file = fopen(path, "we");

	builder_header(&copy);
	if (!file || fwrite(b->bytes, builder_bytes(b), 1, file) != 1 || fclose(file)) {
		perror(path);
		abort();
	}
}
