/* SPDX-License-Identifier: MIT */
/* The rules of PyTorch's caching allocator, one by one; tests/replay/run has the whole of it. */
#include "tests/lib/unit.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/replay/allocator.h"

#define MIB VT_MIB

static struct {
	struct vt_card card;
	struct vt_pools pools;
	char told[4096]; /* changes of segments: "+20 -20", expandable "m2 u2", in MiB */
} g;

static void note(void *context, enum vt_segment_op op, uint64_t address, uint64_t size_bytes)
{
	static const char signs[] = { [VT_SEGMENT_TAKE] = '+',
				      [VT_SEGMENT_GIVE_BACK] = '-',
				      [VT_SEGMENT_MAP] = 'm',
				      [VT_SEGMENT_UNMAP] = 'u' };
	size_t len = strlen(g.told);

	(void)context;
	(void)address;
	snprintf(g.told + len, sizeof(g.told) - len, "%s%c%llu", len ? " " : "", signs[op],
		 (unsigned long long)(size_bytes / MIB));
}

static void start(const char *text, uint64_t capacity_mib)
{
	struct vt_settings settings;
	struct vt_diag diag = { 0 };

	memset(&g, 0, sizeof(g));
	vt_settings_init(&settings, NULL);
	if (vt_settings_parse(&settings, text, &diag))
		fail_msg("%s", diag.text);
	vt_card_init(&g.card, capacity_mib * MIB);
	vt_pools_init(&g.pools, &settings, &g.card, capacity_mib * MIB);
	g.pools.note = note;
}

static int stop(void **state)
{
	(void)state;
	vt_pools_release(&g.pools);
	vt_card_release(&g.card);
	return 0;
}

static void assert_told(const char *expected)
{
	assert_string_equal(g.told, expected);
	g.told[0] = 0;
}

static struct vt_piece *take_on(uint32_t stream, uint64_t bytes)
{
	return vt_allocator_take(&g.pools, bytes, stream, 0);
}

static struct vt_piece *take(uint64_t bytes)
{
	return take_on(0, bytes);
}

static void give(struct vt_piece *piece)
{
	vt_allocator_give(&g.pools, piece);
}

static void small_and_large_requests_have_pools_of_their_own(void **state)
{
	struct vt_piece *piece;

	(void)state;
	start("", 1000);
	piece = take(3 * MIB);
	give(piece);
	take(MIB);
	assert_told("+20 +2");
	take(MIB + 1);
	assert_told("");
}

static void the_smallest_piece_that_fits_is_taken(void **state)
{
	struct vt_piece *wide, *narrow, *again;
	uint64_t address;

	(void)state;
	start("", 1000);
	wide = take(30 * MIB);
	narrow = take(14 * MIB);
	address = narrow->address;
	give(wide);
	give(narrow);
	again = take(13 * MIB + MIB / 2);
	assert_int_equal(again->address, address);
	assert_told("+30 +14");
}

static void among_equal_pieces_the_lowest_address_is_taken(void **state)
{
	struct vt_piece *first, *second;
	uint64_t lowest;

	(void)state;
	start("", 1000);
	first = take(12 * MIB);
	second = take(12 * MIB);
	lowest = first->address < second->address ? first->address : second->address;
	give(second);
	give(first);
	assert_int_equal(take(12 * MIB)->address, lowest);
}

static void a_large_remainder_up_to_1_mib_stays_with_the_block(void **state)
{
	(void)state;
	start("", 1000);
	assert_int_equal(take(13 * MIB)->size_bytes, 14 * MIB);
	assert_int_equal(take(13 * MIB - 512)->size_bytes, 13 * MIB - 512);
	assert_int_equal(g.pools.allocated_bytes, 27 * MIB - 512);
	assert_told("+14 +14");
}

static void freed_neighbours_become_one_piece(void **state)
{
	struct vt_piece *a, *b, *c;

	(void)state;
	start("", 1000);
	a = take(6 * MIB);
	b = take(6 * MIB);
	c = take(6 * MIB);
	give(a);
	give(c);
	give(b);
	assert_told("+20");
	assert_int_equal(take(20 * MIB)->size_bytes, 20 * MIB);
	assert_told("");
}

static void streams_share_no_pieces(void **state)
{
	(void)state;
	start("", 1000);
	give(take_on(0, 12 * MIB));
	take_on(1, 12 * MIB);
	assert_told("+12 +12");
	take_on(0, 12 * MIB);
	assert_told("");
}

