/* SPDX-License-Identifier: MIT */
#include "preload/pools.h"

#include "common/cuda_abi.h"
#include "common/journal_format.h"
#include "preload/devices.h"
#include "preload/real.h"
#include "preload/tracker.h"

#define MOST_FOLLOWED 64
/* Keys of graph memory: 1 + device.  Handles of pools are addresses, and above. */
#define MOST_DEVICES 64
#define KEY_NONE 0ull
#define KEY_BUSY UINT64_MAX	/* a place that somebody fills right now */

struct followed {
	uint64_t key;		/* atomic */
	uint64_t held_bytes;	/* as last recorded (atomic) */
	int device;		/* atomic */
};

static struct {
	struct followed followed[MOST_FOLLOWED];
	int nr;			/* places that were ever filled (atomic) */
} g;

static uint64_t key_at(int place)
{
	return __atomic_load_n(&g.followed[place].key, __ATOMIC_ACQUIRE);
}

static int is_graphs(uint64_t key)
{
	return key <= MOST_DEVICES;
}

/* Returns 0 where the driver does not tell. */
static int ask_held(uint64_t key, int device, uint64_t *bytes)
{
	CUmemoryPool pool = (CUmemoryPool)(uintptr_t)key;

	if (is_graphs(key))
		return VT_REAL_CALL(cuDeviceGetGraphMemAttribute, device,
				    CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, bytes) == CUDA_SUCCESS;
	return VT_REAL_CALL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
			    bytes) == CUDA_SUCCESS;
}

static uint64_t ask_used(uint64_t key, int device)
{
	CUmemoryPool pool = (CUmemoryPool)(uintptr_t)key;
	uint64_t bytes = 0;

	if (is_graphs(key))
		VT_REAL_CALL(cuDeviceGetGraphMemAttribute, device,
			     CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes);
	else
		VT_REAL_CALL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes);
	return bytes;
}

static void record(uint64_t key, int device, uint64_t held_bytes, uint64_t used_bytes)
{
	enum vt_real_function function = is_graphs(key) ? VT_REAL_cuDeviceGetGraphMemAttribute
							: VT_REAL_cuMemPoolGetAttribute;
	struct vt_event_record event = {
		.op = VT_OP_MEMORY_INFO,
		.kind = vt_real_api(function)->kind,
		.function = vt_real_api(function)->id,
		.device = device,
		.address = is_graphs(key) ? 0 : key,
		.size_bytes = held_bytes,
		.extra = held_bytes > used_bytes ? held_bytes - used_bytes : 0,
	};

	vt_tracker_event(&event);
}

static void look_at(int place)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint64_t key = key_at(place), held_bytes = 0, used_bytes = 0;
	struct followed *followed = &g.followed[place];
	int device = __atomic_load_n(&followed->device, __ATOMIC_RELAXED);
	int is_changed;

	if (key == KEY_NONE || key == KEY_BUSY || !vt_tracker_is_active() ||
	    vt_devices_are_capturing())
		return;
	if (VT_REAL_CALL(cuThreadExchangeStreamCaptureMode, &mode) != CUDA_SUCCESS)
		return;
	is_changed = ask_held(key, device, &held_bytes) &&
		     __atomic_exchange_n(&followed->held_bytes, held_bytes, __ATOMIC_RELAXED) !=
			     held_bytes;
	if (is_changed)
		used_bytes = ask_used(key, device);
	VT_REAL_CALL(cuThreadExchangeStreamCaptureMode, &mode);
	if (is_changed)
		record(key, device, held_bytes, used_bytes);
}

static int find(uint64_t key)
{
	int nr = __atomic_load_n(&g.nr, __ATOMIC_ACQUIRE);

	for (int i = 0; i < nr; i++)
		if (key_at(i) == key)
			return i;
	return -1;
}

/* Two threads at once may give one pool two places: it is then asked twice. */
static int add(uint64_t key, int device)
{
	for (int i = 0; i < MOST_FOLLOWED; i++) {
		struct followed *followed = &g.followed[i];
		uint64_t none = KEY_NONE;
		int nr;

		if (!__atomic_compare_exchange_n(&followed->key, &none, KEY_BUSY, 0,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&followed->device, device, __ATOMIC_RELAXED);
		__atomic_store_n(&followed->held_bytes, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&followed->key, key, __ATOMIC_RELEASE);
		for (nr = __atomic_load_n(&g.nr, __ATOMIC_RELAXED);
		     nr <= i && !__atomic_compare_exchange_n(&g.nr, &nr, i + 1, 0, __ATOMIC_RELEASE,
							     __ATOMIC_RELAXED);)
			;
		return i;
	}
	return -1;
}

static void follow(uint64_t key, int device)
{
	int place = find(key);

	if (place < 0)
		place = add(key, device);
	if (place >= 0)
		look_at(place);
}

uint64_t vt_pools_follow(uint64_t pool, int device)
{
	CUmemoryPool current = NULL;

	if (!pool && VT_REAL_CALL(cuDeviceGetMemPool, &current, device) == CUDA_SUCCESS)
		pool = (uintptr_t)current;
	if (!is_graphs(pool))
		follow(pool, device);
	return pool;
}

void vt_pools_follow_graphs(int device)
{
	if (device >= 0 && device < MOST_DEVICES)
		follow((uint64_t)device + 1, device);
}

void vt_pools_look(void)
{
	int nr = __atomic_load_n(&g.nr, __ATOMIC_ACQUIRE);

	for (int i = 0; i < nr; i++)
		look_at(i);
}

void vt_pools_forget(uint64_t pool)
{
	int place;

	/* Another thread may have forgotten it meanwhile, and its place be another pool's. */
	while ((place = find(pool)) >= 0) {
		uint64_t expected = pool;

		__atomic_compare_exchange_n(&g.followed[place].key, &expected, KEY_NONE, 0,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}
