/* SPDX-License-Identifier: MIT */
#ifndef VT_TESTS_JOURNAL_BUILDER_H
#define VT_TESTS_JOURNAL_BUILDER_H

/* Makes journals in memory, record by record, by the rules of common/FORMAT.md. */

#include <stddef.h>
#include <stdint.h>

#include "common/journal_format.h"

struct builder {
	unsigned char *bytes; /* header page, then slots */
	size_t capacity;
	uint64_t nr_slots;
	uint64_t nr_events;
	uint64_t time_ns;
};

void builder_init(struct builder *b);
/* In zeroed memory of the caller's that is large enough for all of it; not to be released. */
void builder_init_in(struct builder *b, void *memory, size_t bytes);
void builder_release(struct builder *b);

/* The header; head_slots is kept right. */
struct vt_journal_header *builder_header(struct builder *b);
const void *builder_slots(const struct builder *b);
size_t builder_bytes(const struct builder *b);

/* Appends any record; `record` is filled but for its head.  Returns its slot. */
uint64_t builder_append(struct builder *b, enum vt_record_type type, const void *record,
			size_t bytes);
/* Reserves slots and leaves them as a thread that was stopped there would. */
uint64_t builder_tear(struct builder *b, uint32_t nr_slots);

/* Appends an event (time, thread and no sequences are filled in) and returns its number. */
uint64_t builder_event(struct builder *b, struct vt_event_record event);
/* By any thread, with what matters to how long memory lives; on device 0. */
uint64_t builder_call(struct builder *b, uint32_t thread, enum vt_op op, enum vt_kind kind,
		      uint64_t address, uint64_t size_bytes, uint64_t extra);
/* The common ones, by thread 1 on device 0. */
uint64_t builder_alloc(struct builder *b, enum vt_kind kind, uint64_t address, uint64_t size_bytes);
uint64_t builder_free(struct builder *b, enum vt_kind kind, uint64_t address);
uint64_t builder_mark(struct builder *b, enum vt_mark_kind kind, uint32_t name);

void builder_string(struct builder *b, uint32_t id, const char *text);
void builder_info(struct builder *b, const char *key, const char *value);
void builder_module(struct builder *b, uint64_t start, uint64_t end, const char *path);
void builder_native_stack(struct builder *b, uint32_t id, const uint64_t *frames, uint32_t nr);
void builder_python_code(struct builder *b, uint32_t id, const char *name, uint32_t first_line,
			 const void *table, uint32_t table_len);
void builder_python_stack(struct builder *b, uint32_t id, const struct vt_python_frame *frames,
			  uint32_t nr);
void builder_device(struct builder *b, int32_t id, const char *name, uint64_t total_bytes);

/* Writes the journal as a file. */
void builder_write(const struct builder *b, const char *path);

#endif
