/* SPDX-License-Identifier: MIT */
/* Device, managed and host memory: account, out of memory, alignment, copies, attributes. */
#include "tests/simulator/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define CONTEXT_BYTES (522 * MIB) /* profile h100-80g */

static void account_body(void)
{
	CUdeviceptr large, small[3], other;

	vts_child_start();
	CHECK_EQUAL(CONTEXT_BYTES, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&large, 3 * MIB));
	CHECK_EQUAL(CONTEXT_BYTES + 4 * MIB, vts_child_used());
	CHECK_EQUAL(0, large % (2 * MIB));
	for (int i = 0; i < 3; i++) {
		CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&small[i], 1000));
		CHECK_EQUAL(0, small[i] % 512);
	}
	/* Three small ones share one slab of 2 MiB. */
	CHECK_EQUAL(CONTEXT_BYTES + 6 * MIB, vts_child_used());
	CHECK_EQUAL(small[0] + 1024, small[1]);
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(small[1]));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&other, 900));
	CHECK_EQUAL(small[1], other);
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(other));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(small[0]));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(small[2]));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(large));
	CHECK_EQUAL(CONTEXT_BYTES, vts_child_used());
}

static void test_account(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(account_body, NULL));
}

static void out_of_memory_body(void)
{
	CUdeviceptr first, second;
	uint64_t used;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&first, 1 * GIB));
	used = vts_child_used();
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&second, 1 * GIB));
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&second, ~0ULL - 5));
	CHECK_EQUAL(used, vts_child_used());
	/* What is left fits exactly, and nothing after it. */
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&second, 2 * GIB - used));
	CHECK_EQUAL(2 * GIB, vts_child_used());
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&second, 1));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&second, 0));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(NULL, 1));
}

static void test_out_of_memory(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(out_of_memory_body,
					  "VTRACE_SIM_PROFILE=h100-80g,memory=2GiB", NULL));
}

static void bad_free_body(void)
{
	CUdeviceptr address;
	void *host;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(0));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4 * MIB));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address + 512));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(address));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
	CHECK_RC(CUDA_SUCCESS, cuMemHostAlloc(&host, 100, 0));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2((uintptr_t)host));
	CHECK_RC(CUDA_SUCCESS, cuMemFreeHost(host));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(host));
}

static void test_bad_free(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(bad_free_body, NULL));
}

static void copy_body(void)
{
	char out[4096], back[4096];
	CUdeviceptr a, b;

	vts_child_start();
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)(i * 7);
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&a, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&b, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyHtoD_v2(a, out, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoD_v2(b, a, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(back, b, 4096));
	CHECK(!memcmp(out, back, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemsetD32_v2(b, 0x01020304, 1024));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(back, b, 4096));
	CHECK(back[0] == 4 && back[4095] == 1);
	CHECK_RC(CUDA_SUCCESS, cuMemsetD8_v2(b + 1, 0, 4095));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(back, b, 4096));
	CHECK(back[0] == 4 && !back[1] && !back[4095]);
	/* Beyond the end, and freed. */
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(back, a + 4000, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(a));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(a, out, 16));
}

static void test_copy(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(copy_body, NULL));
	assert_int_equal(0, vts_child_run(copy_body, "VTRACE_SIM_STRICT=1", NULL));
}

/* Of a slab, whose pages stay: a block has nothing of the one that was there before. */
static void reuse_body(void)
{
	unsigned char back[4096], none[4096] = { 0 };
	CUdeviceptr neighbour, first, second;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&neighbour, 4096));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&first, 6000));
	CHECK_RC(CUDA_SUCCESS, cuMemsetD8_v2(first, 0xff, 6000));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(first));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&second, 4096));
	CHECK(first == second);
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(back, second, sizeof(back)));
	CHECK(!memcmp(back, none, sizeof(back)));
}

static void test_reuse(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(reuse_body, NULL));
	assert_int_equal(0, vts_child_run(reuse_body, "VTRACE_SIM_STRICT=1", NULL));
}

/* The whole card is allocated, set and read: nothing of it may be touched on the host. */
static void large_body(void)
{
	static char back[8 * 1024 * 1024];
	struct rusage usage;
	CUdeviceptr address;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 70 * GIB));
	CHECK_RC(CUDA_SUCCESS, cuMemsetD8_v2(address + 30 * GIB + 7, 1, 10 * MIB));
	CHECK_RC(CUDA_SUCCESS, cuMemsetD8_v2(address, 0, 70 * GIB));
	CHECK(!*(char *)(uintptr_t)(address + 30 * GIB + 7));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoD_v2(address + 35 * GIB, address, 35 * GIB));
	for (uint64_t at = 0; at < 4 * GIB; at += sizeof(back))
		CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(back, address + at, sizeof(back)));
	getrusage(RUSAGE_SELF, &usage);
	CHECK(usage.ru_maxrss < 100 * 1024);
}

static void test_large(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(large_body, NULL));
}

