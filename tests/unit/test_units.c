/* SPDX-License-Identifier: MIT */
#include "tests/lib/unit.h"

#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "common/size.h"

static void bytes_are_powers_of_two_with_two_decimals(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.00 KiB" },
		{ 20 * VT_MIB, "20.00 MiB" },
		{ VT_MIB - 1, "1.00 MiB" },
		{ VT_GIB - 1024, "1.00 GiB" },
		{ VT_GIB - 6 * VT_KIB, "1023.99 MiB" },
		{ 8519680, "8.12 MiB" }, /* 8.125; as printf, halves to the even digit */
		{ 8781824, "8.38 MiB" },
		{ VT_GIB + VT_GIB / 2, "1.50 GiB" },
		{ 5000 * VT_GIB, "4.88 TiB" },
		{ UINT64_MAX, "16777216.00 TiB" },
	};
	char buf[VT_UNITS_MAX];

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++)
		assert_string_equal(vt_units_bytes(buf, sizeof(buf), cases[i].bytes),
				    cases[i].text);
	assert_string_equal(vt_units_bytes_signed(buf, sizeof(buf), 3 * (int64_t)VT_GIB),
			    "+3.00 GiB");
	assert_string_equal(vt_units_bytes_signed(buf, sizeof(buf), -5), "-5 B");
	assert_string_equal(vt_units_bytes_signed(buf, sizeof(buf), INT64_MIN), "-8388608.00 TiB");
}

static void counts_have_groups_of_three(void **state)
{
	char buf[VT_UNITS_MAX];

	(void)state;
	assert_string_equal(vt_units_count(buf, sizeof(buf), 0), "0");
	assert_string_equal(vt_units_count(buf, sizeof(buf), 999), "999");
	assert_string_equal(vt_units_count(buf, sizeof(buf), 1204311), "1,204,311");
	assert_string_equal(vt_units_count(buf, sizeof(buf), UINT64_MAX),
			    "18,446,744,073,709,551,615");
}

static void durations_change_their_unit(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{ 999, "0 us" },
		{ 850000000, "850 ms" },
		{ 41200000000, "41.2 s" },
		{ 59940000000, "59.9 s" },
		{ 59960000000, "1 min 0 s" },
		{ 72000000000, "1 min 12 s" },
		{ 7500000000000, "2 h 5 min" },
	};
	char buf[VT_UNITS_MAX];

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++)
		assert_string_equal(vt_units_duration(buf, sizeof(buf), cases[i].ns),
				    cases[i].text);
}

static void input_never_confuses_gb_with_gib(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "4096", 4096 },
		{ "24GiB", 24 * VT_GIB },
		{ "24 GB", 24000000000 },
		{ "1.5g", VT_GIB * 3 / 2 },
		{ "512k", 512 * VT_KIB },
		{ "10MB", 10000000 },
		{ "2 tib", 2048 * VT_GIB },
		{ "0", 0 },
		{ "7 B", 7 },
		{ "79.10GiB", 84932978278 },
		{ ".5 KB", 500 },
		{ "2.e3", 2000 },
		{ "1e3 MB", 1000000000 },
		{ "15E-1 GiB", VT_GIB * 3 / 2 },
		{ "0.000000000000000000000000001TB", 0 },
		{ "1.00000000000000000000000000001KB", 1000 },
		{ "4611686018427387904", 1ull << 62 },
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		bytes = 1;
		assert_int_equal(vt_size_parse(cases[i].text, &bytes), 0);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void wrong_input_is_refused(void **state)
{
	static const char *const cases[] = { "",      "-1",          "GiB", "1 GiB x", "1e999",
					     "0e",    ".",           "1e",  "1e+",     "0x10",
					     "nan",   " 5",          "+3",  "5 GGB",   "1..5",
					     "inf",   "9999999 TiB", "1,5", "1e99999999999" };
	uint64_t bytes = 42;

	(void)state;
	for (size_t i = 0; i < VT_ARRAY_SIZE(cases); i++) {
		if (!vt_size_parse(cases[i], &bytes))
			fail_msg("'%s' was taken as %llu", cases[i], (unsigned long long)bytes);
		assert_int_equal(bytes, 42);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_powers_of_two_with_two_decimals),
		cmocka_unit_test(counts_have_groups_of_three),
		cmocka_unit_test(durations_change_their_unit),
		cmocka_unit_test(input_never_confuses_gb_with_gib),
		cmocka_unit_test(wrong_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
