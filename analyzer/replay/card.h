/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_CARD_H
#define VT_ANALYZER_CARD_H

/*
 * The device under the replayed allocator: how much memory there is, and which addresses the driver
 * gives.  Addresses decide ties between free pieces of one size.  Where the recording says what the
 * driver gave, that is given again; otherwise the lowest free address, as the simulated driver
 * does.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

struct vt_card_range {
	uint64_t start, end;
};

struct vt_card {
	uint64_t capacity_bytes;               /* what the process can have, without its context */
	uint64_t used_bytes;                   /* by the allocator and by others */
	VT_VECTOR(struct vt_card_range) taken; /* address space, in order */
	VT_VECTOR(struct vt_card_range) expected;
};

void vt_card_init(struct vt_card *card, uint64_t capacity_bytes);
void vt_card_release(struct vt_card *card);

/* The next piece of address space of exactly this size is to lie there. */
void vt_card_expect(struct vt_card *card, uint64_t address, uint64_t size_bytes);
void vt_card_forget_expected(struct vt_card *card);

/* Memory without address.  Returns 0, or -1 where there is not that much left. */
int vt_card_charge(struct vt_card *card, uint64_t size_bytes);
void vt_card_discharge(struct vt_card *card, uint64_t size_bytes);

/* Address space without memory. */
uint64_t vt_card_reserve(struct vt_card *card, uint64_t size_bytes);
void vt_card_unreserve(struct vt_card *card, uint64_t address, uint64_t size_bytes);

#endif
