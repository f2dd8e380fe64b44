/* SPDX-License-Identifier: MIT */
/* The ledger: what it says, that it is complete at any moment, and that two runs write the same. */
#include "tests/simulator/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char setting[512];

/* Runs BODY with a ledger and returns the ledger's text. */
static char *run(void (*body)(void), const char *name, int expected_status)
{
	snprintf(setting, sizeof(setting), "VTRACE_SIM_LEDGER=%s", vts_child_temporary(name));
	unlink(vts_child_temporary(name));
	assert_int_equal(expected_status,
			 vts_child_run(body, setting, "VTRACE_SIM_PROFILE=h100-80g", NULL));
	return vts_child_read(vts_child_temporary(name));
}

static void assert_has(const char *ledger, const char *part)
{
	assert_non_null(ledger);
	if (!strstr(ledger, part)) {
		fprintf(stderr, "no \"%s\" in:\n%s", part, ledger);
		fail();
	}
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		found++;
	return found;
}

static void mixed_body(void)
{
	CUmemAllocationProp properties = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address, pooled, reserved;
	CUstream stream;
	void *host;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuStreamCreate(&stream, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 3000000));
	CHECK_RC(CUDA_SUCCESS, cuMemAllocAsync(&pooled, 1000, stream));
	CHECK_RC(CUDA_SUCCESS, cuMemHostAlloc(&host, 5000, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemAddressReserve(&reserved, 4 * MIB, 0, 0, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemCreate(&handle, 2 * MIB, &properties, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemMap(reserved, 2 * MIB, 0, handle, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemRelease(handle));
	CHECK_RC(CUDA_SUCCESS, cuMemUnmap(reserved, 2 * MIB));
	CHECK_RC(CUDA_SUCCESS, cuMemAddressFree(reserved, 4 * MIB));
	CHECK_RC(CUDA_SUCCESS, cuMemFreeAsync(pooled, stream));
	CHECK_RC(CUDA_SUCCESS, cuMemAllocAsync_ptsz(&pooled, 1000, NULL));
	CHECK_RC(CUDA_SUCCESS, cuMemFreeAsync_ptsz(pooled, CU_STREAM_LEGACY));
	CHECK_RC(CUDA_SUCCESS, cuMemFreeHost(host));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(0));
	CHECK_RC(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&pooled, 500 * GIB));
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(address));
	CHECK_RC(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
}

static void test_contents(void **state)
{
	char *ledger = run(mixed_body, "contents", 0);

	(void)state;
	assert_has(ledger, "# vtrace-simulator-ledger 1 profile h100-80g driver 13000 devices 1\n"
			   "# seq op kind thread pointer size handle device used function\n");
	assert_has(ledger, "\n2 alloc device 1 0x200000000000 3000000 0x0 0 551550976 "
			   "cuMemAlloc_v2\n");
	assert_has(ledger, " alloc pool 1 0x200000400000 1000 0x10000010 0 585105408 "
			   "cuMemAllocAsync\n");
	assert_has(ledger, " alloc host 1 0x180000000000 5000 0x0 -1 0 cuMemHostAlloc\n");
	assert_has(ledger, " reserve address 1 0x200002400000 4194304 0x0 -1 0 "
			   "cuMemAddressReserve\n");
	assert_has(ledger, " alloc vmm 1 0xb0000010 2097152 0xb0000010 0 587202560 cuMemCreate\n");
	assert_has(ledger, " map vmm 1 0x200002400000 2097152 0xb0000010 0 587202560 cuMemMap\n");
	assert_has(ledger, " release vmm 1 0xb0000010 2097152 ");
	assert_has(ledger, " unmap vmm 1 0x200002400000 2097152 0xb0000010 0 ");
	assert_has(ledger, " unreserve address 1 0x200002400000 4194304 ");
	assert_has(ledger, " free pool 1 0x200000400000 1000 0x10000010 0 ");
	assert_has(ledger, " alloc pool 1 0x200000400000 1000 0x2 0 585105408 "
			   "cuMemAllocAsync_ptsz\n");
	assert_has(ledger, " free pool 1 0x200000400000 1000 0x1 0 585105408 "
			   "cuMemFreeAsync_ptsz\n");
	assert_has(ledger, " free device 1 0x200000000000 3000000 0x0 0 580911104 "
			   "cuMemFree_v2\n");
	assert_has(ledger, "# bad-free 0x200000000000 cuMemFree_v2\n");
	assert_has(ledger, "# summary live 0 bytes 0 bad-frees 1\n");
	assert_has(ledger, "# summary device 0 used 580911104 peak 587202560\n");
	/* Refused calls and cuMemFree(0) leave no line. */
	assert_int_equal(2, count(ledger, "cuMemFree_v2"));
	assert_int_equal(1, count(ledger, "cuMemAlloc_v2"));
	free(ledger);
}

static char *without_comments(char *text)
{
	char *out = text;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (line[0] != '#') {
			size_t len = strlen(line);

			memmove(out, line, len);
			out[len] = '\n';
			out += len + 1;
		}
	*out = '\0';
	return text;
}

/* A few hundred pseudo-random steps, the same in each run. */
static void random_body(void)
{
	CUdeviceptr live[64] = { 0 };
	unsigned int seed = 12345;

	vts_child_start();
	for (int i = 0; i < 600; i++) {
		unsigned int place = (unsigned int)rand_r(&seed) % 64;
		size_t size = 1 + (size_t)rand_r(&seed) % (i % 2 ? 9000000 : 60000);

		if (live[place])
			CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(live[place]));
		live[place] = 0;
		if (i % 3)
			CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&live[place], size));
	}
}

