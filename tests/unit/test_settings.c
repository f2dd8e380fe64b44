/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/replay/settings.h"

static struct vt_settings parsed(const char *text)
{
	struct vt_settings settings;
	struct vt_diag diag = { 0 };

	vt_settings_init(&settings, NULL);
	if (vt_settings_parse(&settings, text, &diag))
		fail_msg("%s", diag.text);
	return settings;
}

static void requests_are_rounded_to_512_bytes(void **state)
{
	struct vt_settings settings = parsed("");

	(void)state;
	assert_int_equal(vt_settings_round(&settings, 1), 512);
	assert_int_equal(vt_settings_round(&settings, 512), 512);
	assert_int_equal(vt_settings_round(&settings, 513), 1024);
	assert_int_equal(vt_settings_round(&settings, 5 * VT_MIB + 1), 5 * VT_MIB + 512);
}

/* The example of CUDACachingAllocator.cpp: 1200 in four divisions of [1024, 2048) is 1280. */
static void divisions_of_powers_of_two_round_up_to_the_next_step(void **state)
{
	struct vt_settings settings = parsed("roundup_power2_divisions:4");

	(void)state;
	assert_int_equal(vt_settings_round(&settings, 2049), 2560);
	assert_int_equal(vt_settings_round(&settings, 5000), 5120);
	assert_int_equal(vt_settings_round(&settings, 4096), 4096);
	/* Only above 512 bytes per division. */
	assert_int_equal(vt_settings_round(&settings, 2048), 2048);
	assert_int_equal(vt_settings_round(&settings, 1200), 1536);
	assert_int_equal(vt_settings_round(&settings, 9 * VT_MIB), 10 * VT_MIB);
}

static void rounding_down_gives_what_rounding_keeps(void **state)
{
	struct vt_settings settings = parsed("roundup_power2_divisions:4");
	struct vt_settings plain = parsed("");

	(void)state;
	assert_int_equal(vt_settings_round_down(&settings, 9 * VT_MIB), 8 * VT_MIB);
	assert_int_equal(vt_settings_round_down(&settings, 10 * VT_MIB), 10 * VT_MIB);
	assert_int_equal(vt_settings_round_down(&plain, 9 * VT_MIB + 512), 9 * VT_MIB + 512);
}

static void a_list_of_divisions_counts_by_interval(void **state)
{
	struct vt_settings settings = parsed("roundup_power2_divisions:[4:2,16:8,>:1]");

	(void)state;
	/* Intervals below the first named one are as that one. */
	assert_int_equal(settings.divisions[0], 2);
	assert_int_equal(settings.divisions[2], 2);
	assert_int_equal(settings.divisions[3], 0);
	assert_int_equal(settings.divisions[4], 8);
	assert_int_equal(settings.divisions[5], 1);
	assert_int_equal(settings.divisions[15], 1);
	assert_int_equal(vt_settings_round(&settings, 17 * VT_MIB), 18 * VT_MIB);
	assert_int_equal(vt_settings_round(&settings, 33 * VT_MIB), 33 * VT_MIB);
}

/* Seen on PyTorch 2.6 and 2.11 on the simulated device: 26 MiB under [1:2,16:8,>:4]. */
static void the_rest_of_a_list_begins_elsewhere_before_2_9(void **state)
{
	const char *text = "roundup_power2_divisions:[1:2,16:8,>:4]";
	struct vt_settings settings, old;

	(void)state;
	vt_settings_init(&settings, "2.11.0+cu130");
	assert_int_equal(vt_settings_parse(&settings, text, NULL), 0);
	vt_settings_init(&old, "2.6.0+cu124");
	assert_int_equal(vt_settings_parse(&old, text, NULL), 0);
	assert_int_equal(vt_settings_round(&settings, 26 * VT_MIB - 5), 26 * VT_MIB);
	assert_int_equal(vt_settings_round(&old, 26 * VT_MIB - 5), 28 * VT_MIB);
}

/* A recording may come of a newer release; what a user asks for is to be in one that is known. */
static void options_that_no_release_has_are_refused_where_they_are_asked_for(void **state)
{
	struct vt_settings settings = parsed("");
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(
		vt_settings_parse(&settings, "new_option:[1,2],max_split_size_mb:64", NULL), 0);
	assert_int_equal(settings.max_split_bytes, 64 * VT_MIB);
	assert_int_equal(vt_settings_parse_known(&settings, "new_option:1", &diag), -1);
	assert_int_equal(diag.exit_code, VT_EXIT_USAGE);
	assert_int_equal(vt_settings_parse_known(&settings, "pinned_use_background_threads:True",
						 NULL), 0);
}

static void segments_are_2_mib_20_mib_or_the_request_rounded_to_2_mib(void **state)
{
	struct vt_settings settings = parsed("");
	struct vt_settings large = parsed("large_segment_size_mb:64");

	(void)state;
	assert_int_equal(vt_settings_segment(&settings, VT_MIB), 2 * VT_MIB);
	assert_int_equal(vt_settings_segment(&settings, VT_MIB + 512), 20 * VT_MIB);
	assert_int_equal(vt_settings_segment(&settings, 10 * VT_MIB - 512), 20 * VT_MIB);
	assert_int_equal(vt_settings_segment(&settings, 10 * VT_MIB), 10 * VT_MIB);
	assert_int_equal(vt_settings_segment(&settings, 21 * VT_MIB), 22 * VT_MIB);
	assert_int_equal(vt_settings_segment(&large, 2 * VT_MIB), 64 * VT_MIB);
	assert_int_equal(vt_settings_granule(&large, 0), 64 * VT_MIB);
	assert_int_equal(vt_settings_granule(&large, 1), 2 * VT_MIB);
}

