/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PRELOAD_WALK_H
#define TESTS_PRELOAD_WALK_H

/*
 * Reads a journal as common/FORMAT.md says, for tests that do not want to depend on the analyzer.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/journal_format.h"

struct walk {
	unsigned char *bytes;	/* the file */
	size_t size_bytes;
	uint64_t slot;		/* where the next record is looked for */
	uint64_t nr_torn;	/* slots passed that hold no record */
};

/* Opens a journal; the test fails if it cannot be read or its header is refused. */
void walk_open(struct walk *walk, const char *path);
void walk_close(struct walk *walk);

const struct vt_journal_header *walk_header(const struct walk *walk);

/* The next record that is there, pads left out; NULL at the head or at the end of the file. */
const struct vt_record *walk_next(struct walk *walk);

/* How many records of that type there are, from the start. */
unsigned int walk_count(struct walk *walk, enum vt_record_type type);

/* How many events there are but for samples of what the device has in use. */
unsigned int walk_count_changes(struct walk *walk);

/* The n-th event (from 0) of that function (0 = any); the test fails if there is none. */
struct vt_event_record walk_event(struct walk *walk, unsigned int function, unsigned int n);

/* The value of an info record as a NUL-terminated text, or NULL. */
const char *walk_info(struct walk *walk, const char *key);

#endif
