/* SPDX-License-Identifier: MIT */
/* Faults on request. */
#include "tests/simulator/child.h"

static void pattern_body(void)
{
	CUdeviceptr address;
	uint64_t used;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, 3 * MIB));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 2 * MIB));
	CHECK_EQUAL(used + 4 * MIB, vts_child_used());
	for (int i = 1; i <= 6; i++)
		CHECK_RC(i % 3 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, cuCtxSynchronize());
	CHECK_RC(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuInit(0));
}

static void test_pattern(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(pattern_body,
					  "VTRACE_SIM_FAULT=cuMemAlloc_v2:3=2,"
					  "cuMemAlloc_v2:>2MiB=2,"
					  "cuCtxSynchronize:every=3=999:delay=1,cuInit:2=803",
					  NULL));
}

/* What cannot be understood is ignored, the rest of the list holds. */
static void malformed_body(void)
{
	CUdeviceptr address;

	vts_child_start();
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
}

static void test_malformed(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(malformed_body,
					  "VTRACE_SIM_FAULT=nonsense,cuMemAlloc_v2:x=2,"
					  "cuMemAlloc_v2:0=2,:1=2,cuMemAlloc_v2:2=,"
					  "cuMemAlloc_v2:1=2",
					  NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
