/* SPDX-License-Identifier: MIT */
/*
 * The sequence number is the first data member of a node, after a virtual table pointer and
 * whatever the base class has: 16 bytes of enable_shared_from_this (offset 24, seen in 1.13 to
 * 2.11) or 8 bytes of reference counts (offset 16, seen in 2.14 and 2.15).  Which of both it is, is
 * measured:
 *
 *   offset 16	holds the number itself in the newer layout, and in the older one the address of a
 *		reference count block, which is never a number given out so far.
 *
 * An AccumulateGrad node settles it, because it holds UINT64_MAX, which is no address; until one is
 * seen, a node counts as newer where offset 16 holds a number that has been given out.
 */

#include "preload/torch_node.h"

#include <stddef.h>
#include <string.h>

#define OFFSET_NEWER 16u
#define OFFSET_OLDER 24u

/*
 * After the sequence number: depth in the graph, one or two flags in a word, then the thread
 * (1.13, 2.6, 2.11, 2.15).
 */
#define THREAD_BEHIND 24u

#define CLASS_WITHOUT_SEQUENCE "N5torch8autograd14AccumulateGradE"

static struct {
	uint32_t offset;  /* atomic; 0 = not settled */
	uint64_t highest; /* atomic; one more than the highest given out; while not settled */
} g;

static uint64_t number_at(const void *node, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)node + offset, sizeof(value));
	return value;
}

/*
 * Itanium C++ ABI: the type information precedes the virtual table, the name is its second
 * word.
 */
const char *vt_torch_node_class(const void *node)
{
	const void *const *table, *const *type;
	const char *name;

	memcpy(&table, node, sizeof(table));
	type = table ? table[-1] : NULL;
	name = type ? type[1] : NULL;
	if (!name)
		return "";
	/* A star marks a type that is to be compared by address (internal linkage). */
	return *name == '*' ? name + 1 : name;
}

void vt_torch_node_note_sequence(uint64_t sequence)
{
	uint64_t highest;

	if (__atomic_load_n(&g.offset, __ATOMIC_RELAXED))
		return;
	highest = __atomic_load_n(&g.highest, __ATOMIC_RELAXED);
	while (highest <= sequence &&
	       !__atomic_compare_exchange_n(&g.highest, &highest, sequence + 1, 1, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static uint32_t find_offset(const void *node, const char *node_class)
{
	uint32_t offset = __atomic_load_n(&g.offset, __ATOMIC_RELAXED);
	uint64_t highest;

	if (offset)
		return offset;
	if (strcmp(node_class, CLASS_WITHOUT_SEQUENCE) == 0) {
		if (number_at(node, OFFSET_NEWER) == UINT64_MAX)
			offset = OFFSET_NEWER;
		else if (number_at(node, OFFSET_OLDER) == UINT64_MAX)
			offset = OFFSET_OLDER;
		__atomic_store_n(&g.offset, offset, __ATOMIC_RELAXED);
		return offset;
	}
	highest = __atomic_load_n(&g.highest, __ATOMIC_RELAXED);
	if (number_at(node, OFFSET_NEWER) < highest)
		return OFFSET_NEWER;
	return number_at(node, OFFSET_OLDER) < highest ? OFFSET_OLDER : 0;
}

uint64_t vt_torch_node_sequence(const void *node, const char *node_class)
{
	uint32_t offset = find_offset(node, node_class);

	return offset ? number_at(node, offset) : VT_TORCH_NO_SEQUENCE;
}

uint64_t vt_torch_node_thread(const void *node, const char *node_class)
{
	uint32_t offset = find_offset(node, node_class);

	return offset ? number_at(node, offset + THREAD_BEHIND) : 0;
}
