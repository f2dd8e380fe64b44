/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/free_set.h"

#include <string.h>

#include "analyzer/base/search.h"

/* Few enough to be moved at once, enough for the sets of most programs. */
#define KEYS_PER_CHUNK 64

/*
 * Stream and size as one number: which of two sizes is larger cannot be foreseen, and one number is
 * compared without branches.  What no device has is cut: 2^16 streams, 2^48 bytes in a piece.
 */
#define MAX_STREAM     UINT16_MAX
#define MAX_SIZE_BYTES (((uint64_t)1 << 48) - 1)

/* The number beside its piece, which a search reads only where two numbers are equal. */
struct entry {
	uint64_t number;
	struct vt_piece *piece;
};

struct vt_free_chunk {
	size_t nr;
	struct entry entries[KEYS_PER_CHUNK];
};

struct sort_key {
	uint64_t number;
	uint64_t address;
};

/* Where a key is or belongs; behind the last of a chunk only in the last chunk. */
struct place {
	size_t chunk;
	size_t at;
};

void vt_free_set_init(struct vt_free_set *set, int is_by_address)
{
	memset(set, 0, sizeof(*set));
	set->is_by_address = (uint8_t)is_by_address;
}

void vt_free_set_release(struct vt_free_set *set)
{
	for (size_t i = 0; i < set->chunks.len; i++)
		free(set->chunks.items[i]);
	vt_vector_release(&set->chunks);
}

static struct sort_key key_of(const struct vt_free_set *set, uint32_t stream, uint64_t size_bytes,
			      uint64_t address)
{
	uint64_t high = stream < MAX_STREAM ? stream : MAX_STREAM;

	high <<= 48;
	if (!set->is_by_address)
		high |= size_bytes < MAX_SIZE_BYTES ? size_bytes : MAX_SIZE_BYTES;
	return (struct sort_key){ high, address };
}

static struct sort_key key_of_piece(const struct vt_free_set *set, const struct vt_piece *piece)
{
	return key_of(set, piece->stream, piece->size_bytes, piece->address);
}

static int is_below(const struct entry *entry, struct sort_key key)
{
	return entry->number < key.number ||
	       (entry->number == key.number && entry->piece->address < key.address);
}

/*
 * The first whose number is not below.  Three are compared at a time: they are loaded beside each
 * other, where halving waits for each.
 */
static size_t first_not_below(const struct vt_free_chunk *chunk, uint64_t number)
{
	const struct entry *at = chunk->entries;
	size_t nr = chunk->nr, below;

	while (nr > 3) {
		size_t quarter = nr / 4;

		below = (size_t)(at[quarter - 1].number < number) +
			(size_t)(at[2 * quarter - 1].number < number) +
			(size_t)(at[3 * quarter - 1].number < number);
		at += below * quarter;
		nr = below == 3 ? nr - 3 * quarter : quarter;
	}
	below = 0;
	for (size_t i = 0; i < nr; i++)
		below += at[i].number < number;
	return (size_t)(at - chunk->entries) + below;
}

static size_t find_in_chunk(const struct vt_free_chunk *chunk, struct sort_key key)
{
	size_t first = first_not_below(chunk, key.number);

	if (first == chunk->nr || !is_below(&chunk->entries[first], key))
		return first;
	return first + vt_search_first(i, chunk->nr - first,
				       is_below(&chunk->entries[first + i], key));
}

static const struct entry *last_of(const struct vt_free_chunk *chunk)
{
	return &chunk->entries[chunk->nr - 1];
}

/* The first key that is not below; of a set that is not empty. */
static struct place find(const struct vt_free_set *set, struct sort_key key)
{
	struct place place = { 0 };

	place.chunk = vt_search_first(i, set->chunks.len - 1,
				      is_below(last_of(set->chunks.items[i]), key));
	place.at = find_in_chunk(set->chunks.items[place.chunk], key);
	return place;
}

static void insert_chunk(struct vt_free_set *set, size_t at)
{
	struct vt_free_chunk *chunk = vt_xmalloc(sizeof(*chunk));

	chunk->nr = 0;
	vt_vector_push(&set->chunks, chunk);
	memmove(&set->chunks.items[at + 1], &set->chunks.items[at],
		(set->chunks.len - 1 - at) * sizeof(chunk));
	set->chunks.items[at] = chunk;
}

