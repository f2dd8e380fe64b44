/* SPDX-License-Identifier: MIT */
/* Stream-ordered allocation. */
#include "tests/simulator/child.h"

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
	uint64_t value = 0;

	CHECK_RC(CUDA_SUCCESS, cuMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void reserve_body(void)
{
	CUdeviceptr first, second;
	CUmemoryPool pool;
	uint64_t used;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetDefaultMemPool(&pool, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemAllocAsync(&first, 10 * MIB, NULL));
	CHECK_EQUAL(used + 32 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuMemAllocAsync_ptsz(&second, 40 * MIB, NULL));
	CHECK_EQUAL(96 * MIB, attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	CHECK_EQUAL(50 * MIB, attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	CHECK_RC(CUDA_SUCCESS, cuMemFreeAsync(second, NULL));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(second, NULL));
	/* Freed, but the pool keeps it until a synchronisation. */
	CHECK_EQUAL(used + 96 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuStreamSynchronize(NULL));
	CHECK_EQUAL(used + 32 * MIB, vts_child_used());
	/* Plain cuMemFree takes pool memory too. */
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(first));
	CHECK_RC(CUDA_SUCCESS, cuMemPoolTrimTo(pool, 0));
	CHECK_EQUAL(used, vts_child_used());
	CHECK_EQUAL(96 * MIB, attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH));
	CHECK_EQUAL(50 * MIB, attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH));
}

static void test_reserve(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(reserve_body, NULL));
}

static void threshold_body(void)
{
	uint64_t threshold = 32 * MIB, used;
	CUdeviceptr address[2];
	CUmemoryPool pool;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetDefaultMemPool(&pool, 0));
	CHECK_RC(CUDA_SUCCESS,
		 cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	for (int i = 0; i < 2; i++)
		CHECK_RC(CUDA_SUCCESS, cuMemAllocAsync(&address[i], 30 * MIB, NULL));
	for (int i = 0; i < 2; i++)
		CHECK_RC(CUDA_SUCCESS, cuMemFreeAsync(address[i], NULL));
	CHECK_RC(CUDA_SUCCESS, cuCtxSynchronize());
	CHECK_EQUAL(used + 32 * MIB, vts_child_used());
}

static void test_threshold(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(threshold_body, NULL));
}

static void own_pool_body(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemoryPool pool, current;
	CUdeviceptr address;
	uint64_t used;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuMemPoolCreate(&pool, &properties));
	CHECK_RC(CUDA_SUCCESS, cuDeviceSetMemPool(0, pool));
	CHECK_RC(CUDA_SUCCESS, cuMemAllocFromPoolAsync(&address, 5 * MIB, pool, NULL));
	CHECK_RC(CUDA_SUCCESS, cuMemPoolDestroy(pool));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE,
		 cuMemAllocFromPoolAsync(&address, 5 * MIB, pool, NULL));
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetMemPool(&current, 0));
	CHECK(current != pool);
	/* The pool lives as long as its last allocation. */
	CHECK_EQUAL(used + 32 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuMemFreeAsync(address, NULL));
	CHECK_EQUAL(used, vts_child_used());
}

static void test_own_pool(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(own_pool_body, NULL));
}

static void context_body(void)
{
	CUcontext context;
	CUdeviceptr address;
	CUmemoryPool pool;

	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuCtxCreate_v2(&context, 0, 0));
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetDefaultMemPool(&pool, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemAllocAsync(&address, 5 * MIB, NULL));
	CHECK_RC(CUDA_SUCCESS, cuCtxDestroy_v2(context));
	/* Pool memory outlives the context. */
	CHECK_EQUAL(5 * MIB, attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
}

static void test_context(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(context_body, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_own_pool),
		cmocka_unit_test(test_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
