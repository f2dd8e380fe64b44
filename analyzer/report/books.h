/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BOOKS_H
#define VT_ANALYZER_BOOKS_H

/*
 * The balance of one device at one moment: every byte in use belongs to an owner, is cached by a
 * framework's allocator, or is the context's.  What does not add up is the difference, and is
 * printed.
 */

#include <stdint.h>

#include "analyzer/attribution/attribution.h"

struct vt_books_line {
	const char *owner; /* borrowed from the attribution */
	uint64_t bytes;
	uint32_t blocks;
	uint64_t provenance[VT_NR_PROVENANCES]; /* bytes */
	uint64_t trained_bytes; /* weights that a probe saw: those that require a gradient */
	uint64_t frozen_bytes;
};

struct vt_books {
	int64_t event;
	int device;
	struct vt_books_line *lines; /* leaves, by path */
	uint32_t nr_lines;
	uint64_t allocated_bytes; /* blocks */
	uint64_t reserved_bytes;  /* driver memory that holds blocks */
	uint64_t cached_bytes;
	uint64_t used_bytes; /* from the driver, without the context */
	uint64_t context_bytes;
	uint8_t has_context;
	int64_t difference_bytes; /* device used - owners - cached - context */
};

void vt_books_init(struct vt_books *books, struct vt_attribution *attribution, int device,
		   int64_t event);
void vt_books_release(struct vt_books *books);

/* Everything in use, with the context where it is known. */
uint64_t vt_books_device_used(const struct vt_books *books);
/* Bytes per enum vt_provenance over all owners; returns their sum. */
uint64_t vt_books_provenance(const struct vt_books *books, uint64_t *bytes);

#endif