static void test_determinism(void **state)
{
	char *first = without_comments(run(random_body, "first", 0));
	char *second = without_comments(run(random_body, "second", 0));

	(void)state;
	assert_true(strlen(first) > 30000);
	assert_string_equal(first, second);
	free(first);
	free(second);
}

static void killed_body(void)
{
	CUdeviceptr address;

	vts_child_start();
	for (int i = 0; i < 10; i++)
		CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 100));
	raise(SIGKILL);
}

static void test_killed(void **state)
{
	char *ledger = run(killed_body, "killed", 128 + SIGKILL);

	(void)state;
	assert_int_equal(10, count(ledger, " alloc device "));
	assert_int_equal(0, count(ledger, "summary"));
	free(ledger);
}

/* The program closes all descriptors and gives every number to a file of its own. */
static void closed_body(void)
{
	CUdeviceptr address;
	char *theirs;
	int fd;

	vts_child_start();
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 100));
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	fd = open(vts_child_temporary("theirs"), O_WRONLY | O_CREAT, 0600);
	for (int copy = fd + 1; copy < 900; copy++)
		dup2(fd, copy);
	CHECK_RC(CUDA_SUCCESS, cuMemFree_v2(address));
	theirs = vts_child_read(vts_child_temporary("theirs"));
	CHECK(!theirs);
	free(theirs);
}

static void test_closed(void **state)
{
	char *ledger = run(closed_body, "closed", 0);

	(void)state;
	assert_has(ledger, " free device 1 ");
	free(ledger);
}

static void destroyed_body(void)
{
	CUdeviceptr address;
	CUcontext context;
	void *host;

	CHECK_RC(CUDA_SUCCESS, cuInit(0));
	CHECK_RC(CUDA_SUCCESS, cuCtxCreate_v2(&context, 0, 0));
	CHECK_RC(CUDA_SUCCESS, cuMemAlloc_v2(&address, 100));
	CHECK_RC(CUDA_SUCCESS, cuMemHostAlloc(&host, 100, 0));
	CHECK_RC(CUDA_SUCCESS, cuCtxDestroy_v2(context));
}

static void test_destroyed(void **state)
{
	char *ledger = run(destroyed_body, "destroyed", 0);

	(void)state;
	assert_has(ledger, " freed-by-destroy device 1 0x200000000000 100 0x0 0 547356672 "
			   "cuCtxDestroy_v2\n");
	assert_has(ledger, " freed-by-destroy host 1 0x180000000000 100 ");
	assert_has(ledger, " destroy context 1 0xe0000010 547356672 0x0 0 0 cuCtxDestroy_v2\n");
	free(ledger);
}

static void process_id_body(void)
{
	char path[512], *ledger;

	vts_child_start();
	snprintf(path, sizeof(path), "%.*s%d", (int)(strlen(setting) - 2) - 18, setting + 18,
		 (int)getpid());
	ledger = vts_child_read(path);
	CHECK(ledger && strstr(ledger, " create context "));
	free(ledger);
}

static void test_process_id(void **state)
{
	(void)state;
	snprintf(setting, sizeof(setting), "VTRACE_SIM_LEDGER=%s", vts_child_temporary("of.%p"));
	assert_int_equal(0, vts_child_run(process_id_body, setting, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),  cmocka_unit_test(test_determinism),
		cmocka_unit_test(test_killed),	  cmocka_unit_test(test_closed),
		cmocka_unit_test(test_destroyed), cmocka_unit_test(test_process_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
