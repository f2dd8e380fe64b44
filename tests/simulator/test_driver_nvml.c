/* SPDX-License-Identifier: MIT */
/* The simulated NVML sees what the driver of the same process took. */
#include "tests/simulator/child.h"

#include <dlfcn.h>
#include <unistd.h>

struct process {
	unsigned int pid;
	unsigned long long used;
};

static void *find(const char *name)
{
	static void *library;
	void *function;

	if (!library)
		library = dlopen(VTS_SIMULATOR_DIRECTORY "/libnvidia-ml.so.1", RTLD_NOW);
	CHECK(library);
	function = dlsym(library, name);
	vts_child_check(!!function, name, __FILE__, __LINE__);
	return function;
}

#define CALL(name, ...) ((int (*)())(uintptr_t)find(name))(__VA_ARGS__)

#pragma GCC diagnostic ignored "-Wstrict-prototypes"
static void account_body(void)
{
	unsigned long long memory[3];
	struct process process;
	unsigned int nr = 0;
	char text[96];
	void *device;
	CUdeviceptr address;

	CHECK_EQUAL(1, CALL("nvmlDeviceGetCount_v2", &nr));
	CHECK_EQUAL(0, CALL("nvmlInit_v2"));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetCount_v2", &nr));
	CHECK_EQUAL(1, nr);
	CHECK_EQUAL(0, CALL("nvmlDeviceGetHandleByPciBusId_v2", "00000000:01:00.0", &device));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetMemoryInfo", device, memory));
	CHECK_EQUAL(0, memory[2]);
	nr = 0;
	CHECK_EQUAL(0, CALL("nvmlDeviceGetComputeRunningProcesses", device, &nr, NULL));
	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 100 * MIB));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetMemoryInfo", device, memory));
	CHECK_EQUAL(vts_child_used(), memory[2]);
	CHECK_EQUAL(memory[0], memory[1] + memory[2]);
	CHECK_EQUAL(7, CALL("nvmlDeviceGetComputeRunningProcesses", device, &nr, NULL));
	CHECK_EQUAL(1, nr);
	CHECK_EQUAL(0, CALL("nvmlDeviceGetComputeRunningProcesses", device, &nr, &process));
	CHECK(process.pid == (unsigned int)getpid() && process.used == memory[2]);
	CHECK_EQUAL(0, CALL("nvmlDeviceGetName", device, text, 96));
	CHECK(text[0] == 'N');
	CHECK_EQUAL(3, CALL("nvmlDeviceGetGpuFabricInfoV", device, text));
	CHECK_EQUAL(0, CALL("nvmlShutdown"));
}

/* What serving engines ask before they choose kernels and ways between cards. */
static void describe_body(void)
{
	int major = -1, minor = -1, status = -1;
	void *first, *second, *found;
	char uuid[64];

	CHECK_EQUAL(0, CALL("nvmlInit_v2"));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetHandleByIndex_v2", 0, &first));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetHandleByIndex_v2", 1, &second));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetCudaComputeCapability", first, &major, &minor));
	CHECK_EQUAL(8, major);
	CHECK_EQUAL(9, minor);
	CHECK_EQUAL(7, CALL("nvmlDeviceGetUUID", second, uuid, 40));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetUUID", second, uuid, 41));
	CHECK_EQUAL(0, CALL("nvmlDeviceGetHandleByUUID", uuid, &found));
	CHECK(found == second);
	CHECK_EQUAL(0, CALL("nvmlDeviceGetP2PStatus", first, second, 0, &status));
	CHECK_EQUAL(0, status);
	CHECK_EQUAL(0, CALL("nvmlDeviceGetP2PStatus", first, second, 2, &status));
	CHECK_EQUAL(5, status); /* no NVLink */
	CHECK_EQUAL(2, CALL("nvmlDeviceGetP2PStatus", first, NULL, 0, &status));
}

static void test_account(void **state)
{
	(void)state;
	assert_int_equal(0, vts_child_run(account_body, NULL));
}

static void test_describe(void **state)
{
	(void)state;
	assert_int_equal(
		0, vts_child_run(describe_body, "VTRACE_SIM_PROFILE=l4-24g,count=2", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_account),
		cmocka_unit_test(test_describe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
