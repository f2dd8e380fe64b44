/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_BOOKS_H
#define VT_ANALYZER_BOOKS_H

/*
 * The balance of one device at one moment: every byte in use belongs to an owner, is kept by a
 * framework's allocator for later, or is the context's or other processes'.  What does not add up
 * to what the driver said is the difference, and is printed.
 */

#include <stdint.h>

#include "analyzer/attribution/attribution.h"

struct vt_books_line {
	const char *owner; /* borrowed from the attribution */
	uint64_t bytes;
	uint64_t requested_bytes; /* before rounding; the block's where that is not known */
	uint32_t blocks;
	uint64_t provenance[VT_NR_PROVENANCES]; /* bytes */
	uint64_t trained_bytes; /* weights that a probe saw: those that require a gradient */
	uint64_t frozen_bytes;
};

/* Owners of bytes in use that no allocation has, in the order of the books. */
#define VT_BOOKS_REST_OWNERS(X)                                                                    \
	/* no live block: empty_cache() can return them */                                         \
	X(FREE_SEGMENTS, "cached/free segments")                                                   \
	/* free pieces beside live blocks */                                                       \
	X(PINNED, "cached/pinned")                                                                 \
	/* kept by the driver, in stream-ordered pools and for memory nodes of graphs */           \
	X(POOL, "cached/pool")                                                                     \
	X(GRAPH_MEMORY, "cached/graph memory")                                                     \
	/* free, but kept for replays; the number of the capture follows: "graph pools/1" */       \
	X(GRAPH_POOLS, "graph pools")                                                              \
	/* small allocations, rounded to the driver's pages */                                     \
	X(UNFILLED_PAGES, "unfilled pages")                                                        \
	X(CONTEXT, "context")                                                                      \
	X(OTHER_PROCESSES, "other processes")

#define VT_BOOKS_REST_ENUM(name, text) VT_REST_##name,
enum vt_rest_owner { VT_BOOKS_REST_OWNERS(VT_BOOKS_REST_ENUM) VT_NR_REST_OWNERS };
extern const char *const vt_rest_owners[VT_NR_REST_OWNERS];

struct vt_books_rest {
	char owner[40];
	uint64_t bytes;
};

struct vt_books {
	int64_t event;
	int device;
	struct vt_books_line *lines; /* leaves, by path */
	uint32_t nr_lines;
	struct vt_books_rest *rest; /* in the order above */
	uint32_t nr_rest;
	uint64_t allocated_bytes; /* blocks */
	uint64_t requested_bytes; /* of them; as of the lines */
	uint64_t reserved_bytes;  /* driver memory that holds blocks */
	uint64_t cached_bytes; /* the sum of the next four */
	uint64_t free_segment_bytes;
	uint64_t pinned_bytes;
	uint64_t idle_pool_bytes; /* in no segment, as the next */
	uint64_t idle_graph_bytes;
	uint64_t graph_pool_bytes;
	uint64_t used_bytes; /* from the driver, without the context */
	uint64_t context_bytes; /* 0 where it is not known */
	uint64_t other_bytes;   /* other processes; 0 where they are part of the context */
	uint64_t rounding_bytes;
	uint8_t has_context;
	uint8_t has_other;
	int64_t unseen_bytes;	  /* that the driver says beyond all of this */
	int64_t difference_bytes; /* device used - owners - rest */
};

void vt_books_init(struct vt_books *books, struct vt_attribution *attribution, int device,
		   int64_t event);
/* The same where the allocations that are live then are known: those of `live`, by index. */
void vt_books_init_of(struct vt_books *books, struct vt_attribution *attribution, int device,
		      int64_t event, const uint32_t *live, uint32_t nr_live);
void vt_books_release(struct vt_books *books);

/* Everything in use, with the context and other processes where they are known. */
uint64_t vt_books_device_used(const struct vt_books *books);
/* Of it by the process. */
uint64_t vt_books_process_used(const struct vt_books *books);
/* Bytes per enum vt_provenance over all owners; returns their sum. */
uint64_t vt_books_provenance(const struct vt_books *books, uint64_t *bytes);

#endif
