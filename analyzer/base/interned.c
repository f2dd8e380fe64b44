/* SPDX-License-Identifier: MIT */
#include "analyzer/base/interned.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"

#define CHUNK_VALUES 255

/* Filled from its beginning; never moved. */
struct vt_interned_chunk {
	struct vt_interned_chunk *next;
	size_t nr;
	_Alignas(8) char values[];
};

__extension__ typedef unsigned __int128 wide;

/* Both halves of a product depend on all bits of both factors. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Two words for one multiplication, where vt_hash_mix takes two for each: what meets is compared,
 * and a caller of the importer is a row of twenty numbers.
 */
static uint64_t hash_of(const void *value, size_t compared)
{
	const char *bytes = value;
	uint64_t hash = 0x9e3779b97f4a7c15ull, words[2];

	for (; compared >= sizeof(words); compared -= sizeof(words), bytes += sizeof(words)) {
		memcpy(words, bytes, sizeof(words));
		hash = fold(words[0] ^ hash, words[1] ^ 0xbf58476d1ce4e5b9ull);
	}
	words[0] = words[1] = 0;
	memcpy(words, bytes, compared);
	hash = fold(words[0] ^ hash, words[1] ^ 0x94d049bb133111ebull);
	return hash ^ hash >> 32;
}

/* Where it is, or would be. */
static void **locate(const struct vt_interned *interned, const void *value, size_t compared)
{
	size_t at = (size_t)hash_of(value, compared) & (interned->capacity - 1);

	while (interned->table[at] && memcmp(interned->table[at], value, compared) != 0)
		at = (at + 1) & (interned->capacity - 1);
	return &interned->table[at];
}

static void grow(struct vt_interned *interned, size_t compared)
{
	struct vt_interned larger = *interned;

	larger.capacity = interned->capacity ? 2 * interned->capacity : 1024;
	larger.table = vt_xcalloc(larger.capacity, sizeof(*larger.table));
	for (size_t i = 0; i < interned->capacity; i++)
		if (interned->table[i])
			*locate(&larger, interned->table[i], compared) = interned->table[i];
	free(interned->table);
	*interned = larger;
}

static void *keep(struct vt_interned *interned, const void *value, size_t size)
{
	struct vt_interned_chunk *chunk = interned->chunks;

	if (!chunk || chunk->nr == CHUNK_VALUES) {
		chunk = vt_xmalloc(sizeof(*chunk) + CHUNK_VALUES * size);
		chunk->next = interned->chunks;
		chunk->nr = 0;
		interned->chunks = chunk;
	}
	return memcpy(chunk->values + chunk->nr++ * size, value, size);
}

void *vt_interned_add(struct vt_interned *interned, const void *value, size_t size, size_t compared,
		      int *is_new)
{
	void **found;

	/* At most half full: probes stay short. */
	if (2 * (interned->nr + 1) > interned->capacity)
		grow(interned, compared);
	found = locate(interned, value, compared);
	*is_new = !*found;
	if (*is_new) {
		*found = keep(interned, value, size);
		interned->nr++;
	}
	return *found;
}

void vt_interned_adopt(struct vt_interned *interned, struct vt_interned *from)
{
	struct vt_interned_chunk **end = &interned->chunks;

	/* After the one that is being filled. */
	while (*end)
		end = &(*end)->next;
	*end = from->chunks;
	from->chunks = NULL;
	vt_interned_release(from);
}

void vt_interned_each(const struct vt_interned *interned, size_t size,
		      void (*tell)(void *context, const void *value), void *context)
{
	for (const struct vt_interned_chunk *chunk = interned->chunks; chunk; chunk = chunk->next)
		for (size_t i = 0; i < chunk->nr; i++)
			tell(context, chunk->values + i * size);
}

void vt_interned_release(struct vt_interned *interned)
{
	while (interned->chunks) {
		struct vt_interned_chunk *next = interned->chunks->next;

		free(interned->chunks);
		interned->chunks = next;
	}
	free(interned->table);
	memset(interned, 0, sizeof(*interned));
}
