/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_JOURNAL_H
#define VT_PRELOAD_JOURNAL_H

/*
 * The journal of this process: an append-only file, mapped shared, no descriptor kept.  Layout and
 * rules (J1..J4) are in common/journal_format.h.
 *
 * Context: hook, any thread.  Appending takes no lock; only one thread at a time grows the file,
 * the others continue in what is there.  What does not fit is counted; where a thread does not come
 * back from growing or writing, the recording ends after two seconds (ETIMEDOUT).
 */

#include <stddef.h>
#include <stdint.h>

#include "common/journal_format.h"

/*
 * Creates the file (which must not exist) and starts recording into it.  Returns 0, -EEXIST, or
 * another negative errno; after a failure nothing is left behind.  Not for two threads at once.
 */
int vt_journal_open(const char *path);

/*
 * What the file may take of the disk, in bytes, from the next open on; 0: no limit.  What has been
 * imported and given back does not count.  At it events are lost until the importer has made room.
 */
void vt_journal_set_limit(uint64_t most_bytes);

/*
 * Where the file cannot be mapped: writes what was committed, reads what the importer says.
 * Otherwise both happen by themselves, and this does nothing.
 */
void vt_journal_exchange(void);

/* Gives up the mapping without touching it: in a fork child the journal is the parent's. */
void vt_journal_forget(void);

/* Whether records can be appended: not after the end, nor while the file is at its limit. */
int vt_journal_is_recording(void);

/* Page 0 of the open journal, or NULL. */
struct vt_journal_header *vt_journal_header(void);

/* Events and marks recorded so far. */
uint64_t vt_journal_nr_events(void);

/* Counts events that could not be recorded; before the first open they are kept for its header. */
void vt_journal_count_lost(uint64_t nr_events);

/*
 * Events that were lost since the journal recorded a loss, 0 mostly; the caller, one for each loss,
 * records it, or gives them back where it cannot.
 */
uint64_t vt_journal_take_losses(void);
void vt_journal_give_back_losses(uint64_t nr_events);

/*
 * Takes room for a record of `bytes` (at most VT_RECORD_MAX_BYTES), zeroed.  Returns NULL if there
 * is none. Everything between this and vt_journal_commit must be short and must not fail.
 */
void *vt_journal_reserve(size_t bytes, uint64_t *slot);

/* Publishes what vt_journal_reserve gave; the record must not be touched afterwards. */
void vt_journal_commit(void *record, uint64_t slot, size_t bytes, enum vt_record_type type);

/*
 * Room, copy and publication in one for a record that is one piece, whose head is filled in.
 * Returns 0 or -1.
 */
int vt_journal_append(void *record, size_t bytes, enum vt_record_type type);

#endif
