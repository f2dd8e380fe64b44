/* SPDX-License-Identifier: MIT */
/*
 * map.c - open addressing with linear probing; a removal moves later entries back, so that there
 * are no tombstones and a map of short-lived addresses does not degrade.
 */
#include "analyzer/base/map.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"

struct vt_key vt_map_text_key(const char *text, size_t len)
{
	return (struct vt_key){ vt_hash_text(text, len), len, 0 };
}

static size_t home_of(const struct vt_map *map, const struct vt_key *key)
{
	uint64_t hash = key->a * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ hash >> 32 ^ key->b) * 0xff51afd7ed558ccdull;
	hash = (hash ^ hash >> 32 ^ key->c) * 0xc4ceb9fe1a85ec53ull;
	return (size_t)(hash ^ hash >> 32) & (map->capacity - 1);
}

static int is_same(const struct vt_key *x, const struct vt_key *y)
{
	return x->a == y->a && x->b == y->b && x->c == y->c;
}

/* The entry with that key, or the free one where it belongs. */
static struct vt_map_entry *locate(const struct vt_map *map, const struct vt_key *key)
{
	size_t at = home_of(map, key);

	while (map->entries[at].is_used && !is_same(&map->entries[at].key, key))
		at = (at + 1) & (map->capacity - 1);
	return &map->entries[at];
}

static void grow(struct vt_map *map)
{
	struct vt_map_entry *old = map->entries;
	size_t old_capacity = map->capacity;

	map->capacity = old_capacity ? old_capacity * 2 : 64;
	map->entries = vt_xzeros(map->capacity, sizeof(*map->entries));
	for (size_t i = 0; i < old_capacity; i++)
		if (old[i].is_used)
			*locate(map, &old[i].key) = old[i];
	free(old);
}

void vt_map_release(struct vt_map *map)
{
	free(map->entries);
	memset(map, 0, sizeof(*map));
}

void vt_map_clear(struct vt_map *map)
{
	vt_map_release(map);
}

uint64_t *vt_map_find(const struct vt_map *map, struct vt_key key)
{
	struct vt_map_entry *entry;

	if (!map->len)
		return NULL;
	entry = locate(map, &key);
	return entry->is_used ? &entry->value : NULL;
}

void vt_map_put(struct vt_map *map, struct vt_key key, uint64_t value)
{
	struct vt_map_entry *entry;

	/* At most half full: probes stay short. */
	if ((map->len + 1) * 2 > map->capacity)
		grow(map);
	entry = locate(map, &key);
	map->len += !entry->is_used;
	*entry = (struct vt_map_entry){ key, value, 1 };
}

int vt_map_remove(struct vt_map *map, struct vt_key key)
{
	size_t mask = map->capacity - 1, hole, at;
	struct vt_map_entry *entry;

	if (!map->len)
		return 0;
	entry = locate(map, &key);
	if (!entry->is_used)
		return 0;
	hole = at = (size_t)(entry - map->entries);
	for (;;) {
		at = (at + 1) & mask;
		if (!map->entries[at].is_used)
			break;
		/* Move back only what does not belong between the hole and here. */
		if (((at - home_of(map, &map->entries[at].key)) & mask) < ((at - hole) & mask))
			continue;
		map->entries[hole] = map->entries[at];
		hole = at;
	}
	map->entries[hole].is_used = 0;
	map->len--;
	return 1;
}
