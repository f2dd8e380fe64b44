/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_PYTHON_KNOWN_H
#define VT_PRELOAD_PYTHON_KNOWN_H

/*
 * What one walk of a Python stack after the other has learnt of code objects and types.  They can
 * be freed between two walks and their memory reused, so what is known of an address counts for
 * the walk that has compared it with what stands there, and for no other; a stack runs through the
 * same few functions again and again, and within a walk nothing that is on it can be freed.
 *
 * For one thread at a time.  All zero is empty.
 */

#include <stddef.h>
#include <stdint.h>

#include "preload/memo.h"

/* What every entry begins with. */
struct vt_python_known_head {
	const void *address;
	uint64_t walk;		/* that looked at it last */
	uint64_t version;	/* another one whenever what is known has changed; never 0 */
};

struct vt_python_known_code {
	struct vt_python_known_head head;
	uint32_t id;		/* 0: could not be recorded */
	int32_t nr_arguments;
	uint32_t is_call;	/* what PyTorch runs when a module is called */
	int32_t first_line;
	/* As python_code.c compares them, and the last words of the two texts. */
	const void *file;
	const void *name;
	const void *table;
	int64_t file_len;
	int64_t table_len;
	const void *file_end;
	const void *table_end;
	uint64_t file_word;
	uint64_t table_word;
};

struct vt_python_known_type {
	struct vt_python_known_head head;
	struct vt_memo_key key;
	uint32_t name;		/* string id; 0: neither a module nor an optimizer */
};

/* The tables belong to whoever walks; their sizes are powers of two. */
struct vt_python_known {
	uint64_t walk;		/* number of the present one, from 1 */
	uint64_t *version;	/* given out last */
	struct vt_python_known_code *codes;
	struct vt_python_known_type *types;
	uint32_t nr_codes;
	uint32_t nr_types;
};

/* An address may be in any of so many places that lie side by side. */
#define VT_PYTHON_KNOWN_WAYS 4u

/* 2^64 divided by the golden ratio: the product's upper bits depend on all bits of the address. */
static inline uint32_t vt_python_known_place(const void *address, uint32_t nr_places)
{
	uint32_t place = (uint32_t)((uintptr_t)address * 0x9e3779b97f4a7c15ull >> 40);

	return place & (nr_places - 1) & ~(VT_PYTHON_KNOWN_WAYS - 1);
}

/* The entry of that address, or the one among its places that was looked at longest ago. */
static inline void *vt_python_known_find(void *entries, size_t entry_bytes, uint32_t nr_entries,
					 const void *address)
{
	char *at = (char *)entries + vt_python_known_place(address, nr_entries) * entry_bytes;
	struct vt_python_known_head *found = (void *)at;

	for (uint32_t way = 0; way < VT_PYTHON_KNOWN_WAYS && way < nr_entries; way++) {
		struct vt_python_known_head *head = (void *)(at + way * entry_bytes);

		if (head->address == address)
			return head;
		if (head->walk < found->walk)
			found = head;
	}
	return found;
}

static inline struct vt_python_known_code *vt_python_known_code(const struct vt_python_known *known,
								const void *address)
{
	return vt_python_known_find(known->codes, sizeof(*known->codes), known->nr_codes, address);
}

static inline struct vt_python_known_type *vt_python_known_type(const struct vt_python_known *known,
								const void *address)
{
	return vt_python_known_find(known->types, sizeof(*known->types), known->nr_types, address);
}

#endif
