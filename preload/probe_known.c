/* SPDX-License-Identifier: MIT */
#include "preload/probe_known.h"

#include <errno.h>
#include <string.h>

#include "preload/sys.h"
#include "preload/thread_state.h"

/* Programs that train free some thousand different addresses between two probes. */
#define FREED_BITS 18
#define FREED_WORDS ((1u << FREED_BITS) / 64)

#define FIRST_TABLE_BITS 12
#define LAST_TABLE_BITS 21	/* a million entries: then all is forgotten and written again */

struct entry {
	uint64_t key; /* 0 = empty */
	uint64_t content;
};

static struct {
	uint64_t freed[2][FREED_WORDS];	/* atomic words */
	uint32_t collecting;		/* atomic: which of the two takes frees now */
	uint32_t generation;		/* the recording that the rest belongs to */
	struct entry *entries;
	uint32_t bits;
	uint32_t used;
} g;

/* 2^64 divided by the golden ratio: its product's upper bits depend on all bits of the address. */
static uint32_t freed_bit(uint64_t address)
{
	return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> (64 - FREED_BITS));
}

void vt_probe_known_note_free(uint64_t address)
{
	uint32_t which = __atomic_load_n(&g.collecting, __ATOMIC_RELAXED);
	uint32_t bit = freed_bit(address);
	uint64_t *word = &g.freed[which][bit / 64];

	/* Mostly set already: then the cache line stays shared. */
	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) >> bit % 64 & 1))
		__atomic_fetch_or(word, 1ull << bit % 64, __ATOMIC_RELAXED);
}

static int was_freed(uint64_t address)
{
	uint32_t which = 1 - __atomic_load_n(&g.collecting, __ATOMIC_RELAXED);
	uint32_t bit = freed_bit(address);

	return (int)(__atomic_load_n(&g.freed[which][bit / 64], __ATOMIC_RELAXED) >> bit % 64 & 1);
}

static size_t table_bytes(uint32_t bits)
{
	return ((size_t)1 << bits) * sizeof(struct entry);
}

/* The entry of a key, or the empty one where it belongs. */
static struct entry *find(struct entry *entries, uint32_t bits, uint64_t key)
{
	uint64_t mask = ((uint64_t)1 << bits) - 1, at = key >> 17 & mask;

	while (entries[at].key && entries[at].key != key)
		at = (at + 1) & mask;
	return &entries[at];
}

static int new_table(uint32_t bits)
{
	struct entry *entries = vt_sys_map_private(table_bytes(bits));

	if (!entries)
		return -ENOMEM;
	g.used = 0;
	if (g.entries && bits > g.bits) {
		for (size_t i = 0; i < (size_t)1 << g.bits; i++) {
			if (!g.entries[i].key)
				continue;
			*find(entries, bits, g.entries[i].key) = g.entries[i];
			g.used++;
		}
	}
	if (g.entries)
		vt_sys_unmap(g.entries, table_bytes(g.bits));
	g.entries = entries;
	g.bits = bits;
	return 0;
}

static void keep(uint64_t key, uint64_t content)
{
	struct entry *entry;

	if (g.used >= 1u << g.bits >> 1 &&
	    new_table(g.bits < LAST_TABLE_BITS ? g.bits + 1 : FIRST_TABLE_BITS))
		return;
	entry = find(g.entries, g.bits, key);
	g.used += !entry->key;
	*entry = (struct entry){ .key = key, .content = content };
}

int vt_probe_known_begin(void)
{
	uint32_t generation = vt_thread_generation();
	uint32_t which = __atomic_load_n(&g.collecting, __ATOMIC_RELAXED);

	if (g.generation != generation) {
		if (g.entries)
			vt_sys_unmap(g.entries, table_bytes(g.bits));
		g.entries = NULL;
		g.generation = generation;
	}
	if (!g.entries && new_table(FIRST_TABLE_BITS))
		return -ENOMEM;
	__atomic_store_n(&g.collecting, 1 - which, __ATOMIC_SEQ_CST);
	return 0;
}

void vt_probe_known_end(void)
{
	uint32_t which = 1 - __atomic_load_n(&g.collecting, __ATOMIC_RELAXED);

	memset(g.freed[which], 0, sizeof(g.freed[which]));
}

int vt_probe_known_has_tensor(uint64_t address, const struct vt_key *key)
{
	struct entry *entry = find(g.entries, g.bits, key->low);

	return entry->key && entry->content == key->high && !was_freed(address);
}

void vt_probe_known_keep_tensor(const struct vt_key *key)
{
	keep(key->low, key->high);
}

static uint64_t place_of(uint64_t address)
{
	const uint64_t words[2] = { address, 0 };

	return vt_ids_key(words, sizeof(words)).low;
}

int vt_probe_known_has_place(uint64_t address)
{
	return find(g.entries, g.bits, place_of(address))->key != 0;
}

int vt_probe_known_is_last(uint64_t address, const struct vt_key *key)
{
	struct entry *entry = find(g.entries, g.bits, place_of(address));

	return entry->key && entry->content == key->high;
}

void vt_probe_known_keep_last(uint64_t address, const struct vt_key *key)
{
	keep(place_of(address), key->high);
}
