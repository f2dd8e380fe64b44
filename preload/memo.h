/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_MEMO_H
#define VT_PRELOAD_MEMO_H

/*
 * A small memory of answers in front of something slower: a few words of key, a number.  Each key
 * has one place, where the newest answer overwrites what was there, so a miss means nothing.  The
 * key is kept whole: an answer is never that of another key.
 *
 * Context: hook, any thread, no lock.  A place that is being written reads as a miss.  All zero is
 * empty.
 */

#include <stdint.h>

#define VT_MEMO_WORDS 7
#define VT_MEMO_SLOTS 4096u

struct vt_memo_key {
	uint64_t words[VT_MEMO_WORDS];	/* the first distinguishes most keys: an address */
};

static inline int vt_memo_is_same(const struct vt_memo_key *a, const struct vt_memo_key *b)
{
	uint64_t differs = 0;

#pragma GCC unroll 7
	for (int i = 0; i < VT_MEMO_WORDS; i++)
		differs |= a->words[i] ^ b->words[i];
	return !differs;
}

/* One cache line. */
struct vt_memo_slot {
	uint32_t version; /* atomic; odd while it is written, another one after every write */
	uint32_t value;
	struct vt_memo_key key;
} __attribute__((aligned(64)));

struct vt_memo {
	struct vt_memo_slot slots[VT_MEMO_SLOTS];
};

static inline struct vt_memo_slot *vt_memo_slot_of(struct vt_memo *memo,
						   const struct vt_memo_key *key)
{
	/*
	 * 2^64 divided by the golden ratio; its product's upper bits depend on all bits of the
	 * address.
	 */
	return &memo->slots[(key->words[0] * 0x9e3779b97f4a7c15ull >> 32) % VT_MEMO_SLOTS];
}

/* The number stored for the key, or 0. */
static inline uint32_t vt_memo_find(struct vt_memo *memo, const struct vt_memo_key *key)
{
	struct vt_memo_slot *slot = vt_memo_slot_of(memo, key);
	uint32_t version = __atomic_load_n(&slot->version, __ATOMIC_ACQUIRE), value;
	uint64_t differs = version & 1;
	int i;

	/* Unrolled, the caller's key can stay in registers. */
#pragma GCC unroll 7
	for (i = 0; i < VT_MEMO_WORDS; i++)
		differs |= __atomic_load_n(&slot->key.words[i], __ATOMIC_RELAXED) ^ key->words[i];
	value = __atomic_load_n(&slot->value, __ATOMIC_RELAXED);
	/* What was read belongs together only if nobody has written meanwhile. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (differs || __atomic_load_n(&slot->version, __ATOMIC_RELAXED) != version)
		return 0;
	return value;
}

/* Remembers a number (not 0) for the key, unless another thread is writing in its place. */
static inline void vt_memo_store(struct vt_memo *memo, const struct vt_memo_key *key,
				 uint32_t value)
{
	struct vt_memo_slot *slot = vt_memo_slot_of(memo, key);
	uint32_t version = __atomic_load_n(&slot->version, __ATOMIC_RELAXED);
	int i;

	if (version & 1 || !__atomic_compare_exchange_n(&slot->version, &version, version + 1, 0,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	/* A reader that sees any of the stores below also sees the odd version. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (i = 0; i < VT_MEMO_WORDS; i++)
		__atomic_store_n(&slot->key.words[i], key->words[i], __ATOMIC_RELAXED);
	__atomic_store_n(&slot->value, value, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->version, version + 2, __ATOMIC_RELEASE);
}

/* Forgets everything; no other thread may use the memo meanwhile. */
static inline void vt_memo_clear(struct vt_memo *memo)
{
	uint32_t i;

	/* Pages that were never written to are only read, and cost no memory. */
	for (i = 0; i < VT_MEMO_SLOTS; i++)
		if (memo->slots[i].version)
			memo->slots[i] = (struct vt_memo_slot){ 0 };
}

#endif
