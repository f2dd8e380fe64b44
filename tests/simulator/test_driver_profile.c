/* SPDX-License-Identifier: MIT */
/* The cards: every profile is complete, options work, a wrong name yields no card at all. */
#include "tests/simulator/child.h"

#include <stdio.h>
#include <string.h>

#include "common/card_profile.h"

static int attribute(CUdevice_attribute which)
{
	int value = 0;

	CHECK_RC(CUDA_SUCCESS, cuDeviceGetAttribute(&value, which, 0));
	return value;
}

static void complete_body(void)
{
	size_t free_bytes, total_bytes, device_bytes;
	char name[96];

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetName(name, sizeof(name), 0));
	CHECK(strlen(name) > 5);
	CHECK_RC(CUDA_SUCCESS, cuDeviceTotalMem_v2(&device_bytes, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemGetInfo_v2(&free_bytes, &total_bytes));
	CHECK(device_bytes == total_bytes && total_bytes > 3 * GIB && free_bytes < total_bytes);
	CHECK(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 5);
	CHECK(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) >= 16);
	CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) >= 1024);
	CHECK(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) >= (int)(2 * MIB));
	CHECK(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) >= 49152);
	CHECK(attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) > 1000000);
	CHECK_EQUAL(32, attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
	CHECK_EQUAL(1024, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
	CHECK_EQUAL(1, attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED));
	CHECK_EQUAL(1, attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
	CHECK_EQUAL(0, attribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED));
}

/* The sections of profiles.ini, as text: this test knows no reader of it. */
static void test_complete(void **state)
{
	FILE *file = fopen(VTS_SIMULATOR_DIRECTORY "/profiles.ini", "re");
	char line[512], setting[128], names[64][64];
	int nr = 0;

	(void)state;
	assert_non_null(file);
	while (nr < 64 && fgets(line, sizeof(line), file))
		nr += sscanf(line, "[%63[^]]]", names[nr]) == 1;
	/* Before the children: they share the file's offset. */
	fclose(file);
	assert_true(nr >= 26 && nr < 64);
	while (nr--) {
		snprintf(setting, sizeof(setting), "VTRACE_SIM_PROFILE=%s", names[nr]);
		if (vts_child_run(complete_body, setting, NULL))
			fail_msg("%s", names[nr]);
	}
}

static void example_body(void)
{
	size_t free_bytes, total_bytes;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemGetInfo_v2(&free_bytes, &total_bytes));
	CHECK_EQUAL(7910, total_bytes * 100 / GIB + 1); /* 79.10 GiB, rounded */
}

static void options_body(void)
{
	size_t total_bytes;
	int value;

	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetCount(&value));
	CHECK_EQUAL(4, value);
	CHECK_RC(CUDA_SUCCESS, cuDriverGetVersion(&value));
	CHECK_EQUAL(12040, value);
	CHECK_RC(CUDA_SUCCESS, cuDeviceTotalMem_v2(&total_bytes, 3));
	CHECK_EQUAL(24000000000, total_bytes);
}

static void own_body(void)
{
	size_t total_bytes;
	char name[96];

	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetName(name, sizeof(name), 0));
	CHECK(!strcmp(name, "Own card"));
	CHECK_RC(CUDA_SUCCESS, cuDeviceTotalMem_v2(&total_bytes, 0));
	CHECK_EQUAL(6 * GIB, total_bytes);
	CHECK_EQUAL(7, attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
	CHECK_EQUAL(1536, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
}

static void test_own(void **state)
{
	FILE *file = fopen("own.ini", "we");

	(void)state;
	assert_non_null(file);
	fputs("[own]\ndevice = Own card\ntotal_bytes = 8GiB\ncapability = 86\nnr_sms = 6\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(
		0,
		vts_child_run(own_body, "VTRACE_SIM_PROFILE=./own.ini,memory=6GiB,nr_sms=7", NULL));
	remove("own.ini");
}

static void nothing_body(void)
{
	CHECK_RC(CUDA_ERROR_NO_DEVICE, cuInit(0));
}

/* What is behind the end of the buffer would be missing in silence. */
static void test_too_long(void **state)
{
	FILE *file = fopen("long.ini", "we");

	(void)state;
	assert_non_null(file);
	fputs("[own]\ndevice = Own card\ntotal_bytes = 8GiB\ncapability = 86\n", file);
	for (unsigned i = 0; i < VT_CARD_MAX_FILE_BYTES; i++)
		fputs("\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(0, vts_child_run(nothing_body, "VTRACE_SIM_PROFILE=./long.ini", NULL));
	remove("long.ini");
}

static void test_options(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(example_body, NULL));
	assert_int_equal(0, vts_child_run(options_body,
					  "VTRACE_SIM_PROFILE=l40s-48g,memory=24GB,count=4,"
					  "driver=12.4",
					  NULL));
}

static void test_wrong(void **state)
{
	static const char *const WRONG[] = { "h100",
					     "h100-80g,memory=lots",
					     "h100-80g,memory=0",
					     "h100-80g,count=0",
					     "h100-80g,count=9",
					     "h100-80g,driver=new",
					     "h100-80g,colour=green",
					     "./no-such-file.ini" };
	char setting[128];

	(void)state;
	for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
		snprintf(setting, sizeof(setting), "VTRACE_SIM_PROFILE=%s", WRONG[i]);
		assert_int_equal(0, vts_child_run(nothing_body, setting, NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
