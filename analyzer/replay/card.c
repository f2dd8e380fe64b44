/* SPDX-License-Identifier: MIT */
#include "analyzer/replay/card.h"
#include "analyzer/base/search.h"

#include <string.h>

/* Where addresses begin that nobody told us; 0 is no address. */
#define LOWEST_ADDRESS (1ull << 21)

void vt_card_init(struct vt_card *card, uint64_t capacity_bytes)
{
	memset(card, 0, sizeof(*card));
	card->capacity_bytes = capacity_bytes;
}

void vt_card_release(struct vt_card *card)
{
	vt_vector_release(&card->taken);
	vt_vector_release(&card->expected);
}

void vt_card_expect(struct vt_card *card, uint64_t address, uint64_t size_bytes)
{
	struct vt_card_range range = { address, address + size_bytes };

	vt_vector_push(&card->expected, range);
}

void vt_card_forget_expected(struct vt_card *card)
{
	card->expected.len = 0;
}

int vt_card_charge(struct vt_card *card, uint64_t size_bytes)
{
	if (size_bytes > card->capacity_bytes ||
	    card->used_bytes > card->capacity_bytes - size_bytes)
		return -1;
	card->used_bytes += size_bytes;
	return 0;
}

void vt_card_discharge(struct vt_card *card, uint64_t size_bytes)
{
	card->used_bytes -= size_bytes < card->used_bytes ? size_bytes : card->used_bytes;
}

/* Index of the first taken range that ends behind `address`. */
static size_t first_ending_behind(const struct vt_card *card, uint64_t address)
{
	return vt_search_first(i, card->taken.len, card->taken.items[i].end <= address);
}

static void take_range(struct vt_card *card, uint64_t start, uint64_t end)
{
	size_t at = first_ending_behind(card, start);
	struct vt_card_range range = { start, end };

	vt_vector_push(&card->taken, range);
	memmove(&card->taken.items[at + 1], &card->taken.items[at],
		(card->taken.len - 1 - at) * sizeof(range));
	card->taken.items[at] = range;
}

static int is_free(const struct vt_card *card, uint64_t start, uint64_t end)
{
	size_t at = first_ending_behind(card, start);

	return at == card->taken.len || card->taken.items[at].start >= end;
}

static uint64_t expected_address(struct vt_card *card, uint64_t size_bytes)
{
	for (size_t i = 0; i < card->expected.len; i++) {
		struct vt_card_range range = card->expected.items[i];

		if (range.end - range.start != size_bytes || !is_free(card, range.start, range.end))
			continue;
		memmove(&card->expected.items[i], &card->expected.items[i + 1],
			(card->expected.len - 1 - i) * sizeof(range));
		card->expected.len--;
		return range.start;
	}
	return 0;
}

static uint64_t lowest_address(const struct vt_card *card, uint64_t size_bytes)
{
	uint64_t at = LOWEST_ADDRESS;

	for (size_t i = 0; i < card->taken.len; i++) {
		if (card->taken.items[i].start >= at + size_bytes)
			break;
		at = card->taken.items[i].end;
	}
	return at;
}

uint64_t vt_card_reserve(struct vt_card *card, uint64_t size_bytes)
{
	uint64_t address = expected_address(card, size_bytes);

	if (!address)
		address = lowest_address(card, size_bytes);
	take_range(card, address, address + size_bytes);
	return address;
}

void vt_card_unreserve(struct vt_card *card, uint64_t address, uint64_t size_bytes)
{
	size_t at = first_ending_behind(card, address);

	if (at == card->taken.len || card->taken.items[at].start != address ||
	    card->taken.items[at].end != address + size_bytes)
		return;
	memmove(&card->taken.items[at], &card->taken.items[at + 1],
		(card->taken.len - 1 - at) * sizeof(card->taken.items[0]));
	card->taken.len--;
}
