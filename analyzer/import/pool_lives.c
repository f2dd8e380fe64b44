/* SPDX-License-Identifier: MIT */
#include "analyzer/import/pool_lives.h"

void vt_pool_lives_release(struct vt_pool_lives *lives)
{
	vt_vector_release(&lives->pools);
}

static uint64_t idle_of(const struct vt_pool_life *life)
{
	if (life->is_destroyed && !life->live_bytes)
		return 0;
	return life->held_bytes > life->live_bytes ? life->held_bytes - life->live_bytes : 0;
}

/* A handful at most: searched one by one. */
static struct vt_pool_life *find(struct vt_pool_lives *lives, unsigned int kind, uint64_t pool,
				 int32_t device)
{
	for (size_t i = 0; i < lives->pools.len; i++) {
		struct vt_pool_life *life = &lives->pools.items[i];

		if (life->kind == kind && life->pool == pool &&
		    (kind == VT_KIND_POOL || life->device == device))
			return life;
	}
	return NULL;
}

/* Places of pools that are gone are taken again. */
static struct vt_pool_life *at(struct vt_pool_lives *lives, unsigned int kind, uint64_t pool,
			       int32_t device)
{
	struct vt_pool_life *life = find(lives, kind, pool, device);

	if (life)
		return life;
	for (size_t i = 0; i < lives->pools.len; i++)
		if (lives->pools.items[i].is_destroyed && !lives->pools.items[i].live_bytes)
			life = &lives->pools.items[i];
	if (!life) {
		vt_vector_push(&lives->pools, ((struct vt_pool_life){ 0 }));
		life = &lives->pools.items[lives->pools.len - 1];
	}
	*life = (struct vt_pool_life){ .pool = pool, .device = device, .kind = (uint8_t)kind };
	return life;
}

/* An allocation of a graph names the graph; the device holds the memory of all. */
static uint64_t pool_of(unsigned int kind, uint64_t parent)
{
	return kind == VT_KIND_POOL ? parent : 0;
}

void vt_pool_lives_add(struct vt_pool_lives *lives, unsigned int kind, uint64_t parent,
		       int32_t device, uint64_t size_bytes)
{
	at(lives, kind, pool_of(kind, parent), device)->live_bytes += size_bytes;
}

void vt_pool_lives_remove(struct vt_pool_lives *lives, unsigned int kind, uint64_t parent,
			  int32_t device, uint64_t size_bytes)
{
	struct vt_pool_life *life = find(lives, kind, pool_of(kind, parent), device);

	if (life)
		life->live_bytes -= size_bytes < life->live_bytes ? size_bytes : life->live_bytes;
}

void vt_pool_lives_hold(struct vt_pool_lives *lives, unsigned int kind, uint64_t pool,
			int32_t device, uint64_t held_bytes)
{
	struct vt_pool_life *life = at(lives, kind, pool, device);

	life->device = device;
	life->held_bytes = held_bytes;
}

void vt_pool_lives_destroy(struct vt_pool_lives *lives, uint64_t pool, int is_destroyed)
{
	struct vt_pool_life *life = find(lives, VT_KIND_POOL, pool, 0);

	if (life)
		life->is_destroyed = (uint8_t)is_destroyed;
}

void vt_pool_lives_create(struct vt_pool_lives *lives, uint64_t pool)
{
	struct vt_pool_life *life = find(lives, VT_KIND_POOL, pool, 0);

	if (!life)
		return;
	life->is_destroyed = 0;
	life->held_bytes = 0;
}

uint64_t vt_pool_lives_idle(const struct vt_pool_lives *lives, unsigned int kind, int32_t device)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < lives->pools.len; i++) {
		const struct vt_pool_life *life = &lives->pools.items[i];

		if (life->kind == kind && life->device == device)
			bytes += idle_of(life);
	}
	return bytes;
}
