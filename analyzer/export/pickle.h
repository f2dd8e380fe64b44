/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_PICKLE_H
#define VT_ANALYZER_PICKLE_H

/*
 * Python's pickle of plain data, protocol 4, written as it comes.  Only opcodes that PyTorch's
 * memory viewer reads: no BINUNICODE8, LONG4 or bytes, and lists in batches of 1,000, because it
 * spreads a batch into the arguments of one call.
 *
 * What is written twice is remembered by its number in the memo: vt_pickle_memo() after a value,
 * vt_pickle_get() in its place.  Errors are those of `out`.
 */

#include <stdint.h>
#include <stdio.h>

#define VT_PICKLE_BATCH 1000

struct vt_pickle {
	FILE *out;
	uint32_t nr_memo;
};

/* A list whose length need not be known. */
struct vt_pickle_list {
	uint32_t nr; /* in the batch that is open */
};

void vt_pickle_begin(struct vt_pickle *pickle, FILE *out);
void vt_pickle_end(struct vt_pickle *pickle);

void vt_pickle_int(struct vt_pickle *pickle, int64_t value);
void vt_pickle_float(struct vt_pickle *pickle, double value);
void vt_pickle_bool(struct vt_pickle *pickle, int value);
/* What is no UTF-8 becomes '?', as in JSON. */
void vt_pickle_text(struct vt_pickle *pickle, const char *text);
/* Two values follow before it. */
void vt_pickle_pair(struct vt_pickle *pickle);

/* Keys and values, one after the other, between the two; at most VT_PICKLE_BATCH pairs. */
void vt_pickle_dict(struct vt_pickle *pickle);
void vt_pickle_dict_end(struct vt_pickle *pickle);

/*
 * vt_pickle_list() begins a list, vt_pickle_items() its items (in between it may be remembered);
 * vt_pickle_item() before each.
 */
void vt_pickle_list(struct vt_pickle *pickle);
void vt_pickle_items(struct vt_pickle *pickle, struct vt_pickle_list *list);
void vt_pickle_item(struct vt_pickle *pickle, struct vt_pickle_list *list);
void vt_pickle_items_end(struct vt_pickle *pickle);

/* The number of the value just written; of a list also before its items. */
uint32_t vt_pickle_memo(struct vt_pickle *pickle);
void vt_pickle_get(struct vt_pickle *pickle, uint32_t number);

#endif
