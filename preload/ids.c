/* SPDX-License-Identifier: MIT */
/*
 * Open addressing with linear probing.  A slot goes through three states, never back: empty (low
 * 0), claimed (low set by compare-and-swap), published (id set last, with release).  A reader that
 * meets a claimed slot cannot know its key and continues: at worst the content gets a second id.
 */
#include "preload/ids.h"

#include <errno.h>
#include <string.h>

#include "preload/sys.h"

struct vt_id_slot {
	uint64_t low;
	uint64_t high;
	uint32_t id;
	uint32_t unused;
};

/* Longer probe sequences than this mean a full table, not bad luck. */
#define MOST_PROBES 128

/* 192 KiB, for the first 4,096 contents. */
#define FIRST_BITS 13

static size_t bytes_of(uint32_t bits)
{
	return ((size_t)1 << bits) * sizeof(struct vt_id_slot);
}

/* Of no bits: none. */
static int reset(struct vt_id_places *places, uint32_t bits)
{
	if (places->slots)
		vt_sys_unmap(places->slots, bytes_of(places->bits));
	*places = (struct vt_id_places){ .bits = bits };
	if (!bits)
		return 0;
	places->slots = vt_sys_map_private(bytes_of(bits));
	return places->slots ? 0 : -ENOMEM;
}

int vt_ids_reset(struct vt_ids *ids, uint32_t bits)
{
	int err;

	ids->last = 0;
	err = reset(&ids->places[0], bits < FIRST_BITS ? bits : FIRST_BITS);
	return err ? err : reset(&ids->places[1], bits > FIRST_BITS ? bits : 0);
}

static struct vt_id_slot *slot_at(const struct vt_id_places *places, const struct vt_key *key,
				  uint32_t probe)
{
	uint64_t mask = ((uint64_t)1 << places->bits) - 1;

	return &places->slots[((key->low >> 17) + probe) & mask];
}

static uint32_t find(const struct vt_id_places *places, const struct vt_key *key)
{
	if (!places->slots)
		return 0;
	for (uint32_t probe = 0; probe < MOST_PROBES; probe++) {
		const struct vt_id_slot *slot = slot_at(places, key, probe);
		uint64_t low = __atomic_load_n(&slot->low, __ATOMIC_RELAXED);
		uint32_t id;

		if (!low)
			return 0;
		if (low != key->low)
			continue;
		/* Acquire: `high` was stored before the id. */
		id = __atomic_load_n(&slot->id, __ATOMIC_ACQUIRE);
		if (id && slot->high == key->high)
			return id;
	}
	return 0;
}

static int is_full(const struct vt_id_places *places)
{
	return !places->slots ||
	       __atomic_load_n(&places->used, __ATOMIC_RELAXED) >= 1u << places->bits >> 1;
}

uint32_t vt_ids_find(const struct vt_ids *ids, const struct vt_key *key)
{
	uint32_t id = find(&ids->places[0], key);

	if (!id && __atomic_load_n(&ids->places[1].used, __ATOMIC_RELAXED))
		id = find(&ids->places[1], key);
	return id;
}

uint32_t vt_ids_next(struct vt_ids *ids)
{
	return __atomic_add_fetch(&ids->last, 1, __ATOMIC_RELAXED);
}

/* Returns 0 where the key has no place here. */
static int publish(struct vt_id_places *places, const struct vt_key *key, uint32_t id)
{
	if (is_full(places))
		return 0;
	for (uint32_t probe = 0; probe < MOST_PROBES; probe++) {
		struct vt_id_slot *slot = slot_at(places, key, probe);
		uint64_t empty = 0;

		if (__atomic_compare_exchange_n(&slot->low, &empty, key->low, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			slot->high = key->high;
			__atomic_store_n(&slot->id, id, __ATOMIC_RELEASE);
			__atomic_fetch_add(&places->used, 1, __ATOMIC_RELAXED);
			return 1;
		}
		if (empty == key->low)
			return 1;
	}
	return 0;
}

void vt_ids_publish(struct vt_ids *ids, const struct vt_key *key, uint32_t id)
{
	if (!publish(&ids->places[0], key, id))
		publish(&ids->places[1], key, id);
}

static uint64_t mix(uint64_t hash)
{
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdull;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ull;
	return hash ^ hash >> 33;
}

/*
 * Two multiplicative lanes, each over every other 64-bit word, so that they run side by side (a
 * stack of 60 frames is hashed at every event), joined and finished by the mixer of MurmurHash3.
 */
struct vt_key vt_ids_key(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t a = 0x9e3779b97f4a7c15ull ^ len;
	uint64_t b = 0xc2b2ae3d27d4eb4full + len;
	uint64_t words[2];

	while (len) {
		size_t part = len < sizeof(words) ? len : sizeof(words);

		if (part < sizeof(words))
			memset(words, 0, sizeof(words));
		memcpy(words, at, part);
		at += part;
		len -= part;
		a = (a ^ words[0]) * 0x87c37b91114253d5ull;
		a ^= a >> 29;
		b = (b ^ words[1]) * 0x4cf5ad432745937full;
		b ^= b >> 32;
	}
	return (struct vt_key){
		.low = mix(a ^ (b << 32 | b >> 32)) | 1,
		.high = mix(b + a * 0x9fb21c651e98df25ull),
	};
}