static void private_pools_share_no_pieces_and_may_be_kept(void **state)
{
	struct vt_piece *piece;

	(void)state;
	start("", 1000);
	give(take(12 * MIB));
	piece = vt_allocator_take(&g.pools, 12 * MIB, 0, 1);
	assert_told("+12 +12");
	give(piece);
	vt_pools_half(&g.pools, 1, 0)->is_kept = 1;
	vt_allocator_empty_cache(&g.pools);
	assert_told("-12");
	assert_int_equal(g.pools.reserved_bytes, 12 * MIB);
}

static void empty_cache_gives_back_whole_segments_only(void **state)
{
	struct vt_piece *left;

	(void)state;
	start("", 1000);
	give(take(30 * MIB));
	left = take(2 * MIB);
	give(take(3 * MIB));
	take(512);
	assert_told("+30 +2");
	vt_allocator_empty_cache(&g.pools);
	assert_told("");
	give(left);
	vt_allocator_empty_cache(&g.pools);
	assert_told("-30");
	assert_int_equal(g.card.used_bytes, 2 * MIB);
}

static void a_full_device_makes_the_cache_go_back_and_is_asked_again(void **state)
{
	(void)state;
	start("", 100);
	give(take(60 * MIB));
	assert_non_null(take(80 * MIB));
	assert_told("+60 -60 +80");
	assert_int_equal(g.pools.nr_retries, 1);
	assert_null(take(40 * MIB));
	assert_int_equal(g.pools.nr_retries, 2);
	assert_told("");
}

static void max_split_keeps_large_pieces_whole(void **state)
{
	(void)state;
	start("max_split_size_mb:32", 1000);
	give(take(64 * MIB));
	/* Neither split for a small request ... */
	take(12 * MIB);
	assert_told("+64 +12");
	/* ... nor given where 20 MiB and more would be lost. */
	take(44 * MIB);
	assert_told("+44");
	assert_int_equal(take(44 * MIB + 512)->size_bytes, 64 * MIB);
	assert_told("");
}

static void max_split_gives_back_just_enough(void **state)
{
	(void)state;
	start("max_split_size_mb:32", 200);
	give(take(100 * MIB));
	give(take(60 * MIB));
	take(70 * MIB);
	assert_told("+100 +60 -100 +70");
	assert_int_equal(g.pools.nr_retries, 0);
}

/* No single piece is large enough: several, the largest first. */
static void max_split_gives_back_several(void **state)
{
	(void)state;
	start("max_split_size_mb:32", 200);
	give(take(50 * MIB));
	give(take(80 * MIB));
	take(125 * MIB);
	assert_told("+50 +80 -80 -50 +126");
	assert_int_equal(g.pools.nr_retries, 0);
}

static void old_segments_go_back_above_the_threshold(void **state)
{
	(void)state;
	start("garbage_collection_threshold:0.5,per_process_memory_fraction:0.5", 400);
	give(take(60 * MIB));
	give(take(90 * MIB));
	/* 150 of 200 MiB are reserved, 100 may be: the one freed first is older. */
	take(100 * MIB);
	assert_string_equal(g.told, "+60 +90 -60 +100");
}

static void without_a_memory_limit_nothing_is_collected(void **state)
{
	struct vt_piece *a, *b;

	(void)state;
	start("garbage_collection_threshold:0.5", 400);
	a = take(160 * MIB);
	b = take(100 * MIB);
	give(a);
	give(b);
	take(120 * MIB);
	take(130 * MIB);
	assert_told("+160 +100 +130");
}

static void a_memory_limit_is_as_a_smaller_device(void **state)
{
	(void)state;
	start("per_process_memory_fraction:0.5", 400);
	take(120 * MIB);
	assert_null(take(90 * MIB));
	assert_non_null(take(80 * MIB));
}

static void expandable_segments_grow_by_granules(void **state)
{
	struct vt_piece *a, *b;

	(void)state;
	start("expandable_segments:True", 1000);
	a = take(30 * MIB);
	assert_told("m20 m20");
	b = take(20 * MIB);
	assert_told("m20");
	assert_int_equal(b->address, a->address + 30 * MIB);
	take(512);
	take(MIB);
	assert_told("m2");
	/* 10 MiB are left of the last granule, and large requests have no 20 MiB of their own. */
	take(10 * MIB);
	assert_told("");
}

static void expandable_segments_are_split_at_512_bytes(void **state)
{
	(void)state;
	start("expandable_segments:True", 1000);
	assert_int_equal(take(13 * MIB)->size_bytes, 13 * MIB);
	assert_int_equal(take(7 * MIB)->size_bytes, 7 * MIB);
	assert_told("m20");
}

