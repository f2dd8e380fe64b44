/* SPDX-License-Identifier: MIT */
/*
 * holdings.c - open addressing; allocations are numbered in the order they are made, so those that
 * are alive are mostly neighbours, which a product with an odd number keeps apart.
 */
#include "analyzer/replay/holdings.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"

#define SMALLEST 1024

static uint32_t home_of(const struct vt_holdings *holdings, uint32_t allocation)
{
	return allocation * 0x9e3779b1u & (holdings->capacity - 1);
}

/* Where it is, or would be. */
static uint32_t locate(const struct vt_holdings *holdings, uint32_t allocation)
{
	uint32_t at = home_of(holdings, allocation);

	while (holdings->places[at].piece && holdings->places[at].allocation != allocation)
		at = (at + 1) & (holdings->capacity - 1);
	return at;
}

static void grow(struct vt_holdings *holdings)
{
	struct vt_holdings larger = { .nr = holdings->nr };

	larger.capacity = holdings->capacity ? 2 * holdings->capacity : SMALLEST;
	larger.places = vt_xcalloc(larger.capacity, sizeof(*larger.places));
	for (uint32_t i = 0; i < holdings->capacity; i++)
		if (holdings->places[i].piece)
			larger.places[locate(&larger, holdings->places[i].allocation)] =
				holdings->places[i];
	free(holdings->places);
	*holdings = larger;
}

void vt_holdings_add(struct vt_holdings *holdings, uint32_t allocation, struct vt_piece *piece)
{
	/* At most half full: probes stay short. */
	if (2 * ((uint64_t)holdings->nr + 1) > holdings->capacity)
		grow(holdings);
	holdings->places[locate(holdings, allocation)] = (struct vt_holding){ piece, allocation };
	holdings->nr++;
}

struct vt_piece *vt_holdings_find(const struct vt_holdings *holdings, uint32_t allocation)
{
	return holdings->nr ? holdings->places[locate(holdings, allocation)].piece : NULL;
}

/* Moves back what the free place would cut off from its home. */
static void close_gap(struct vt_holdings *holdings, uint32_t hole)
{
	uint32_t mask = holdings->capacity - 1;

	for (uint32_t at = (hole + 1) & mask; holdings->places[at].piece; at = (at + 1) & mask) {
		uint32_t home = home_of(holdings, holdings->places[at].allocation);

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		holdings->places[hole] = holdings->places[at];
		hole = at;
	}
	holdings->places[hole].piece = NULL;
}

struct vt_piece *vt_holdings_remove(struct vt_holdings *holdings, uint32_t allocation)
{
	struct vt_piece *piece;
	uint32_t at;

	if (!holdings->nr)
		return NULL;
	at = locate(holdings, allocation);
	piece = holdings->places[at].piece;
	if (!piece)
		return NULL;
	close_gap(holdings, at);
	holdings->nr--;
	return piece;
}

void vt_holdings_release(struct vt_holdings *holdings)
{
	free(holdings->places);
	memset(holdings, 0, sizeof(*holdings));
}
