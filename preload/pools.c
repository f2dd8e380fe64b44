/* SPDX-License-Identifier: MIT */
#include "preload/pools.h"

#include <time.h>

#include "common/cuda_abi.h"
#include "common/journal_format.h"
#include "preload/devices.h"
#include "preload/real.h"
#include "preload/sys.h"
#include "preload/tracker.h"

#define MOST_FOLLOWED 64	/* bits of what vt_pools_take_out returns */
/* Keys of graph memory: 1 + device.  Handles of pools are addresses, and above. */
#define MOST_DEVICES 64
#define KEY_NONE 0ull
#define KEY_BUSY UINT64_MAX	/* a place that somebody fills or has taken out right now */
/*
 * An answer takes microseconds, more only behind the driver's own lock.  Who does not come back for
 * so long was killed in there.
 */
#define ASKER_WAIT_NS 100000000ull

struct followed {
	uint64_t key;		/* atomic */
	uint64_t held_bytes;	/* as last recorded (atomic) */
	int device;		/* atomic */
	int nr_askers;		/* threads that may be in the driver with that key (atomic) */
	uint64_t taken;		/* the key, of who made the place busy */
};

static struct {
	struct followed followed[MOST_FOLLOWED];
	int nr;			/* places that were ever filled (atomic) */
} g;

static uint64_t key_at(int place)
{
	return __atomic_load_n(&g.followed[place].key, __ATOMIC_ACQUIRE);
}

static int is_followed(uint64_t key)
{
	return key != KEY_NONE && key != KEY_BUSY;
}

static int is_graphs(uint64_t key)
{
	return key <= MOST_DEVICES;
}

/* Returns 0 where the driver does not say. */
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

struct answer {
	uint64_t key;
	int device;
	uint64_t held_bytes;
	uint64_t used_bytes;
};

/*
 * Returns whether what that place's pool holds has changed.  Counted first, then read: who takes a
 * pool out either is seen here, or sees the count.
 */
static int ask(struct followed *followed, struct answer *answer)
{
	int is_changed;

	__atomic_add_fetch(&followed->nr_askers, 1, __ATOMIC_SEQ_CST);
	answer->key = __atomic_load_n(&followed->key, __ATOMIC_SEQ_CST);
	answer->device = __atomic_load_n(&followed->device, __ATOMIC_RELAXED);
	is_changed = is_followed(answer->key) &&
		     ask_held(answer->key, answer->device, &answer->held_bytes) &&
		     __atomic_exchange_n(&followed->held_bytes, answer->held_bytes,
					 __ATOMIC_RELAXED) != answer->held_bytes;
	if (is_changed)
		answer->used_bytes = ask_used(answer->key, answer->device);
	__atomic_sub_fetch(&followed->nr_askers, 1, __ATOMIC_RELEASE);
	return is_changed;
}

static void record(const struct answer *answer)
{
	enum vt_real_function function = is_graphs(answer->key)
						 ? VT_REAL_cuDeviceGetGraphMemAttribute
						 : VT_REAL_cuMemPoolGetAttribute;
	uint64_t idle_bytes = answer->held_bytes > answer->used_bytes
				      ? answer->held_bytes - answer->used_bytes
				      : 0;
	struct vt_event_record event = {
		.op = VT_OP_MEMORY_INFO,
		.kind = vt_real_api(function)->kind,
		.function = vt_real_api(function)->id,
		.device = answer->device,
		.address = is_graphs(answer->key) ? 0 : answer->key,
		.size_bytes = answer->held_bytes,
		.extra = idle_bytes,
	};

	vt_tracker_event(&event);
}

static void look_at(int place)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct answer answer = { 0 };
	int is_changed;

	if (!is_followed(key_at(place)) || !vt_tracker_is_active() || vt_devices_are_capturing())
		return;
	if (VT_REAL_CALL(cuThreadExchangeStreamCaptureMode, &mode) != CUDA_SUCCESS)
		return;
	is_changed = ask(&g.followed[place], &answer);
	VT_REAL_CALL(cuThreadExchangeStreamCaptureMode, &mode);
	if (is_changed)
		record(&answer);
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

/* `pool` 0: whichever is there. */
static int take_place(struct followed *followed, uint64_t pool)
{
	uint64_t key = __atomic_load_n(&followed->key, __ATOMIC_ACQUIRE);

	if (!is_followed(key) || is_graphs(key) || (pool && key != pool) ||
	    !__atomic_compare_exchange_n(&followed->key, &key, KEY_BUSY, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return 0;
	followed->taken = key;
	return 1;
}

static int is_left_alone(const struct followed *followed, uint64_t *give_up_ns)
{
	while (__atomic_load_n(&followed->nr_askers, __ATOMIC_SEQ_CST)) {
		uint64_t now_ns = vt_sys_now_ns(CLOCK_MONOTONIC);

		if (!*give_up_ns)
			*give_up_ns = now_ns + ASKER_WAIT_NS;
		else if (now_ns > *give_up_ns)
			return 0;
		vt_sys_yield();
	}
	return 1;
}

uint64_t vt_pools_take_out(uint64_t pool)
{
	int nr = __atomic_load_n(&g.nr, __ATOMIC_ACQUIRE);
	uint64_t give_up_ns = 0, places = 0;

	for (int i = 0; i < nr; i++)
		if (take_place(&g.followed[i], pool))
			places |= 1ull << i;
	/* A place whose asker did not come back stays busy: nobody waits for that one again. */
	for (int i = 0; i < nr; i++)
		if (places >> i & 1 && !is_left_alone(&g.followed[i], &give_up_ns))
			places &= ~(1ull << i);
	return places;
}

void vt_pools_settle(uint64_t places, int are_gone)
{
	for (int i = 0; i < MOST_FOLLOWED; i++)
		if (places >> i & 1)
			__atomic_store_n(&g.followed[i].key,
					 are_gone ? KEY_NONE : g.followed[i].taken,
					 __ATOMIC_RELEASE);
}