/* Moves the upper half of a full chunk into a new one behind it. */
static void split_chunk(struct vt_free_set *set, size_t at)
{
	struct vt_free_chunk *full, *upper;

	insert_chunk(set, at + 1);
	full = set->chunks.items[at];
	upper = set->chunks.items[at + 1];
	full->nr = upper->nr = KEYS_PER_CHUNK / 2;
	memcpy(upper->entries, &full->entries[full->nr], upper->nr * sizeof(upper->entries[0]));
}

/* A place with room for one more key. */
static struct place make_room(struct vt_free_set *set, struct sort_key key)
{
	struct place place;

	if (!set->chunks.len)
		insert_chunk(set, 0);
	place = find(set, key);
	if (set->chunks.items[place.chunk]->nr < KEYS_PER_CHUNK)
		return place;
	split_chunk(set, place.chunk);
	if (place.at > KEYS_PER_CHUNK / 2) {
		place.chunk++;
		place.at -= KEYS_PER_CHUNK / 2;
	}
	return place;
}

static void link_before(struct vt_free_set *set, struct vt_piece *piece, struct vt_piece *higher)
{
	piece->higher = higher;
	piece->lower = higher ? higher->lower : set->highest;
	*(piece->lower ? &piece->lower->higher : &set->lowest) = piece;
	*(higher ? &higher->lower : &set->highest) = piece;
}

static void unlink_piece(struct vt_free_set *set, struct vt_piece *piece)
{
	*(piece->lower ? &piece->lower->higher : &set->lowest) = piece->higher;
	*(piece->higher ? &piece->higher->lower : &set->highest) = piece->lower;
}

/* Moves the entries from `from` on to `to`, one further or one back. */
static void move_entries(struct vt_free_chunk *chunk, size_t to, size_t from)
{
	memmove(&chunk->entries[to], &chunk->entries[from],
		(chunk->nr - from) * sizeof(chunk->entries[0]));
}

void vt_free_set_insert(struct vt_free_set *set, struct vt_piece *piece)
{
	struct sort_key key = key_of_piece(set, piece);
	struct place place = make_room(set, key);
	struct vt_free_chunk *chunk = set->chunks.items[place.chunk];

	if (place.at < chunk->nr)
		link_before(set, piece, chunk->entries[place.at].piece);
	else
		link_before(set, piece,
			    place.at ? chunk->entries[place.at - 1].piece->higher : NULL);
	move_entries(chunk, place.at + 1, place.at);
	chunk->entries[place.at] = (struct entry){ key.number, piece };
	piece->seen_at = (uint32_t)place.at;
	chunk->nr++;
}

static struct place place_of(const struct vt_free_set *set, const struct vt_piece *piece)
{
	const struct vt_free_chunk *chunk = set->chunks.items[0];
	struct place place = { 0, piece->seen_at };

	/* What is removed was mostly just found. */
	if (set->chunks.len == 1 && place.at < chunk->nr && chunk->entries[place.at].piece == piece)
		return place;
	place = find(set, key_of_piece(set, piece));
	/* Segments of a damaged file may lie over each other: equals come first. */
	while (set->chunks.items[place.chunk]->entries[place.at].piece != piece)
		if (++place.at == set->chunks.items[place.chunk]->nr)
			place = (struct place){ place.chunk + 1, 0 };
	return place;
}

void vt_free_set_remove(struct vt_free_set *set, struct vt_piece *piece)
{
	struct place place = place_of(set, piece);
	struct vt_free_chunk *chunk = set->chunks.items[place.chunk];

	unlink_piece(set, piece);
	move_entries(chunk, place.at, place.at + 1);
	if (--chunk->nr)
		return;
	free(chunk);
	set->chunks.len--;
	memmove(&set->chunks.items[place.chunk], &set->chunks.items[place.chunk + 1],
		(set->chunks.len - place.chunk) * sizeof(chunk));
}

struct vt_piece *vt_free_set_from(const struct vt_free_set *set, uint32_t stream,
				  uint64_t size_bytes, uint64_t address)
{
	const struct vt_free_chunk *chunk;
	struct place place;

	if (!set->chunks.len)
		return NULL;
	place = find(set, key_of(set, stream, size_bytes, address));
	chunk = set->chunks.items[place.chunk];
	if (place.at == chunk->nr)
		return NULL;
	chunk->entries[place.at].piece->seen_at = (uint32_t)place.at;
	return chunk->entries[place.at].piece;
}

struct vt_piece *vt_free_set_before(const struct vt_free_set *set, uint32_t stream,
				    uint64_t size_bytes, uint64_t address)
{
	struct vt_piece *from = vt_free_set_from(set, stream, size_bytes, address);

	return from ? from->lower : set->highest;
}
