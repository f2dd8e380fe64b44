/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/free_set.h"

#include <string.h>

void vt_free_set_init(struct vt_free_set *set, int is_by_address)
{
	memset(set, 0, sizeof(*set));
	set->is_by_address = (uint8_t)is_by_address;
	set->random = 0x9e3779b9u; /* any odd number; the same in every run */
}

struct key {
	uint64_t size_bytes;
	uint64_t address;
	uint32_t stream;
};

static int is_below(const struct vt_free_set *set, const struct vt_piece *piece,
		    const struct key *key)
{
	if (piece->stream != key->stream)
		return piece->stream < key->stream;
	if (!set->is_by_address && piece->size_bytes != key->size_bytes)
		return piece->size_bytes < key->size_bytes;
	return piece->address < key->address;
}

/* The links that a piece with this key stands behind, one per level that is in use. */
static void find_links(struct vt_free_set *set, const struct key *key, struct vt_piece ***links)
{
	struct vt_piece **level = set->heads;

	for (int i = set->nr_levels - 1; i >= 0; i--) {
		while (level[i] && is_below(set, level[i], key))
			level = level[i]->links;
		links[i] = &level[i];
	}
}

static struct key key_of(const struct vt_piece *piece)
{
	return (struct key){ piece->size_bytes, piece->address, piece->stream };
}

static uint8_t random_level(struct vt_free_set *set)
{
	uint8_t level = 1;

	set->random ^= set->random << 13;
	set->random ^= set->random >> 17;
	set->random ^= set->random << 5;
	for (uint32_t bits = set->random; !(bits & 3) && level < VT_FREE_SET_LEVELS; bits >>= 2)
		level++;
	return level;
}

void vt_free_set_insert(struct vt_free_set *set, struct vt_piece *piece)
{
	struct key key = key_of(piece);
	struct vt_piece **links[VT_FREE_SET_LEVELS];

	piece->level = random_level(set);
	while (set->nr_levels < piece->level)
		set->heads[set->nr_levels++] = NULL;
	find_links(set, &key, links);
	for (unsigned i = 0; i < piece->level; i++) {
		piece->links[i] = *links[i];
		*links[i] = piece;
	}
	piece->link = links[0];
	if (piece->links[0])
		piece->links[0]->link = &piece->links[0];
	set->len++;
}

/* Three in four are on the lowest level alone, and need no search. */
static void unlink_lowest(struct vt_piece *piece)
{
	*piece->link = piece->links[0];
	if (piece->links[0])
		piece->links[0]->link = piece->link;
}

void vt_free_set_remove(struct vt_free_set *set, struct vt_piece *piece)
{
	struct key key = key_of(piece);
	struct vt_piece **links[VT_FREE_SET_LEVELS];

	if (piece->level > 1)
		find_links(set, &key, links);
	for (unsigned i = 1; i < piece->level; i++) {
		/* Segments of a damaged file may lie over each other: equals stand in front. */
		while (*links[i] != piece)
			links[i] = &(*links[i])->links[i];
		*links[i] = piece->links[i];
	}
	unlink_lowest(piece);
	set->len--;
}

static struct vt_piece *search(const struct vt_free_set *set, const struct key *key,
			       struct vt_piece **before)
{
	struct vt_piece *const *level = set->heads;

	*before = NULL;
	for (int i = set->nr_levels - 1; i >= 0; i--)
		while (level[i] && is_below(set, level[i], key)) {
			*before = level[i];
			level = level[i]->links;
		}
	return level[0];
}

struct vt_piece *vt_free_set_from(const struct vt_free_set *set, uint32_t stream,
				  uint64_t size_bytes, uint64_t address)
{
	struct key key = { size_bytes, address, stream };
	struct vt_piece *before;

	return search(set, &key, &before);
}

struct vt_piece *vt_free_set_before(const struct vt_free_set *set, uint32_t stream,
				    uint64_t size_bytes, uint64_t address)
{
	struct key key = { size_bytes, address, stream };
	struct vt_piece *before;

	search(set, &key, &before);
	return before;
}
