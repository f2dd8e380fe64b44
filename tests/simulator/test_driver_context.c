/* SPDX-License-Identifier: MIT */
/* Initialisation, contexts, fork, threads. */
#include "tests/simulator/child.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void before_init_body(void)
{
	CUdeviceptr address;
	CUcontext context;
	int count;

	CHECK_RC(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&address, 1));
	CHECK_RC(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
	CHECK_RC(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&context));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&address, 1));
	CHECK_RC(CUDA_SUCCESS, cuCtxGetCurrent(&context));
	CHECK(!context);
}

static void test_before_init(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(before_init_body, NULL));
}

static void primary_body(void)
{
	CUcontext context, again;
	unsigned int flags;
	CUdeviceptr address;
	int is_active;

	context = vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&again, 0));
	CHECK(context == again);
	CHECK_RC(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(context));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 4 * MIB));
	CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxRelease_v2(0));
	CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxGetState(0, &flags, &is_active));
	CHECK(is_active);
	CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxReset_v2(0));
	CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxGetState(0, &flags, &is_active));
	CHECK(!is_active);
	CHECK_RC(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemFree_v2(address));
	vts_child_start();
	CHECK_EQUAL(522 * MIB, vts_child_used());
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
}

static void test_primary(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(primary_body, NULL));
}

/* Two contexts of one process share what the driver takes for it. */
static void destroy_body(void)
{
	CUdeviceptr address[2];
	CUcontext first, second, current;
	uint64_t used;

	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuCtxCreate_v2(&first, 0, 0));
	used = vts_child_used();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address[0], 4 * MIB));
	CHECK_RC(CUDA_SUCCESS, cuCtxCreate_v4(&second, NULL, 0, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address[1], 6 * MIB));
	CHECK_EQUAL(used + 10 * MIB, vts_child_used());
	CHECK_RC(CUDA_SUCCESS, cuCtxDestroy_v2(second));
	CHECK_RC(CUDA_SUCCESS, cuCtxGetCurrent(&current));
	CHECK(current == first);
	CHECK_EQUAL(used + 4 * MIB, vts_child_used());
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address[1]));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(address[0]));
	CHECK_RC(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(second));
}

static void test_destroy(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(destroy_body, NULL));
}

static void fork_body(void)
{
	CUdeviceptr address;
	int count, status;
	pid_t child;

	vts_child_start();
	child = fork();
	if (!child) {
		CHECK_RC(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
		CHECK_RC(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
		CHECK_RC(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&address, 1));
		CHECK_RC(CUDA_SUCCESS, cuDriverGetVersion(&count));
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 1));
}

static void test_fork(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(fork_body, NULL));
}

static void *hammer(void *context)
{
	unsigned int seed = (unsigned int)(uintptr_t)pthread_self();
	CUdeviceptr address[8] = { 0 };

	CHECK_RC(CUDA_SUCCESS, cuCtxSetCurrent(context));
	for (int i = 0; i < 4000; i++) {
		CUdeviceptr *place = &address[i % 8];

		if (*place)
			CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(*place));
		CHECK_RC(CUDA_SUCCESS,
			 cuMemAlloc_v2(place, 1 + (size_t)rand_r(&seed) % (3 * MIB)));
		CHECK_RC(CUDA_SUCCESS, cuMemsetD8_v2(*place, 1, 1));
	}
	for (int i = 0; i < 8; i++)
		CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(address[i]));
	return NULL;
}

static void threads_body(void)
{
	CUcontext context = vts_child_start();
	uint64_t used = vts_child_used();
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, hammer, context);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(used, vts_child_used());
}

static void test_threads(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(threads_body, NULL));
}

static void devices_body(void)
{
	CUdeviceptr address[2];
	CUdevice device;
	CUcontext context[2];
	char bus[32];
	int count, can;

	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetCount(&count));
	CHECK_EQUAL(2, count);
	/* CUDA_VISIBLE_DEVICES=2,0 */
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetPCIBusId(bus, sizeof(bus), 0));
	CHECK(bus[6] == '3');
	CHECK_RC(CUDA_SUCCESS, cuDeviceGetByPCIBusId(&device, "0000:01:00.0"));
	CHECK_EQUAL(1, device);
	CHECK_RC(CUDA_SUCCESS, cuDeviceCanAccessPeer(&can, 0, 1));
	CHECK_EQUAL(1, can);
	for (int i = 0; i < 2; i++) {
		CHECK_RC(CUDA_SUCCESS, cuDevicePrimaryCtxRetain(&context[i], i));
		CHECK_RC(CUDA_SUCCESS, cuCtxSetCurrent(context[i]));
		CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address[i], 4 * MIB));
		CHECK_EQUAL(522 * MIB + 4 * MIB, vts_child_used());
	}
	/* Each device has its own window of addresses. */
	CHECK(address[1] - address[0] >= 1024 * GIB);
	/* Freeing with the other device's context current is fine. */
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(address[0]));
	CHECK_EQUAL(522 * MIB + 4 * MIB, vts_child_used());
}

static void no_device_body(void)
{
	CHECK_RC(CUDA_ERROR_NO_DEVICE, cuInit(0));
}

static void test_devices(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(devices_body, "VTRACE_SIM_PROFILE=h100-80g,count=3",
					  "CUDA_VISIBLE_DEVICES=2,0", NULL));
	assert_int_equal(0, vts_child_run(no_device_body, "CUDA_VISIBLE_DEVICES=", NULL));
	assert_int_equal(0, vts_child_run(no_device_body, "CUDA_VISIBLE_DEVICES=-1", NULL));
	assert_int_equal(0, vts_child_run(no_device_body, "CUDA_VISIBLE_DEVICES=1", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_init), cmocka_unit_test(test_primary),
		cmocka_unit_test(test_destroy),	    cmocka_unit_test(test_fork),
		cmocka_unit_test(test_threads),	    cmocka_unit_test(test_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
