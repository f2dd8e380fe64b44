/* SPDX-License-Identifier: MIT */
/*
 * Asks the driver for each function of cuda_api.def by cuGetProcAddress, both ABIs of it, in every
 * version and with every flag, and by dlsym under the exact name.  One line for each answer:
 *
 *   HOW NAME VERSION FLAGS RESULT STATUS SYMBOL OBJECT
 *
 * Only the object may differ between a run with the recorder and one without.
 *
 *   look_ups [DRIVER]
 *
 * Exit code: 0, 77 no driver here.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "common/cuda_abi.h"

/* All that the table has, and some around them. */
static const int versions[] = { 1000,  2000,  2010,  2020,  3010,  3020,  4000,  4010,  5000,
				6000,  6050,  7000,  8000,  10000, 10010, 10020, 11000, 11020,
				11030, 11040, 12000, 12010, 12020, 12030, 12050, 13000, 13010,
				14000 };

static const struct {
	const char *name;
	int version;
} functions[] = {
#define VT_CUDA_API(id, name, version, kind, op) { #name, version },
#define VT_FRAMEWORK_API(id, name, kind, op)
#include "common/cuda_api.def"
#undef VT_CUDA_API
#undef VT_FRAMEWORK_API
	{ "cuGetProcAddress", 11030 },
	{ "cuGetProcAddress_v2", 12000 },
	{ "cuInit", 2000 },
	{ "cuMemcpyHtoD_v2", 3020 },
	{ "cuNoSuchFunction", 2000 },
};

#define NR_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static void print_address(const void *address)
{
	const char *slash;
	Dl_info info;

	if (!address || !dladdr(address, &info) || !info.dli_fname) {
		printf("- -\n");
		return;
	}
	slash = strrchr(info.dli_fname, '/');
	printf("%s %s\n", info.dli_sname ? info.dli_sname : "?",
	       slash ? slash + 1 : info.dli_fname);
}

/* What cuGetProcAddress knows it as. */
static const char *base_name(const char *name)
{
	static char base[128];
	char *end;

	snprintf(base, sizeof(base), "%s", name);
	end = strstr(base, "_ptsz");
	if (end)
		*end = '\0';
	end = strrchr(base, '_');
	if (end && end[1] == 'v')
		*end = '\0';
	return base;
}

static int is_repeated(size_t at)
{
	char name[128];

	snprintf(name, sizeof(name), "%s", base_name(functions[at].name));
	for (size_t i = 0; i < at; i++)
		if (strcmp(base_name(functions[i].name), name) == 0)
			return 1;
	return 0;
}

static void ask(__typeof__(&cuGetProcAddress) first, __typeof__(&cuGetProcAddress_v2) second,
	const char *name)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		for (int flags = 0; flags <= 2; flags++) {
			CUdriverProcAddressQueryResult status = 9;
			void *address = NULL;
			CUresult result;

			if (first) {
				result = first(name, &address, versions[i], (uint64_t)flags);
				printf("v1 %s %d %d %d - ", name, versions[i], flags, result);
				print_address(result == CUDA_SUCCESS ? address : NULL);
			}
			address = NULL;
			result = second(name, &address, versions[i], (uint64_t)flags, &status);
			printf("v2 %s %d %d %d %d ", name, versions[i], flags, result, status);
			print_address(result == CUDA_SUCCESS ? address : NULL);
		}
}

int main(int argc, char **argv)
{
	void *driver = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	__typeof__(&cuGetProcAddress_v2) second;
	__typeof__(&cuGetProcAddress) first;
	int version = 0;

	if (!driver)
		return 77;
	*(void **)&first = dlsym(driver, "cuGetProcAddress");
	*(void **)&second = dlsym(driver, "cuGetProcAddress_v2");
	((__typeof__(&cuDriverGetVersion))dlsym(driver, "cuDriverGetVersion"))(&version);
	printf("driver %d\n", version);
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		printf("dlsym %s %d 0 0 - ", functions[i].name, functions[i].version);
		print_address(dlsym(driver, functions[i].name));
		if (!is_repeated(i))
			ask(first, second, base_name(functions[i].name));
	}
	return 0;
}
