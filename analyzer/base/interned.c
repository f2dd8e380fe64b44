/* SPDX-License-Identifier: MIT */
#include "analyzer/base/interned.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"

#define CHUNK_VALUES 255

/* Filled from its beginning; never moved. */
struct vt_interned_chunk {
	struct vt_interned_chunk *next;
	size_t nr;
	_Alignas(8) char values[];
};

static uint64_t hash_of(const void *value, size_t compared)
{
	const char *bytes = value;
	uint64_t hash = 0, word;
	uint32_t half;

	for (; compared >= sizeof(word); compared -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = vt_hash_mix(hash, word);
	}
	if (!compared)
		return hash;
	memcpy(&half, bytes, sizeof(half));
	return vt_hash_mix(hash, half);
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
