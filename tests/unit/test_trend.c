/* SPDX-License-Identifier: MIT */
/*
 * Rows of floors: which go on growing, how steeply, and how sure that is.
 */
#include "tests/lib/unit.h"

#include "analyzer/base/util.h"
#include "analyzer/diagnosis/trend.h"

static const struct {
	const char *name;
	uint64_t values[16];
	uint32_t nr;
	enum vt_confidence confidence;
	double slope;
} rows[] = {
	{ "as much each turn", { 10, 20, 30, 40, 50, 60, 70, 80 }, 8, VT_CONFIDENCE_HIGH, 10 },
	{ "few iterations", { 10, 20, 30, 40 }, 4, VT_CONFIDENCE_MEDIUM, 10 },
	{ "too few iterations", { 10, 20, 30 }, 3, VT_CONFIDENCE_NONE, 0 },
	{ "one jump among them does not count",
	  { 0, 210, 220, 230, 240, 250, 260, 270 },
	  8,
	  VT_CONFIDENCE_HIGH,
	  10 },
	{ "each second turn",
	  { 0, 0, 20, 20, 40, 40, 60, 60, 80, 80 },
	  10,
	  VT_CONFIDENCE_HIGH,
	  10 },
	{ "nothing", { 7, 7, 7, 7, 7, 7, 7, 7 }, 8, VT_CONFIDENCE_NONE, 0 },
	{ "filled at once", { 0, 0, 0, 90, 90, 90, 90, 90 }, 8, VT_CONFIDENCE_NONE, 0 },
	{ "filled, then full", { 0, 10, 20, 30, 40, 50, 50, 50, 50 }, 9, VT_CONFIDENCE_NONE, 0 },
	{ "filled until shortly before the end",
	  { 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 90, 90 },
	  12,
	  VT_CONFIDENCE_NONE,
	  0 },
	{ "plateaus at a few events",
	  { 0, 0, 10, 10, 10, 10, 20, 20, 20, 30, 30, 30, 30, 40, 40, 40 },
	  16,
	  VT_CONFIDENCE_NONE,
	  0 },
	{ "each third turn, as often as was looked",
	  { 0, 0, 0, 10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40, 50 },
	  16,
	  VT_CONFIDENCE_HIGH,
	  10.0 / 3 },
	{ "a sawtooth", { 0, 10, 20, 30, 0, 10, 20, 30, 40 }, 9, VT_CONFIDENCE_NONE, 0 },
	{ "gives back at times",
	  { 0, 10, 20, 30, 40, 50, 60, 70, 50, 60, 70, 80, 90, 100, 110, 120 },
	  16,
	  VT_CONFIDENCE_NONE,
	  0 },
	{ "falling", { 80, 70, 60, 50, 40, 30, 20, 10 }, 8, VT_CONFIDENCE_NONE, 0 },
	{ "up and down", { 10, 90, 20, 80, 30, 70, 40, 60 }, 8, VT_CONFIDENCE_NONE, 0 },
};

static void every_row_is_judged(void **state)
{
	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(rows); i++) {
		struct vt_trend trend = vt_trend_find(rows[i].values, rows[i].nr);

		if (trend.confidence != rows[i].confidence ||
		    (trend.confidence && (trend.slope < 0.8 * rows[i].slope ||
					  trend.slope > 1.2 * rows[i].slope)))
			fail_msg("%s: %s, slope %g", rows[i].name,
				 vt_trend_confidences[trend.confidence], trend.slope);
	}
}

static void bytes_of_large_cards_keep_their_digits(void **state)
{
	uint64_t values[VT_TREND_MAX_POINTS];
	struct vt_trend trend;

	(void)state;
	for (uint32_t i = 0; i < VT_TREND_MAX_POINTS; i++)
		values[i] = (190ull << 30) + 512 * i;
	trend = vt_trend_find(values, VT_TREND_MAX_POINTS);
	assert_int_equal(trend.confidence, VT_CONFIDENCE_HIGH);
	assert_true(trend.slope == 512);
	assert_true(trend.noise == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_judged),
		cmocka_unit_test(bytes_of_large_cards_keep_their_digits),
	};

	return cmocka_run_group_tests_name("trend", tests, NULL, NULL);
}
