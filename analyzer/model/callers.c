/* SPDX-License-Identifier: MIT */
#include "analyzer/model/callers.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/util.h"

#define CHUNK_CALLERS 255

/* Filled from its beginning; never moved. */
struct vt_caller_chunk {
	struct vt_caller_chunk *next;
	size_t nr;
	struct vt_caller items[CHUNK_CALLERS];
};

const struct vt_caller vt_caller_nobody;

/* They are compared as bytes, up to the number. */
#define COMPARED offsetof(struct vt_caller, number)
_Static_assert(sizeof(struct vt_caller) == sizeof(uint64_t) + 8 * sizeof(uint32_t),
	       "struct vt_caller has holes");

static uint64_t hash_of(const struct vt_caller *caller)
{
	uint64_t hash = vt_hash_mix(caller->stream, caller->thread);

	hash = vt_hash_mix(hash, (uint64_t)caller->native_stack << 32 | caller->python_stack);
	hash = vt_hash_mix(hash, (uint64_t)caller->scope << 32 | caller->node_class);
	return vt_hash_mix(hash, (uint64_t)caller->grad << 32 | caller->forward_python_stack);
}

/* Where it is, or would be. */
static const struct vt_caller **locate(const struct vt_callers *callers,
				       const struct vt_caller *caller)
{
	size_t at = (size_t)hash_of(caller) & (callers->capacity - 1);

	while (callers->table[at] && memcmp(callers->table[at], caller, COMPARED) != 0)
		at = (at + 1) & (callers->capacity - 1);
	return &callers->table[at];
}

static void grow(struct vt_callers *callers)
{
	struct vt_callers larger = *callers;

	larger.capacity = callers->capacity ? 2 * callers->capacity : 1024;
	larger.table = vt_xcalloc(larger.capacity, sizeof(*larger.table));
	for (size_t i = 0; i < callers->capacity; i++)
		if (callers->table[i])
			*locate(&larger, callers->table[i]) = callers->table[i];
	free(callers->table);
	*callers = larger;
}

static const struct vt_caller *keep(struct vt_callers *callers, const struct vt_caller *caller)
{
	struct vt_caller_chunk *chunk = callers->chunks;

	if (!chunk || chunk->nr == CHUNK_CALLERS) {
		chunk = vt_xmalloc(sizeof(*chunk));
		chunk->next = callers->chunks;
		chunk->nr = 0;
		callers->chunks = chunk;
	}
	chunk->items[chunk->nr] = *caller;
	chunk->items[chunk->nr].number = ++callers->last_number;
	return &chunk->items[chunk->nr++];
}

const struct vt_caller *vt_callers_intern(struct vt_callers *callers,
					  const struct vt_caller *caller)
{
	const struct vt_caller **found;

	/* At most half full: probes stay short. */
	if (2 * (callers->nr + 1) > callers->capacity)
		grow(callers);
	found = locate(callers, caller);
	if (!*found) {
		*found = keep(callers, caller);
		callers->nr++;
	}
	return *found;
}

void vt_callers_adopt(struct vt_callers *callers, struct vt_callers *from)
{
	struct vt_caller_chunk **end = &callers->chunks;

	for (struct vt_caller_chunk *chunk = from->chunks; chunk; chunk = chunk->next)
		for (size_t i = 0; i < chunk->nr; i++)
			chunk->items[i].number += callers->last_number;
	callers->last_number += from->last_number;
	/* After the one that is being filled. */
	while (*end)
		end = &(*end)->next;
	*end = from->chunks;
	from->chunks = NULL;
	vt_callers_release(from);
}

void vt_callers_release(struct vt_callers *callers)
{
	while (callers->chunks) {
		struct vt_caller_chunk *next = callers->chunks->next;

		free(callers->chunks);
		callers->chunks = next;
	}
	free(callers->table);
	memset(callers, 0, sizeof(*callers));
}