/* From 10 MiB on a request has a segment of its own, so that less would make no pool. */
static void large_segments_are_of_more_than_10_mib(void **state)
{
	struct vt_settings settings = parsed("large_segment_size_mb:11");
	struct vt_diag diag = { 0 };

	(void)state;
	assert_int_equal(settings.large_segment_bytes, 11 * VT_MIB);
	assert_int_equal(vt_settings_parse(&settings, "large_segment_size_mb:10", &diag), -1);
	assert_int_equal(diag.exit_code, VT_EXIT_USAGE);
	assert_non_null(strstr(diag.text, "large_segment_size_mb below 11"));
}

static void a_new_segment_has_a_tail_that_is_not_worth_cutting_off(void **state)
{
	struct vt_settings settings = parsed("");

	(void)state;
	assert_int_equal(vt_settings_tail(&settings, 1), 0);
	assert_int_equal(vt_settings_tail(&settings, 5 * VT_MIB), 0);
	assert_int_equal(vt_settings_tail(&settings, 11 * VT_MIB), VT_MIB);
	assert_int_equal(vt_settings_tail(&settings, 11 * VT_MIB - 1), VT_MIB);
	assert_int_equal(vt_settings_tail(&settings, 11 * VT_MIB - 513), 0);
}

static void large_blocks_keep_a_tail_of_1_mib_and_expandable_ones_none(void **state)
{
	struct vt_settings settings = parsed("max_split_size_mb:64");
	struct vt_settings expandable = parsed("expandable_segments:True");

	(void)state;
	assert_int_equal(vt_settings_is_split(&settings, 512, 512), 1);
	assert_int_equal(vt_settings_is_split(&settings, 2 * VT_MIB, VT_MIB), 0);
	assert_int_equal(vt_settings_is_split(&settings, 2 * VT_MIB, VT_MIB + 512), 1);
	assert_int_equal(vt_settings_is_split(&settings, 64 * VT_MIB, 20 * VT_MIB), 0);
	assert_int_equal(vt_settings_is_split(&expandable, 64 * VT_MIB, 512), 1);
	assert_int_equal(vt_settings_is_split(&expandable, 64 * VT_MIB, 0), 0);
}

static void settings_are_printed_as_they_are_read(void **state)
{
	static const char *const texts[] = {
		"",
		"backend:cudaMallocAsync",
		"expandable_segments:True,max_split_size_mb:128,max_non_split_rounding_mb:40,"
		"garbage_collection_threshold:0.8,per_process_memory_fraction:0.5,"
		"roundup_power2_divisions:8",
		"large_segment_size_mb:32",
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(texts); i++) {
		struct vt_settings settings = parsed(texts[i]);
		struct vt_buffer out;

		vt_buffer_init(&out);
		vt_settings_print(&settings, &out);
		assert_string_equal(out.data ? out.data : "", i == 2 ? texts[2] : texts[i]);
		vt_buffer_release(&out);
	}
}

static void other_options_are_passed_over(void **state)
{
	struct vt_settings settings =
		parsed(" pinned_num_register_threads:8, expandable_segments_reserve_by_class:"
		       "[a:0.5,b:8G],expandable_segments: True,release_lock_on_cudamalloc:True");

	(void)state;
	assert_int_equal(settings.is_expandable, 1);
}

static void what_pytorch_refuses_is_refused(void **state)
{
	static const char *const texts[] = {
		"expandable_segments:yes",
		"max_split_size_mb:19",
		"max_split_size_mb",
		"max_split_size_mb:x",
		"roundup_power2_divisions:3",
		"roundup_power2_divisions:[0:2]",
		"roundup_power2_divisions:[8:2",
		"garbage_collection_threshold:1.5",
		":4",
		"expandable_segments:True max_split_size_mb:32",
	};

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(texts); i++) {
		struct vt_settings settings;
		struct vt_diag diag = { 0 };

		vt_settings_init(&settings, NULL);
		if (!vt_settings_parse(&settings, texts[i], &diag))
			fail_msg("\"%s\" was taken", texts[i]);
		assert_int_equal(diag.exit_code, VT_EXIT_USAGE);
		assert_non_null(strstr(diag.text, texts[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_segments_are_of_more_than_10_mib),
		cmocka_unit_test(a_new_segment_has_a_tail_that_is_not_worth_cutting_off),
		cmocka_unit_test(options_that_no_release_has_are_refused_where_they_are_asked_for),
		cmocka_unit_test(requests_are_rounded_to_512_bytes),
		cmocka_unit_test(divisions_of_powers_of_two_round_up_to_the_next_step),
		cmocka_unit_test(rounding_down_gives_what_rounding_keeps),
		cmocka_unit_test(a_list_of_divisions_counts_by_interval),
		cmocka_unit_test(the_rest_of_a_list_begins_elsewhere_before_2_9),
		cmocka_unit_test(segments_are_2_mib_20_mib_or_the_request_rounded_to_2_mib),
		cmocka_unit_test(large_blocks_keep_a_tail_of_1_mib_and_expandable_ones_none),
		cmocka_unit_test(settings_are_printed_as_they_are_read),
		cmocka_unit_test(other_options_are_passed_over),
		cmocka_unit_test(what_pytorch_refuses_is_refused),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