static void copy_limit_body(void)
{
	char *host = malloc(2 * MIB);
	CUdeviceptr address;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 2 * MIB));
	memset(host, 5, 2 * MIB);
	CHECK_RC(CUDA_SUCCESS, cuMemcpyHtoD_v2(address, host, 2 * MIB)); /* dropped */
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(host, address, MIB));
	CHECK(!host[0] && host[2 * MIB - 1] == 5);
	free(host);
}

static void test_copy_limit(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(copy_limit_body, "VTRACE_SIM_COPY_LIMIT=1MiB", NULL));
}

static void dereference_body(void)
{
	CUdeviceptr address;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4096));
	CHECK(!*(volatile char *)(uintptr_t)address);
}

static void test_strict(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(dereference_body, NULL));
	assert_int_equal(128 + SIGSEGV,
			 vts_child_run(dereference_body, "VTRACE_SIM_STRICT=1", NULL));
}

static void shapes_body(void)
{
	char out[3][5] = { "abcd", "efgh", "ijkl" }, back[3][5] = { { 0 } };
	CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = out,
			       .srcPitch = 5,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .WidthInBytes = 5,
			       .Height = 3 };
	CUdeviceptr address;
	size_t pitch;
	uint64_t used;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuMemAllocPitch_v2(&address, &pitch, 5000, 1000, 4));
	CHECK_EQUAL(5120, pitch);
	CHECK_EQUAL(used + 6 * MIB, vts_child_used());
	copy.dstDevice = address;
	copy.dstPitch = pitch;
	CHECK_RC(CUDA_SUCCESS, cuMemcpy2D_v2(&copy));
	copy = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				.srcDevice = address,
				.srcPitch = pitch,
				.dstMemoryType = CU_MEMORYTYPE_HOST,
				.dstHost = back,
				.dstPitch = 5,
				.WidthInBytes = 5,
				.Height = 3 };
	CHECK_RC(CUDA_SUCCESS, cuMemcpy2DAsync_v2(&copy, NULL));
	CHECK(!memcmp(out, back, sizeof(out)));
}

static void test_shapes(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(shapes_body, NULL));
}

static void attributes_body(void)
{
	CUdeviceptr device, managed, base;
	unsigned int type, flags;
	int ordinal, is_managed;
	void *host, *mine = malloc(8192);
	size_t size;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&device, 5000));
	CHECK_RC(CUDA_SUCCESS, cuMemAllocManaged(&managed, 5000, CU_MEM_ATTACH_GLOBAL));
	CHECK_RC(CUDA_SUCCESS, cuMemHostAlloc(&host, 5000, CU_MEMHOSTALLOC_PORTABLE));
	*(char *)(uintptr_t)managed = 1;
	*(char *)host = 1;
	CHECK_RC(CUDA_SUCCESS,
		 cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 4999));
	CHECK_EQUAL(CU_MEMORYTYPE_DEVICE, type);
	CHECK_RC(CUDA_SUCCESS,
		 cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host));
	CHECK_EQUAL(CU_MEMORYTYPE_HOST, type);
	CHECK_RC(CUDA_SUCCESS,
		 cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
	CHECK_EQUAL(1, is_managed);
	CHECK_RC(CUDA_SUCCESS,
		 cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
	CHECK_EQUAL(0, ordinal);
	CHECK_RC(CUDA_SUCCESS, cuMemGetAddressRange_v2(&base, &size, device + 100));
	CHECK(base == device && size == 5000);
	CHECK_RC(CUDA_SUCCESS, cuMemHostGetFlags(&flags, host));
	CHECK(flags & CU_MEMHOSTALLOC_PORTABLE);
	CHECK_RC(CUDA_ERROR_INVALID_VALUE,
		 cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)mine));
	CHECK_RC(CUDA_SUCCESS, cuMemHostRegister_v2(mine, 8192, 0));
	CHECK_RC(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(mine, 100, 0));
	CHECK_RC(CUDA_SUCCESS, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
						     (uintptr_t)mine + 8191));
	CHECK_RC(CUDA_SUCCESS, cuMemHostUnregister(mine));
	CHECK_RC(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(mine));
	free(mine);
}

static void test_attributes(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(attributes_body, NULL));
}

static void array_body(void)
{
	CUDA_ARRAY_DESCRIPTOR shape = {
		.Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2
	};
	uint64_t used;
	CUarray array;

	vts_child_start();
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuArrayCreate_v2(&array, &shape));
	CHECK_EQUAL(used + 8 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuArrayDestroy(array));
	CHECK_RC(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
	CHECK_EQUAL(used, vts_child_used());
}

static void test_array(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(array_body, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_account),    cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_bad_free),   cmocka_unit_test(test_copy),
		cmocka_unit_test(test_reuse),      cmocka_unit_test(test_large),
		cmocka_unit_test(test_copy_limit), cmocka_unit_test(test_strict),
		cmocka_unit_test(test_shapes),     cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
