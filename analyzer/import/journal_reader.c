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

/* The record at the reader's slot, NULL if it is not there. */
static const struct vt_record *record_here(const struct vt_journal_reader *reader)
{
	const void *at = reader->slots + reader->slot * VT_SLOT_BYTES;
	const struct vt_record *record = at;

	/* Acquire: the writer stored the commit word after everything else (J1). */
	if (__atomic_load_n(&record->commit, __ATOMIC_ACQUIRE) != vt_record_commit(reader->slot))
		return NULL;
	if (!vt_record_is_valid(record, reader->slot, reader->nr_slots - reader->slot))
		return NULL;
	return record;
}

const struct vt_record *vt_journal_reader_next(struct vt_journal_reader *reader)
{
	const struct vt_record *record;

	while (reader->slot < reader->nr_slots) {
		record = record_here(reader);
		if (!record) {
			if (!reader->is_writer_dead)
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
