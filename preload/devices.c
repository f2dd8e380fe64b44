/* SPDX-License-Identifier: MIT */
#include "preload/devices.h"

#include <stddef.h>
#include <string.h>

#include "common/journal_format.h"
#include "preload/info.h"
#include "preload/journal.h"
#include "preload/real.h"
#include "preload/text.h"
#include "preload/thread_state.h"
#include "preload/tracker.h"

#define MOST_DEVICES 64
#define LONGEST_NAME 256
#define LEAST_BETWEEN_SAMPLES (4u << 20)

static struct {
	uint32_t generation;	/* the recording that the bits belong to (atomic) */
	uint64_t described;	/* bit per device: description written (atomic) */
	uint64_t allocated[MOST_DEVICES]; /* bytes that were ever allocated (atomic) */
	uint64_t due[MOST_DEVICES]; /* at how many of them the next sample is (atomic) */
	int nr_captures;	/* streams that capture (atomic); of all recordings */
} g;

int vt_devices_current(void)
{
	CUdevice device;

	return VT_REAL_CALL(cuCtxGetDevice, &device) == CUDA_SUCCESS ? device : -1;
}

int vt_devices_are_several(void)
{
	int nr;

	return VT_REAL_CALL(cuDeviceGetCount, &nr) == CUDA_SUCCESS && nr > 1;
}

uint64_t vt_devices_context(void)
{
	CUcontext context;

	return VT_REAL_CALL(cuCtxGetCurrent, &context) == CUDA_SUCCESS ? (uintptr_t)context : 0;
}

uint64_t vt_devices_range_bytes(CUdeviceptr address)
{
	CUdeviceptr start;
	size_t size_bytes;

	return VT_REAL_CALL(cuMemGetAddressRange_v2, &start, &size_bytes, address) == CUDA_SUCCESS
		       ? size_bytes
		       : 0;
}

void vt_devices_count_captures(int change)
{
	__atomic_fetch_add(&g.nr_captures, change, __ATOMIC_RELAXED);
}

int vt_devices_are_capturing(void)
{
	return __atomic_load_n(&g.nr_captures, __ATOMIC_RELAXED) > 0;
}

uint64_t vt_devices_captured_graph(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUgraph graph = NULL;

	if (!vt_devices_are_capturing() ||
	    VT_REAL_CALL(cuStreamGetCaptureInfo_v2, stream, &status, NULL, &graph, NULL, NULL) !=
		    CUDA_SUCCESS)
		return 0;
	return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? (uintptr_t)graph : 0;
}

static uint32_t attribute(CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	if (VT_REAL_CALL(cuDeviceGetAttribute, &value, which, device) != CUDA_SUCCESS || value < 0)
		return 0;
	return (uint32_t)value;
}

static uint32_t driver_version(void)
{
	int version = 0;

	return VT_REAL_CALL(cuDriverGetVersion, &version) == CUDA_SUCCESS ? (uint32_t)version : 0;
}

/*
 * NVML, which the collector asks about the whole device, numbers devices in another way.  The newer
 * call distinguishes the parts of a partitioned device.
 */
static void write_uuid(CUdevice device)
{
	static const char digits[] = "0123456789abcdef";
	char key[32], value[48];
	struct vt_text text;
	CUuuid uuid;

	if (VT_REAL_CALL(cuDeviceGetUuid_v2, &uuid, device) != CUDA_SUCCESS &&
	    VT_REAL_CALL(cuDeviceGetUuid, &uuid, device) != CUDA_SUCCESS)
		return;
	vt_text_init(&text, key, sizeof(key));
	vt_text_add(&text, "uuid:");
	vt_text_add_number(&text, (uint64_t)device);
	vt_text_init(&text, value, sizeof(value));
	for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			vt_text_add_char(&text, '-');
		vt_text_add_char(&text, digits[(unsigned char)uuid.bytes[i] >> 4]);
		vt_text_add_char(&text, digits[(unsigned char)uuid.bytes[i] & 15]);
	}
	vt_info_once(key, value);
}

