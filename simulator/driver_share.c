/* SPDX-License-Identifier: MIT */
#include "simulator/driver_share.h"

#include "simulator/driver_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define NR_SLOTS 64

struct slot {
	uint32_t pid; /* 0: nobody's (atomic) */
	uint32_t reserved;
	uint64_t used_bytes[VT_CARD_MAX_DEVICES]; /* by physical number (atomic) */
};

static struct {
	struct slot *slots; /* NULL: alone */
	struct slot *own;
	pthread_once_t once;
} g = { .once = PTHREAD_ONCE_INIT };

static int is_alive(uint32_t pid)
{
	return pid && (!kill((pid_t)pid, 0) || errno != ESRCH);
}

static void map_table(void)
{
	const char *path = getenv("VTRACE_SIM_SHARED");
	int fd = path && *path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *table;

	if (fd < 0)
		return;
	/* Whoever is first makes it as large as it must be; the others change nothing. */
	if (!ftruncate(fd, NR_SLOTS * sizeof(struct slot))) {
		table = mmap(NULL, NR_SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
		g.slots = table == MAP_FAILED ? NULL : table;
	}
	close(fd);
}

static void map_once(void)
{
	pthread_once(&g.once, map_table);
}

void vts_share_open(void)
{
	map_once();
	for (int i = 0; g.slots && !g.own && i < NR_SLOTS; i++) {
		uint32_t pid = __atomic_load_n(&g.slots[i].pid, __ATOMIC_ACQUIRE);

		if (is_alive(pid) || !__atomic_compare_exchange_n(&g.slots[i].pid, &pid,
								 (uint32_t)getpid(), 0,
								 __ATOMIC_ACQ_REL,
								 __ATOMIC_RELAXED))
			continue;
		g.own = &g.slots[i];
		for (int device = 0; device < VT_CARD_MAX_DEVICES; device++)
			vts_share_set(device, 0);
	}
}

void vts_share_set(int physical, uint64_t used_bytes)
{
	if (g.own)
		__atomic_store_n(&g.own->used_bytes[physical], used_bytes, __ATOMIC_RELEASE);
}

unsigned int vts_share_list(int physical, struct vts_share_use *list, unsigned int room)
{
	unsigned int nr = 0;

	map_once();
	for (int i = 0; g.slots && i < NR_SLOTS; i++) {
		struct slot *slot = &g.slots[i];
		struct vts_share_use use = {
			__atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE),
			__atomic_load_n(&slot->used_bytes[physical], __ATOMIC_ACQUIRE),
		};

		if (!use.used_bytes || !is_alive(use.pid))
			continue;
		if (nr < room)
			list[nr] = use;
		nr++;
	}
	return nr;
}

uint64_t vts_share_others(int physical)
{
	struct vts_share_use list[NR_SLOTS];
	unsigned int nr = vts_share_list(physical, list, NR_SLOTS);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (list[i].pid != (uint32_t)getpid())
			sum += list[i].used_bytes;
	return sum;
}

/* A dead process's memory is free at once, also while its parent has not asked for its status. */
__attribute__((destructor)) static void leave(void)
{
	struct slot *own = g.own;

	g.own = NULL;
	/* The child of a fork has its parent's. */
	if (own && own->pid == (uint32_t)getpid())
		__atomic_store_n(&own->pid, 0, __ATOMIC_RELEASE);
}
