/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_MAP_H
#define VT_ANALYZER_MAP_H

/*
 * A hash map from a key of three numbers to one number: open allocations by address, interned
 * frames and stack nodes.  Zero-initialised memory is an empty map.
 */

#include <stddef.h>
#include <stdint.h>

struct vt_key {
	uint64_t a, b, c;
};

struct vt_map_entry {
	struct vt_key key;
	uint64_t value;
	int is_used;
};

struct vt_map {
	struct vt_map_entry *entries;
	size_t capacity; /* a power of two, or 0 */
	size_t len;
};

/* The key of a text that need not end with 0. */
struct vt_key vt_map_text_key(const char *text, size_t len);

void vt_map_release(struct vt_map *map);
void vt_map_clear(struct vt_map *map);
/* The value stored under `key`, NULL where there is none; valid until the next put or remove. */
uint64_t *vt_map_find(const struct vt_map *map, struct vt_key key);
/* Stores or replaces. */
void vt_map_put(struct vt_map *map, struct vt_key key, uint64_t value);
/* Returns 1 where there was one. */
int vt_map_remove(struct vt_map *map, struct vt_key key);

#endif
