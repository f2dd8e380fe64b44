/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_JOURNAL_PLAIN_H
#define VT_PRELOAD_JOURNAL_PLAIN_H

/*
 * A journal whose file cannot be mapped shared (FUSE with direct I/O, some network and
 * shared-folder file systems): it is made in private memory, and what is committed there is written
 * to the file in batches by open, write, close.  The file is a prefix of the journal at every
 * instant.  A program that is killed loses what it committed since the last batch: at most the
 * events of the last 20 ms before its last event, and at most 64 KiB.
 *
 * Context: hook, any thread; one thread writes, others pass by.
 */

#include <stdint.h>

#include "common/journal_format.h"

/* From now on this memory is the journal; nothing of it is in the file yet. */
void vt_journal_plain_start(struct vt_journal_header *header, unsigned char *slots);

/* Whether enough has come together, or long enough ago, for a batch. */
int vt_journal_plain_is_due(void);

/*
 * Writes what is committed, and the header; gives whole chunks that were written back.  Returns 0
 * (also where another thread is at it), -ETIMEDOUT where that one has not come back within two
 * seconds, or another negative errno.
 */
int vt_journal_plain_write(void);

/* Takes over from the file what the importer says in the header. */
void vt_journal_plain_read(void);

/* Events and marks in memory that are not in the file. */
uint64_t vt_journal_plain_nr_unwritten(void);

#endif
