/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_IDS_H
#define VT_PRELOAD_IDS_H

/*
 * A table that gives content a number, without locks and without keeping the content: a key is 128
 * bits hashed from it, so that two different contents under one key are not to be expected in any
 * run.
 *
 * A new content is first written to the journal and then published, so that its record normally
 * stands before its first use.  Two threads that meet it at once write it under two ids, which
 * readers accept.  A table never grows: when it is half full, new contents are written each time
 * they are met.
 *
 * Context: hook, any thread.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_key {
	uint64_t low;	/* never 0 */
	uint64_t high;
};

struct vt_id_slot;

struct vt_id_places {
	struct vt_id_slot *slots;
	uint32_t bits;
	uint32_t used;		/* atomic */
};

/* What comes first lies close together, where a processor's caches reach: most is met again. */
#define VT_IDS_NR_PLACES 2

struct vt_ids {
	struct vt_id_places places[VT_IDS_NR_PLACES];
	uint32_t last;		/* id given out last (atomic) */
};

/*
 * Makes an empty table of 2^bits places and a few more; the memory of an earlier one is reused.
 * Returns 0 or -ENOMEM.
 */
int vt_ids_reset(struct vt_ids *ids, uint32_t bits);

/* The id published for the key, or 0. */
uint32_t vt_ids_find(const struct vt_ids *ids, const struct vt_key *key);

/* A number that nobody has had yet, from 1. */
uint32_t vt_ids_next(struct vt_ids *ids);

/* Makes the id known for the key, unless another thread was first or the table is full. */
void vt_ids_publish(struct vt_ids *ids, const struct vt_key *key, uint32_t id);

/* Hashes any bytes. */
struct vt_key vt_ids_key(const void *bytes, size_t len);

/* Multipliers of the two lanes. */
#define VT_IDS_LOW  0x87c37b91114253d5ull
#define VT_IDS_HIGH 0x9fb21c651e98df25ull

/*
 * Hashes a sequence of words so that a longer one continues a shorter one: start, push each,
 * finish.  Two lanes of multiplications folded to 64 bits, with different constants.
 */
static inline struct vt_key vt_ids_key_start(void)
{
	return (struct vt_key){ 0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full };
}

static inline uint64_t vt_ids_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline struct vt_key vt_ids_key_push(struct vt_key key, uint64_t word)
{
	key.low = vt_ids_fold(key.low ^ word, VT_IDS_LOW);
	key.high = vt_ids_fold(key.high + word, VT_IDS_HIGH);
	return key;
}

/* Two words that belong together, for one multiplication a lane. */
static inline struct vt_key vt_ids_key_push_pair(struct vt_key key, uint64_t a, uint64_t b)
{
	key.low = vt_ids_fold(key.low ^ a, b ^ VT_IDS_LOW);
	key.high = vt_ids_fold(key.high + a, b ^ VT_IDS_HIGH);
	return key;
}

static inline struct vt_key vt_ids_key_finish(struct vt_key key)
{
	key.low |= 1;
	return key;
}

#endif
