/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/replay/packing.h"

#define MOST 60

static uint32_t state = 7;

static uint32_t draw(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

static uint64_t most_live(const struct vt_packing_block *blocks, size_t nr)
{
	uint64_t most = 0;

	for (size_t at = 0; at < nr; at++) {
		uint64_t live = 0;

		for (size_t i = 0; i < nr; i++)
			if (blocks[i].from <= blocks[at].from && blocks[at].from < blocks[i].to)
				live += blocks[i].bytes;
		most = live > most ? live : most;
	}
	return most;
}

static void no_two_are_at_one_place(void **unused)
{
	(void)unused;
	for (int round = 0; round < 2000; round++) {
		struct vt_packing_block blocks[MOST];
		size_t nr = 1 + draw(MOST);
		uint64_t live, top, end = 0, sum = 0;

		for (size_t i = 0; i < nr; i++) {
			int64_t from = draw(100);

			blocks[i] = (struct vt_packing_block){ from, from + 1 + draw(40),
							       512 * (1 + draw(20)), 0 };
			sum += blocks[i].bytes;
		}
		live = most_live(blocks, nr);
		top = vt_packing_find(blocks, nr);
		assert_true(live <= top && top <= sum);
		for (size_t i = 0; i < nr; i++) {
			end = blocks[i].offset + blocks[i].bytes > end ?
				      blocks[i].offset + blocks[i].bytes : end;
			for (size_t j = 0; j < i; j++)
				assert_true(blocks[i].from >= blocks[j].to ||
					    blocks[j].from >= blocks[i].to ||
					    blocks[i].offset >= blocks[j].offset + blocks[j].bytes);
		}
		assert_int_equal(end, top);
	}
}

/* Two that follow each other take the place of one; a small one goes between. */
static void what_is_known_to_come_is_left_room_for(void **unused)
{
	struct vt_packing_block blocks[] = {
		{ 0, 4, 100, 0 }, { 4, 9, 100, 0 }, { 2, 6, 50, 0 }, { 6, 9, 50, 0 },
	};

	(void)unused;
	assert_int_equal(vt_packing_find(blocks, 4), 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_two_are_at_one_place),
		cmocka_unit_test(what_is_known_to_come_is_left_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
