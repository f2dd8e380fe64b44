/* SPDX-License-Identifier: MIT */
#include "analyzer/import/journal_reader.h"

#include <string.h>

void vt_journal_reader_init(struct vt_journal_reader *reader, uint64_t first_slot)
{
	memset(reader, 0, sizeof(*reader));
	reader->slot = first_slot;
}

void vt_journal_reader_feed(struct vt_journal_reader *reader, const void *slots, uint64_t nr_slots)
{
	reader->slots = slots;
	reader->nr_slots = nr_slots;
}

/* The record at a slot, NULL if it is not there. */
static const struct vt_record *record_at(const struct vt_journal_reader *reader, uint64_t slot)
{
	const void *at = reader->slots + slot * VT_SLOT_BYTES;
	const struct vt_record *record = at;

	/* Acquire: the writer stored the commit word after everything else (J1). */
	if (__atomic_load_n(&record->commit, __ATOMIC_ACQUIRE) != vt_record_commit(slot))
		return NULL;
	if (!vt_record_is_valid(record, slot, reader->nr_slots - slot))
		return NULL;
	return record;
}

/* When the record at a slot was made, 0 if none is there or it does not say. */
static uint64_t time_at(const struct vt_journal_reader *reader, uint64_t slot)
{
	const void *record = record_at(reader, slot);

	if (!record || !vt_record_is_sound(record))
		return 0;
	switch (((const struct vt_record *)record)->type) {
	case VT_RECORD_EVENT:
		return ((const struct vt_event_record *)record)->time_ns;
	case VT_RECORD_MARK:
		return ((const struct vt_mark_record *)record)->time_ns;
	default:
		return 0;
	}
}

/* How far back the newest is looked for: definitions may follow it, some hundred at most. */
#define NEWEST_SLOTS 4096u

static uint64_t newest_time(const struct vt_journal_reader *reader)
{
	uint64_t time_ns = 0;

	for (uint64_t n = 1; !time_ns && n <= NEWEST_SLOTS && n <= reader->nr_slots; n++)
		time_ns = time_at(reader, reader->nr_slots - n);
	return time_ns;
}

/*
 * Whether a thread that reserved the reader's slot left it for good.  Slots are reserved in order,
 * so it did that before the first record after it was made, and so for all that is not there up
 * to that record.
 */
static int is_hole_old(struct vt_journal_reader *reader)
{
	if (reader->hole_slot != reader->slot + 1) {
		reader->hole_slot = reader->slot + 1;
		reader->behind_slot = reader->slot;
		reader->behind_ns = 0;
	}
	while (!reader->behind_ns && reader->behind_slot + 1 < reader->nr_slots)
		reader->behind_ns = time_at(reader, ++reader->behind_slot);
	if (!reader->behind_ns || newest_time(reader) < reader->behind_ns + VT_JOURNAL_HOLE_NS)
		return 0;
	reader->passed_slots = reader->behind_slot;
	return 1;
}

const struct vt_record *vt_journal_reader_next(struct vt_journal_reader *reader)
{
	const struct vt_record *record;

	while (reader->slot < reader->nr_slots) {
		record = record_at(reader, reader->slot);
		if (!record) {
			if (!reader->is_writer_dead && reader->slot >= reader->passed_slots &&
			    !is_hole_old(reader))
				return NULL;
			reader->torn_records += !reader->is_in_gap;
			reader->is_in_gap = 1;
			reader->slot++;
			continue;
		}
		reader->is_in_gap = 0;
		reader->slot += record->nr_slots;
		if (record->type == VT_RECORD_PAD)
			continue;
		if (vt_record_is_sound(record))
			return record;
		reader->torn_records++;
	}
	return NULL;
}