/* Returns -1 where there was no room for it. */
static int describe(CUdevice device)
{
	struct {
		struct vt_device_record record;
		char name[LONGEST_NAME];
	} d;
	size_t total = 0;

	memset(&d, 0, sizeof(d));
	if (VT_REAL_CALL(cuDeviceGetName, d.name, LONGEST_NAME - 1, device) != CUDA_SUCCESS)
		d.name[0] = '\0';
	if (VT_REAL_CALL(cuDeviceTotalMem_v2, &total, device) != CUDA_SUCCESS)
		total = 0;
	d.record.id = device;
	d.record.name_len = (uint32_t)strlen(d.name);
	d.record.total_bytes = total;
	d.record.capability = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
			      attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	d.record.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	d.record.driver_version = driver_version();
	/*
	 * Our simulated driver says so by having this symbol; NVIDIA's has not.  Looking for it now
	 * could wait for the loader's lock while an allocator's is held.
	 */
	d.record.is_simulated = (uint32_t)vt_real_is_known(VT_REAL_vts_is_simulated);
	_Static_assert(offsetof(struct vt_device_record, name) == sizeof(d.record), "one piece");
	if (vt_journal_append(&d, sizeof(d.record) + d.record.name_len, VT_RECORD_DEVICE))
		return -1;
	write_uuid(device);
	return 0;
}

/*
 * cuMemGetInfo answers for the context's device, so the context must be on this one.  A capture
 * that forbids queries would be made invalid by it: where a stream is known it is asked, elsewhere
 * (nodes of graphs, requests that failed) the sample waits for the end of all captures.
 */
static int can_sample(CUdevice device, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (vt_devices_current() != device)
		return 0;
	if (!stream)
		return !vt_devices_are_capturing();
	return VT_REAL_CALL(cuStreamIsCapturing, stream, &status) == CUDA_SUCCESS &&
	       status == CU_STREAM_CAPTURE_STATUS_NONE;
}

static void sample(CUdevice device)
{
	struct vt_event_record event = {
		.op = VT_OP_MEMORY_INFO,
		.kind = VT_KIND_SEGMENT,
		.device = device,
		.function = vt_real_api(VT_REAL_cuMemGetInfo_v2)->id,
	};
	size_t free_bytes;
	size_t total_bytes;

	if (VT_REAL_CALL(cuMemGetInfo_v2, &free_bytes, &total_bytes) != CUDA_SUCCESS)
		return;
	event.extra = free_bytes;
	event.size_bytes = total_bytes;
	vt_tracker_event(&event);
}

/* A new recording (fork child) describes its devices again. */
static void check_generation(void)
{
	uint32_t now = vt_thread_generation();

	if (__atomic_load_n(&g.generation, __ATOMIC_RELAXED) == now)
		return;
	__atomic_store_n(&g.described, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < MOST_DEVICES; i++) {
		__atomic_store_n(&g.allocated[i], 0, __ATOMIC_RELAXED);
		__atomic_store_n(&g.due[i], 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&g.generation, now, __ATOMIC_RELAXED);
}

/*
 * Whoever is the first to see that a sample is due, takes it.  Each comes an eighth later than the
 * one before: some hundred of them in a run of any length.
 */
static int is_due(CUdevice device, CUstream stream, uint64_t size_bytes)
{
	uint64_t now = __atomic_add_fetch(&g.allocated[device], size_bytes, __ATOMIC_RELAXED);
	uint64_t due = __atomic_load_n(&g.due[device], __ATOMIC_RELAXED);
	uint64_t next = now + (now / 8 > LEAST_BETWEEN_SAMPLES ? now / 8 : LEAST_BETWEEN_SAMPLES);

	return now >= due && can_sample(device, stream) &&
	       __atomic_compare_exchange_n(&g.due[device], &due, next, 0, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

void vt_devices_note(int device, CUstream stream, uint64_t size_bytes)
{
	uint64_t bit;

	if (device < 0 || device >= MOST_DEVICES || !vt_tracker_is_active())
		return;
	/* Not while there is no room for it: once it is noted it is not looked at again. */
	if (!vt_journal_is_recording())
		return;
	check_generation();
	bit = 1ull << device;
	if (!(__atomic_load_n(&g.described, __ATOMIC_RELAXED) & bit) &&
	    !(__atomic_fetch_or(&g.described, bit, __ATOMIC_RELAXED) & bit) && describe(device))
		__atomic_fetch_and(&g.described, ~bit, __ATOMIC_RELAXED);
	if (is_due(device, stream, size_bytes))
		sample(device);
}

void vt_devices_measure(void)
{
	int device;

	if (!vt_tracker_is_active() || !vt_journal_is_recording())
		return;
	device = vt_devices_current();
	if (device >= 0 && device < MOST_DEVICES && can_sample(device, NULL))
		sample(device);
}
