/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_CODE_CACHE_H
#define VT_PRELOAD_CODE_CACHE_H

/*
 * What one walk of a Python stack after the other has learnt of code objects and types.  They can
 * be freed between two walks and their memory reused, so what is known of an address counts for
 * the walk that has compared it with what is there, and for no other; a stack runs through the
 * same few functions again and again, and within a walk nothing that is on it can be freed.
 *
 * What a remembered stack refers to is in use: it stays where it is, and each walk compares all of
 * it, also where no frame was looked at.
 *
 * For one thread at a time.  All zero is empty.
 */

#include <stddef.h>
#include <stdint.h>

#include "preload/watch.h"

#define VT_CODE_CACHE_WATCHES 11

/* What every entry begins with. */
struct vt_code_cache_head {
	const void *address;
	uint64_t walk;		/* that compared it last */
	uint64_t frees;		/* of a code: the count at which it was what it is */
	uint32_t nr_users;
	uint32_t place;		/* among those in use */
	uint32_t nr_watches;
	uint32_t version;	/* another one each time that something else is learnt here */
	struct vt_watch watches[VT_CODE_CACHE_WATCHES];
};

struct vt_cached_code {
	struct vt_code_cache_head head;
	uint32_t id;		/* 0: could not be recorded */
	int32_t nr_arguments;
	uint32_t is_call;	/* what PyTorch runs when a module is called */
};

struct vt_cached_type {
	struct vt_code_cache_head head;
	uint32_t name;		/* string id; 0: neither a module nor an optimizer */
	uint32_t is_lost;	/* one of them, whose name could not be recorded */
};

/* Of those in use; room for as many as there are places. */
struct vt_code_cache_list {
	struct vt_code_cache_head **heads;
	uint32_t nr;
};

/*
 * The tables belong to whoever walks; their sizes are powers of two, or 0 where nothing is kept.
 * One more entry is used where there is no place.
 */
struct vt_code_cache {
	uint64_t walk;		/* number of the present one, from 1 */
	uint64_t frees;		/* vt_python_frees_count() at its start */
	uint64_t frees_compared;	/* ... when the codes in use were compared last */
	uint32_t is_stale;	/* something in use was not what it had been */
	uint32_t is_full;	/* something found no place: nothing of this walk may be kept */
	struct vt_cached_code *codes;
	struct vt_cached_type *types;
	uint32_t nr_codes;
	uint32_t nr_types;
	struct vt_code_cache_list used_codes;
	struct vt_code_cache_list used_types;
};

/* An address may be in any of so many places that lie side by side. */
#define VT_CODE_CACHE_WAYS 8u

/* 2^64 divided by the golden ratio: the product's upper bits depend on all bits of the address. */
static inline uint32_t vt_code_cache_place(const void *address, uint32_t nr_places)
{
	uint32_t place = (uint32_t)((uintptr_t)address * 0x9e3779b97f4a7c15ull >> 40);

	return nr_places ? place & (nr_places - 1) & ~(VT_CODE_CACHE_WAYS - 1) : 0;
}

/* The entry of that address, or the one to take for it. */
static inline void *vt_code_cache_find(struct vt_code_cache *known, void *entries,
					 size_t entry_bytes, uint32_t nr_entries,
					 const void *address)
{
	char *at = (char *)entries + vt_code_cache_place(address, nr_entries) * entry_bytes;
	struct vt_code_cache_head *found = NULL;

	for (uint32_t way = 0; way < VT_CODE_CACHE_WAYS && nr_entries; way++, at += entry_bytes) {
		struct vt_code_cache_head *head = (void *)at;

		if (head->address == address)
			return head;
		/* Not in use, and compared longest ago. */
		if (!head->nr_users && (!found || head->walk < found->walk))
			found = head;
	}
	if (found)
		return found;
	known->is_full = 1;
	found = (void *)((char *)entries + nr_entries * entry_bytes);
	found->address = NULL;
	return found;
}

static inline struct vt_cached_code *vt_code_cache_look(struct vt_code_cache *known,
								const void *address)
{
	return vt_code_cache_find(known, known->codes, sizeof(*known->codes), known->nr_codes,
				    address);
}

static inline struct vt_cached_type *vt_code_cache_type(struct vt_code_cache *known,
								const void *address)
{
	return vt_code_cache_find(known, known->types, sizeof(*known->types), known->nr_types,
				    address);
}

static inline void vt_code_cache_use(const struct vt_code_cache *known,
				       struct vt_code_cache_list *used,
				       struct vt_code_cache_head *head)
{
	if (known->is_full || head->nr_users++)
		return;
	head->place = used->nr;
	used->heads[used->nr++] = head;
}

static inline void vt_code_cache_leave(const struct vt_code_cache *known,
					 struct vt_code_cache_list *used,
					 struct vt_code_cache_head *head)
{
	if (known->is_full || --head->nr_users)
		return;
	used->heads[head->place] = used->heads[--used->nr];
	used->heads[head->place]->place = head->place;
}

/* Nothing is in use any more. */
static inline void vt_code_cache_leave_all(struct vt_code_cache *known)
{
	while (known->used_codes.nr)
		known->used_codes.heads[--known->used_codes.nr]->nr_users = 0;
	while (known->used_types.nr)
		known->used_types.heads[--known->used_types.nr]->nr_users = 0;
	known->is_stale = known->is_full = 0;
}

/* An entry turned out to be of something else than it was. */
static inline void vt_code_cache_note_change(struct vt_code_cache *known,
					       struct vt_code_cache_head *head)
{
	head->version++;
	if (head->nr_users)
		known->is_stale = 1;
}

/* Without a look at it: it was compared in this walk, or is of code and none was freed since. */
static inline int vt_code_cache_is_fresh(const struct vt_code_cache *known,
					   const struct vt_code_cache_head *head)
{
	return head->walk == known->walk || head->frees == known->frees;
}

/*
 * Whether an entry is still what it was in that version.  Its address must be on the stack that
 * this walk goes through.
 */
static inline int vt_code_cache_is_version(const struct vt_code_cache *known,
					     struct vt_code_cache_head *head, uint32_t version)
{
	if (head->version != version)
		return 0;
	if (vt_code_cache_is_fresh(known, head))
		return 1;
	if (!vt_watch_are_same(head->watches, head->nr_watches))
		return 0;
	head->walk = known->walk;
	return 1;
}

static inline int vt_code_cache_are_same(const struct vt_code_cache *known,
					   const struct vt_code_cache_list *used)
{
	for (uint32_t i = 0; i < used->nr; i++) {
		const struct vt_code_cache_head *head = used->heads[i];

		if (!vt_code_cache_is_fresh(known, head) &&
		    !vt_watch_are_same(head->watches, head->nr_watches))
			return 0;
	}
	return 1;
}

/*
 * Compares what is in use and was not met in this walk; its addresses must be on the stack.  Code
 * never changes, so while none is freed there is nothing to compare.
 */
static inline int vt_code_cache_is_all_same(struct vt_code_cache *known)
{
	if (known->is_stale || !vt_code_cache_are_same(known, &known->used_types))
		return 0;
	if (known->frees != known->frees_compared &&
	    !vt_code_cache_are_same(known, &known->used_codes))
		return 0;
	known->frees_compared = known->frees;
	return 1;
}

#endif
