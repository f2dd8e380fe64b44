/* SPDX-License-Identifier: MIT */
/*
 * cuGetProcAddress.  The answers to unknown, too old, suffixed and empty names were learned from a
 * real driver 535; the rest is documented.
 */
#include "tests/simulator/child.h"

#include <dlfcn.h>

static void *ask(const char *name, int version, uint64_t flags,
		 CUdriverProcAddressQueryResult expected)
{
	CUdriverProcAddressQueryResult status = 77;
	void *function = (void *)1;

	CHECK_RC(CUDA_SUCCESS, cuGetProcAddress_v2(name, &function, version, flags, &status));
	CHECK_EQUAL(expected, status);
	CHECK(expected ? !function : !!function);
	return function;
}

#define IS(symbol, pointer) CHECK((void *)(uintptr_t)(symbol) == (pointer))

static void versions_body(void)
{
	/* Before cuInit, as the runtime does. */
	IS(cuMemAlloc_v2, ask("cuMemAlloc", 3020, 0, 0));
	IS(cuMemAlloc_v2, ask("cuMemAlloc", 99000, 0, 0));
	IS(cuCtxGetDevice, ask("cuCtxGetDevice", 2000, 0, 0));
	IS(cuCtxGetDevice_v2, ask("cuCtxGetDevice", 13000, 0, 0));
	IS(cuCtxCreate_v3, ask("cuCtxCreate", 12000, 0, 0));
	IS(cuCtxCreate_v4, ask("cuCtxCreate", 12050, 0, 0));
	IS(cuGetProcAddress, ask("cuGetProcAddress", 11030, 0, 0));
	IS(cuGetProcAddress_v2, ask("cuGetProcAddress", 12000, 0, 0));
	ask("cuMemAllocAsync", 11010, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	ask("cuMemAlloc_v2", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	ask("cuNoSuchThing", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	ask("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

static void test_versions(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(versions_body, NULL));
}

static void streams_body(void)
{
	void *legacy = ask("cuMemAllocAsync", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, 0);
	void *twin = ask("cuMemAllocAsync", 13000, 2, 0);

	IS(cuMemAllocAsync, legacy);
	IS(cuMemAllocAsync_ptsz, twin);
	CHECK(ask("cuMemcpyHtoD", 13000, 2, 0) == dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds"));
	CHECK(ask("cuMemcpyHtoD", 13000, 2, 0) != ask("cuMemcpyHtoD", 13000, 0, 0));
	/* Per-thread streams came with 7.0; a version below them gets nothing (seen with 535). */
	CHECK(!ask("cuMemcpyHtoD", 6050, 2, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
	IS(cuMemAlloc_v2, ask("cuMemAlloc", 13000, 2, 0));
}

static void test_streams(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(streams_body, NULL));
}

static void old_form_body(void)
{
	void *function = (void *)1;

	CHECK_RC(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchThing", &function, 12000, 0));
	CHECK(function == (void *)1);
	CHECK_RC(CUDA_SUCCESS, cuGetProcAddress("cuMemFree", &function, 12000, 0));
	IS(cuMemFree_v2, function);
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuMemFree", NULL, 12000, 0));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuMemFree", &function, 12000, 9));
}

static void test_old_form(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(old_form_body, NULL));
}

static void old_driver_body(void)
{
	int version;

	CHECK_RC(CUDA_SUCCESS, cuDriverGetVersion(&version));
	CHECK_EQUAL(11080, version);
	IS(cuCtxGetDevice, ask("cuCtxGetDevice", 13000, 0, 0));
	IS(cuCtxCreate_v3, ask("cuCtxCreate", 13000, 0, 0));
	IS(cuGetProcAddress, ask("cuGetProcAddress", 13000, 0, 0));
	ask("cuLibraryLoadData", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	ask("cuKernelGetName", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

static void test_old_driver(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(old_driver_body,
					  "VTRACE_SIM_PROFILE=a100-80g,driver=11.8", NULL));
}

/*
 * Every name that dlsym finds and the table knows is the same function, and all names of the 12.4
 * days exist.
 */
static void names_body(void)
{
	static const char *const WANTED[] = {
		"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle",
		"cuMulticastCreate", "cuStreamWriteValue32", "cuStreamWriteValue32_v2",
		"cuIpcGetEventHandle", "cuTexRefCreate", "cuMemcpyDtoHAsync_v2_ptsz",
		"cuGraphAddNode_v2", "cuGreenCtxCreate", "cuGLGetDevices_v2",
	};
	CUresult (*absent)(void);

	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++)
		if (!dlsym(RTLD_DEFAULT, WANTED[i]))
			vts_child_check(0, WANTED[i], __FILE__, __LINE__);
	absent = (CUresult (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "cuIpcGetEventHandle");
	CHECK_RC(CUDA_ERROR_NOT_SUPPORTED, absent());
	CHECK((void *)(uintptr_t)absent == ask("cuIpcGetEventHandle", 13000, 0, 0));
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(names_body, NULL));
}

/* A twin called through its own name does what its function does. */
static void twin_body(void)
{
	CUresult (*copy)(CUdeviceptr, const void *, size_t);
	uint32_t word = 77, back = 0;
	CUdeviceptr address;

	vts_child_start();
	copy = (CUresult (*)(CUdeviceptr, const void *, size_t))(uintptr_t)dlsym(
		RTLD_DEFAULT, "cuMemcpyHtoD_v2_ptds");
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4));
	CHECK_RC(CUDA_SUCCESS, copy(address, &word, sizeof(word)));
	CHECK_RC(CUDA_SUCCESS, cuMemcpyDtoH_v2(&back, address, sizeof(back)));
	CHECK_EQUAL(77, back);
}

static void test_twin(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(twin_body, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),   cmocka_unit_test(test_streams),
		cmocka_unit_test(test_old_form),   cmocka_unit_test(test_old_driver),
		cmocka_unit_test(test_names),	   cmocka_unit_test(test_twin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
