/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_JOURNAL_READER_H
#define VT_ANALYZER_JOURNAL_READER_H

/*
 * Slots in memory to records, by the rules of common/FORMAT.md.  Knows nothing of files: the memory
 * is a mapping of a journal or a buffer of a test.
 *
 *  R1  No byte is read outside the given slots, whatever the bytes say.
 *  R2  A record that is returned is whole, and its variable parts lie inside it.
 *  R3  While the writer lives, reading stops at the first slot that is not there; the same call
 *      later continues.  What precedes a record that is VT_JOURNAL_HOLE_NS older than the
 *      newest is never finished: it is passed as of a dead writer.
 *  R4  Once it is dead, what is not there is passed slot by slot and each gap is counted.
 */

#include <stdint.h>

#include "common/journal_format.h"

/* FORMAT.md, "The journal file". */
#define VT_JOURNAL_HOLE_NS 60000000000ull

struct vt_journal_reader {
	const unsigned char *slots; /* borrowed; slot 0 */
	uint64_t nr_slots;          /* how many may be read */
	uint64_t slot;              /* everything below was read or passed */
	uint64_t torn_records;      /* gaps that were passed, records that contradict themselves */
	int is_writer_dead;
	int is_in_gap;
	uint64_t hole_slot;    /* where reading stopped last, + 1 */
	uint64_t behind_slot;  /* the first record with a time after it, or how far was looked */
	uint64_t behind_ns;    /* its time, 0: not found yet */
	uint64_t passed_slots; /* what is not there below this is passed */
};

/* Starts at `first_slot` (0, or what an earlier import recorded). */
void vt_journal_reader_init(struct vt_journal_reader *reader, uint64_t first_slot);

/* Says what may be read now: called again whenever the journal has grown or moved. */
void vt_journal_reader_feed(struct vt_journal_reader *reader, const void *slots, uint64_t nr_slots);

/*
 * The next record, NULL where there is none (yet).  Pads are passed over; unknown types are
 * returned.  The record is borrowed from the slots.
 */
const struct vt_record *vt_journal_reader_next(struct vt_journal_reader *reader);

#endif
