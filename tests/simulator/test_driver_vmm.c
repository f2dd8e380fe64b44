/* SPDX-License-Identifier: MIT */
/* Reservations, physical handles and mappings: three lives. */
#include "tests/simulator/child.h"

#include <string.h>

static const CUmemAllocationProp DEVICE_0 = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
};

static const CUmemAccessDesc READ_WRITE = {
	.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
	.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

static void lifetime_body(void)
{
	CUmemGenericAllocationHandle handle, again;
	uint64_t used;
	CUdeviceptr start;
	size_t granularity;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuMemGetAllocationGranularity(&granularity, &DEVICE_0, 0));
	CHECK_EQUAL(2 * MIB, granularity);
	CHECK_RC(CUDA_SUCCESS, cuMemAddressReserve(&start, 100 * GIB, 0, 0, 0));
	CHECK_EQUAL(used, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuMemCreate(&handle, 20 * MIB, &DEVICE_0, 0));
	CHECK_EQUAL(used + 20 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuMemMap(start, 20 * MIB, 0, handle, 0));
	/* Released at once, as frameworks do: the mapping keeps the memory. */
	CHECK_RC(CUDA_SUCCESS, cuMemRelease(handle));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
	CHECK_EQUAL(used + 20 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)start));
	CHECK_EQUAL(handle, again);
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(start, 100 * GIB));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(start, 10 * MIB));
	CHECK_RC(CUDA_SUCCESS, cuMemUnmap(start, 20 * MIB));
	CHECK_EQUAL(used + 20 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuMemRelease(again));
	CHECK_EQUAL(used, vts_child_used());
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(start, 50 * GIB));
	CHECK_RC(CUDA_SUCCESS, cuMemAddressFree(start, 100 * GIB));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(start, 100 * GIB));
}

static void test_lifetime(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(lifetime_body, NULL));
}

static void access_body(void)
{
	CUmemGenericAllocationHandle handle[2];
	CUdeviceptr start;
	uint64_t word = 42, back = 0;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAddressReserve(&start, 8 * MIB, 0, 0, 0));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(start, &word, sizeof(word)));
	for (int i = 0; i < 2; i++) {
		CHECK_RC(CUDA_SUCCESS, cuMemCreate(&handle[i], 2 * MIB, &DEVICE_0, 0));
		CHECK_RC(CUDA_SUCCESS,
			 cuMemMap(start + (uint64_t)i * 2 * MIB, 2 * MIB, 0, handle[i], 0));
	}
	/* Mapped, but nobody may use it yet; nor map over it, nor outside of the reservation. */
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(start, &word, sizeof(word)));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemMap(start, 2 * MIB, 0, handle[0], 0));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemMap(start + 8 * MIB, 2 * MIB, 0, handle[0], 0));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(start, 6 * MIB, &READ_WRITE, 1));
	CHECK_RC(CUDA_SUCCESS, cuMemSetAccess(start, 4 * MIB, &READ_WRITE, 1));
	/* A copy across the seam of two mappings. */
	CHECK_RC(CUDA_SUCCESS, cuMemcpyHtoD_v2(start + 2 * MIB - 4, &word, sizeof(word)));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(&back, start + 2 * MIB - 4, sizeof(back)));
	CHECK_EQUAL(42, back);
	CHECK_RC(CUDA_ERROR_INVALID_VALUE,
		 cuMemcpyHtoD_v2(start + 4 * MIB - 4, &word, sizeof(word)));
	/* One unmap may cover several mappings. */
	CHECK_RC(CUDA_SUCCESS, cuMemUnmap(start, 4 * MIB));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(&back, start, sizeof(back)));
}

static void test_access(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(access_body, NULL));
	assert_int_equal(0, vts_child_run(access_body, "VTRACE_SIM_STRICT=1", NULL));
}

static void limits_body(void)
{
	CUmemAllocationProp host = DEVICE_0, wrong = DEVICE_0;
	CUmemGenericAllocationHandle handle;
	uint64_t used;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, 3 * MIB, &DEVICE_0, 0));
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, 2 * GIB, &DEVICE_0, 0));
	wrong.location.id = 7;
	CHECK_RC(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, 2 * MIB, &wrong, 0));
	host.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	CHECK_RC(CUDA_SUCCESS, cuMemCreate(&handle, 2 * GIB, &host, 0));
	CHECK_EQUAL(used, vts_child_used());
}

static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(limits_body, "VTRACE_SIM_PROFILE=t4-16g,memory=2GiB",
					  NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lifetime),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