static void expandable_segments_give_back_what_is_wholly_free(void **state)
{
	struct vt_piece *first, *last;

	(void)state;
	start("expandable_segments:True", 1000);
	first = take(50 * MIB);
	last = take(30 * MIB);
	assert_told("m20 m20 m20 m20");
	give(first);
	vt_allocator_empty_cache(&g.pools);
	assert_told("u20 u20");
	assert_int_equal(g.pools.reserved_bytes, 40 * MIB);
	/* The gap is filled again, lowest first, joined to the 10 MiB that stayed behind it. */
	first = take(50 * MIB);
	assert_told("m20 m20");
	assert_int_equal(first->address + 50 * MIB, last->address);
}

static void what_is_left_of_a_granule_stays_usable(void **state)
{
	struct vt_piece *left, *gone;

	(void)state;
	start("expandable_segments:True", 1000);
	left = take(30 * MIB);
	gone = take(50 * MIB);
	g.told[0] = 0;
	give(gone);
	vt_allocator_empty_cache(&g.pools);
	assert_told("u20 u20");
	assert_int_equal(take(10 * MIB)->address, left->address + 30 * MIB);
	assert_told("");
}

static void an_empty_expandable_segment_goes_altogether(void **state)
{
	(void)state;
	start("expandable_segments:True", 1000);
	give(take(30 * MIB));
	assert_int_equal(g.pools.runs.len, 1);
	vt_allocator_empty_cache(&g.pools);
	assert_int_equal(g.pools.runs.len, 0);
	assert_int_equal(g.card.taken.len, 0);
	assert_int_equal(g.card.used_bytes, 0);
}

static void streams_have_expandable_segments_of_their_own(void **state)
{
	(void)state;
	start("expandable_segments:True", 1000);
	give(take_on(0, 12 * MIB));
	take_on(1, 12 * MIB);
	assert_told("m20 m20");
	assert_int_equal(g.pools.runs.len, 2);
}

static void the_open_end_of_an_expandable_segment_is_used_last(void **state)
{
	struct vt_piece *hole;
	uint64_t address;

	(void)state;
	start("expandable_segments:True", 1000);
	hole = take(18 * MIB);
	address = hole->address;
	take(6 * MIB); /* 16 MiB of the second granule stay free at the end */
	give(hole);
	assert_int_equal(take(15 * MIB)->address, address);
}

static void a_full_device_ends_expandable_growth(void **state)
{
	(void)state;
	start("expandable_segments:True", 50);
	give(take_on(1, 30 * MIB));
	assert_told("m20 m20");
	/* Two granules of the other stream have to go back first. */
	assert_non_null(take_on(0, 40 * MIB));
	assert_told("u20 u20 m20 m20");
	assert_null(take_on(0, 30 * MIB));
}

static void a_request_beyond_all_address_space_fails(void **state)
{
	(void)state;
	start("expandable_segments:True", 100);
	g.card.capacity_bytes = UINT64_MAX;
	assert_null(take(1ull << 40));
	assert_non_null(take(50 * MIB));
}

static void the_driver_gives_expected_addresses(void **state)
{
	(void)state;
	start("", 1000);
	vt_card_expect(&g.card, 0x7000000000, 20 * MIB);
	assert_int_equal(take(11 * MIB + MIB / 2)->address, 2 * MIB);
	assert_int_equal(take(5 * MIB)->address, 0x7000000000);
}

#define TEST(name) cmocka_unit_test_teardown(name, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(small_and_large_requests_have_pools_of_their_own),
		TEST(the_smallest_piece_that_fits_is_taken),
		TEST(among_equal_pieces_the_lowest_address_is_taken),
		TEST(a_large_remainder_up_to_1_mib_stays_with_the_block),
		TEST(freed_neighbours_become_one_piece),
		TEST(streams_share_no_pieces),
		TEST(private_pools_share_no_pieces_and_may_be_kept),
		TEST(empty_cache_gives_back_whole_segments_only),
		TEST(a_full_device_makes_the_cache_go_back_and_is_asked_again),
		TEST(max_split_keeps_large_pieces_whole),
		TEST(max_split_gives_back_just_enough),
		TEST(max_split_gives_back_several),
		TEST(old_segments_go_back_above_the_threshold),
		TEST(without_a_memory_limit_nothing_is_collected),
		TEST(a_memory_limit_is_as_a_smaller_device),
		TEST(expandable_segments_grow_by_granules),
		TEST(expandable_segments_are_split_at_512_bytes),
		TEST(expandable_segments_give_back_what_is_wholly_free),
		TEST(what_is_left_of_a_granule_stays_usable),
		TEST(an_empty_expandable_segment_goes_altogether),
		TEST(streams_have_expandable_segments_of_their_own),
		TEST(the_open_end_of_an_expandable_segment_is_used_last),
		TEST(a_full_device_ends_expandable_growth),
		TEST(a_request_beyond_all_address_space_fails),
		TEST(the_driver_gives_expected_addresses),
	};

	return cmocka_run_group_tests_name("allocator", tests, NULL, NULL);
}
