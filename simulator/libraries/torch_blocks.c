/* SPDX-License-Identifier: MIT */
/*
 * Blocks of PyTorch's allocator are zero when it hands them out.  Kernels compute nothing, so a
 * block would keep what an earlier one had there: a scaler of gradients that reads its "found an
 * infinity" skips the steps of the optimizer, a loop that reads its counter never ends.
 *
 * The allocator reports each block through one function of libc10.so, which is replaced here, as
 * the recorder replaces it (preload/hook_torch.c); the recorder in front calls this one.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* c10::reportMemoryUsageToProfiler since PyTorch 2.0; older ones bundle a runtime of their own. */
#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define CUDA   1 /* c10::DeviceType */

/* c10::Device, passed by value in a register. */
struct device {
	int8_t type;
	int8_t index;
};

typedef void (*report_fn)(void *block, int64_t size, uint64_t allocated, uint64_t reserved,
			  struct device device);
typedef int (*handed_out_fn)(void *block, uint64_t size_bytes);

static struct {
	report_fn report;         /* atomic */
	handed_out_fn handed_out; /* atomic */
} g;

static void *find(const char *library, const char *symbol)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	void *address = handle ? dlsym(handle, symbol) : NULL;

	if (handle)
		dlclose(handle);
	return address;
}

static void make_zero(void *block, uint64_t size_bytes)
{
	handed_out_fn handed_out = __atomic_load_n(&g.handed_out, __ATOMIC_RELAXED);

	if (!handed_out) {
		handed_out = (handed_out_fn)find("libcuda.so.1", "vts_block_handed_out");
		__atomic_store_n(&g.handed_out, handed_out, __ATOMIC_RELAXED);
	}
	if (handed_out)
		handed_out(block, size_bytes);
}

__attribute__((visibility("default"))) void vts_torch_report(void *block, int64_t size,
							     uint64_t allocated, uint64_t reserved,
							     struct device device) __asm__(REPORT);
void vts_torch_report(void *block, int64_t size, uint64_t allocated, uint64_t reserved,
		      struct device device)
{
	report_fn report = __atomic_load_n(&g.report, __ATOMIC_RELAXED);

	if (!report) {
		report = (report_fn)find("libc10.so", REPORT);
		__atomic_store_n(&g.report, report, __ATOMIC_RELAXED);
	}
	/* A negative size: the block is freed. */
	if (size > 0 && device.type == CUDA)
		make_zero(block, (uint64_t)size);
	if (report)
		report(block, size, allocated, reserved, device);
}
