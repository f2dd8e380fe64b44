/* SPDX-License-Identifier: MIT */
#include "simulator/driver_space.h"

#include "simulator/driver_profile.h"
#include "simulator/driver_ranges.h"
#include "simulator/driver_size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * 0x2000'0000'0000 is above the shadow of AddressSanitizer and below where Linux puts programs and
 * their mappings on x86-64; 4 TiB per device hold 25 expandable segments of an H200.  The aliases
 * of the strict mode follow 32 TiB above.
 */
#define DEVICE_BASE   0x200000000000ULL
#define DEVICE_WINDOW (4ULL << 40)
#define HOST_BASE     0x180000000000ULL
#define HOST_WINDOW   (4ULL << 40)
#define HOST_GRANULE  4096ULL
#define PAGE_BYTES    4096ULL

/* Somebody else's mapping in the window: step over it, but do not search for ever. */
#define MAX_COLLISIONS 64

static struct {
	struct vts_ranges devices[VT_CARD_MAX_DEVICES];
	struct vts_ranges host;
	int strict; /* 0: not asked yet, 1: yes, -1: no */
} g;

static int is_strict(void)
{
	const char *value;

	if (!g.strict) {
		value = getenv("VTRACE_SIM_STRICT");
		g.strict = value && !strcmp(value, "1") ? 1 : -1;
	}
	return g.strict > 0;
}

int vts_space_is_device(CUdeviceptr address)
{
	return address >= DEVICE_BASE &&
	       address - DEVICE_BASE < VT_CARD_MAX_DEVICES * DEVICE_WINDOW;
}

void *vts_space_host_view(CUdeviceptr address)
{
	if (vts_space_is_device(address) && is_strict())
		address += VTS_SPACE_ALIAS;
	return (void *)(uintptr_t)address;
}

static void *place(CUdeviceptr address, uint64_t size_bytes, int protection, int extra_flags)
{
	return mmap((void *)(uintptr_t)address, size_bytes, protection,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | extra_flags, -1, 0);
}

static int protection_of(CUdeviceptr address, int is_backed)
{
	if (!is_backed || (vts_space_is_device(address) && is_strict()))
		return PROT_NONE;
	return PROT_READ | PROT_WRITE;
}

/* 0, EEXIST when another mapping is there, or another errno. */
static int map_new(CUdeviceptr start, uint64_t size_bytes, int is_backed)
{
	CUdeviceptr alias = start + VTS_SPACE_ALIAS;
	int is_aliased = vts_space_is_device(start) && is_strict();
	void *got = place(start, size_bytes, protection_of(start, is_backed), MAP_FIXED_NOREPLACE);

	if (got == MAP_FAILED)
		return errno;
	/* Kernels before 4.17 take the flag for a hint. */
	if (got != (void *)(uintptr_t)start) {
		munmap(got, size_bytes);
		return EEXIST;
	}
	if (!is_aliased)
		return 0;
	got = place(alias, size_bytes, is_backed ? PROT_READ | PROT_WRITE : PROT_NONE,
		    MAP_FIXED_NOREPLACE);
	if (got == (void *)(uintptr_t)alias)
		return 0;
	if (got != MAP_FAILED)
		munmap(got, size_bytes);
	munmap((void *)(uintptr_t)start, size_bytes);
	return EEXIST;
}

static void window(int device, struct vts_ranges **ranges, CUdeviceptr *low, CUdeviceptr *high,
		   uint64_t *granule)
{
	if (device < 0) {
		*ranges = &g.host;
		*low = HOST_BASE;
		*high = HOST_BASE + HOST_WINDOW;
		*granule = HOST_GRANULE;
		return;
	}
	*ranges = &g.devices[device];
	*low = DEVICE_BASE + (uint64_t)device * DEVICE_WINDOW;
	*high = *low + DEVICE_WINDOW;
	*granule = VTS_SPACE_GRANULE;
}

CUdeviceptr vts_space_take(int device, uint64_t size_bytes, uint64_t alignment, CUdeviceptr fixed,
			   int is_backed)
{
	struct vts_range range = { .size_bytes = size_bytes, .device = device };
	struct vts_ranges *ranges;
	CUdeviceptr low, high;
	uint64_t granule;
	int rc;

	window(device, &ranges, &low, &high, &granule);
	range.span_bytes = vts_size_round_up(size_bytes, granule);
	range.size_bytes = range.span_bytes;
	if (alignment < granule)
		alignment = granule;
	for (int i = 0; i < MAX_COLLISIONS; i++) {
		range.start = 0;
		if (!i && fixed >= low && !(fixed % granule))
			range.start = vts_ranges_first_fit(ranges, fixed, high, range.span_bytes,
							   granule);
		if (!range.start || (range.start != fixed && fixed))
			range.start = vts_ranges_first_fit(ranges, low, high, range.span_bytes,
							   alignment);
		if (!range.start)
			return 0;
		rc = map_new(range.start, range.span_bytes, is_backed);
		if (!rc)
			return vts_ranges_insert(ranges, &range) ? 0 : range.start;
		if (rc != EEXIST)
			return 0;
		low = range.start + (1ULL << 30);
	}
	return 0;
}

void vts_space_give_back(int device, CUdeviceptr start)
{
	struct vts_ranges *ranges;
	struct vts_range *range;
	CUdeviceptr low, high;
	uint64_t granule;

	window(device, &ranges, &low, &high, &granule);
	range = vts_ranges_find_start(ranges, start);
	if (!range)
		return;
	munmap((void *)(uintptr_t)start, range->span_bytes);
	if (vts_space_is_device(start) && is_strict())
		munmap(vts_space_host_view(start), range->span_bytes);
	vts_ranges_remove(ranges, range);
}

/* Pages that were never touched are only read: that takes no memory of the host. */
static void clear_part(char *start, size_t size_bytes)
{
	if (size_bytes && (start[0] || memcmp(start, start + 1, size_bytes - 1)))
		memset(start, 0, size_bytes);
}

/* Whole pages go back to the kernel and read as zeros again. */
void vts_space_clear(CUdeviceptr address, uint64_t size_bytes)
{
	char *start = vts_space_host_view(address), *end = start + size_bytes;
	char *first = (char *)(uintptr_t)vts_size_round_up((uintptr_t)start, PAGE_BYTES);
	char *last = (char *)(uintptr_t)((uintptr_t)end & ~(PAGE_BYTES - 1));

	if (first >= last) {
		clear_part(start, size_bytes);
		return;
	}
	clear_part(start, (size_t)(first - start));
	madvise(first, (size_t)(last - first), MADV_DONTNEED);
	clear_part(last, (size_t)(end - last));
}

int vts_space_back(CUdeviceptr start, uint64_t size_bytes)
{
	return mprotect(vts_space_host_view(start), size_bytes, PROT_READ | PROT_WRITE);
}

int vts_space_unback(CUdeviceptr start, uint64_t size_bytes)
{
	void *view = vts_space_host_view(start);

	if (place((CUdeviceptr)(uintptr_t)view, size_bytes, PROT_NONE, MAP_FIXED) != view)
		return -1;
	return 0;
}
