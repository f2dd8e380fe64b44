/* SPDX-License-Identifier: MIT */
#include "simulator/driver_handles.h"

#include <stdlib.h>

#define KIND_SHIFT  28
#define INDEX_SHIFT 4
#define INDEX_MASK  ((1u << (KIND_SHIFT - INDEX_SHIFT)) - 1)

struct table {
	void **objects; /* index 0 is never given out */
	size_t nr_objects;
	size_t capacity;
	size_t lowest_free; /* no free index is below */
};

static struct {
	struct table tables[VTS_NR_HANDLE_KINDS];
} g;

static size_t free_index(struct table *table)
{
	size_t index = table->lowest_free ? table->lowest_free : 1;

	while (index < table->nr_objects && table->objects[index])
		index++;
	return index;
}

uintptr_t vts_handles_new(enum vts_handle_kind kind, void *object)
{
	struct table *table = &g.tables[kind];
	size_t index = free_index(table);

	if (index > INDEX_MASK)
		return 0;
	if (index >= table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 64;
		void **objects = realloc(table->objects, capacity * sizeof(*objects));

		if (!objects)
			return 0;
		table->objects = objects;
		table->capacity = capacity;
	}
	table->objects[index] = object;
	if (index >= table->nr_objects)
		table->nr_objects = index + 1;
	table->lowest_free = index + 1;
	return ((uintptr_t)kind << KIND_SHIFT) | (index << INDEX_SHIFT);
}

static size_t index_of(enum vts_handle_kind kind, uintptr_t handle)
{
	size_t index = (handle >> INDEX_SHIFT) & INDEX_MASK;

	if (handle != (((uintptr_t)kind << KIND_SHIFT) | (index << INDEX_SHIFT)))
		return 0;
	return index < g.tables[kind].nr_objects ? index : 0;
}

void *vts_handles_find(enum vts_handle_kind kind, uintptr_t handle)
{
	size_t index = index_of(kind, handle);

	return index ? g.tables[kind].objects[index] : NULL;
}

void vts_handles_drop(enum vts_handle_kind kind, uintptr_t handle)
{
	size_t index = index_of(kind, handle);
	struct table *table = &g.tables[kind];

	if (!index)
		return;
	table->objects[index] = NULL;
	if (index < table->lowest_free)
		table->lowest_free = index;
}

uintptr_t vts_handles_next(enum vts_handle_kind kind, uintptr_t after)
{
	struct table *table = &g.tables[kind];

	for (size_t i = after ? index_of(kind, after) + 1 : 1; i < table->nr_objects; i++)
		if (table->objects[i])
			return ((uintptr_t)kind << KIND_SHIFT) | (i << INDEX_SHIFT);
	return 0;
}
