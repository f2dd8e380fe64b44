/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_VALUES_H
#define VT_ANALYZER_VALUES_H

/*
 * Plain data in memory, as a pickle describes it: numbers, texts, lists and dicts that refer to
 * each other.  Made for snapshots of a million events: a dict costs eight bytes per item, because
 * dicts with the same keys share them, and equal short lists (the frames of one stack) share their
 * items.
 *
 *  V1  A value is a number; texts, lists and dicts are referred to, never copied.
 *  V2  Nothing here follows references: depth and cycles cost nothing.
 *  V3  Memory is counted.  Beyond `most_bytes` is_full is set and nothing more is kept; values that
 *      are returned then are None.
 */

#include <stdint.h>

#include "analyzer/base/util.h"

typedef uint64_t vt_value;

enum vt_value_type {
	VT_VALUE_OTHER, /* None, an integer of more than 64 bits, what was never set */
	VT_VALUE_BOOL,
	VT_VALUE_INT,
	VT_VALUE_FLOAT,
	VT_VALUE_TEXT,
	VT_VALUE_LIST, /* a tuple too */
	VT_VALUE_DICT,
};

/* The type is in the lowest bits. */
#define VT_VALUE_TYPE_BITS 3
#define VT_VALUE_NONE	   ((vt_value)VT_VALUE_OTHER)
#define VT_VALUE_UNSET	   ((vt_value)1 << VT_VALUE_TYPE_BITS | VT_VALUE_OTHER)
#define VT_VALUE_HUGE	   ((vt_value)2 << VT_VALUE_TYPE_BITS | VT_VALUE_OTHER)

/* Bytes that are kept once for all that are equal: a text, or the items of a short list. */
struct vt_value_blob {
	const void *bytes;
	uint32_t len;
	uint32_t hash;
};

/* capacity 0: `items` may be shared and are never changed. */
struct vt_value_list {
	const vt_value *items;
	uint32_t len;
	uint32_t capacity;
};

struct vt_value_dict {
	const vt_value *keys; /* as the items of a list; of equal ones the last counts */
	vt_value *values;
	uint32_t len;
	uint32_t capacity;
};

struct vt_value_chunk;

struct vt_values {
	VT_VECTOR(struct vt_value_blob) blobs;
	VT_VECTOR(struct vt_value_list) lists;
	VT_VECTOR(struct vt_value_dict) dicts;
	VT_VECTOR(double) floats;
	VT_VECTOR(uint64_t) wide; /* integers that do not fit beside a type */
	struct vt_value_chunk *chunks;
	uint32_t *table; /* of blobs: index + 1 */
	size_t table_capacity;
	uint64_t used_bytes;
	uint64_t most_bytes;
	int is_full;
};

void vt_values_init(struct vt_values *values, uint64_t most_bytes);
void vt_values_release(struct vt_values *values);

static inline enum vt_value_type vt_value_type(vt_value value)
{
	return (enum vt_value_type)(value & ((1u << VT_VALUE_TYPE_BITS) - 1));
}

/* New values. */
vt_value vt_values_bool(int is_true);
vt_value vt_values_int(struct vt_values *values, int64_t number);
vt_value vt_values_unsigned(struct vt_values *values, uint64_t number);
vt_value vt_values_float(struct vt_values *values, double number);
vt_value vt_values_text(struct vt_values *values, const char *bytes, size_t len);
vt_value vt_values_list(struct vt_values *values);
vt_value vt_values_dict(struct vt_values *values);

/* Appends to a list, or sets items of a dict (key, value, key, value, ...; `nr` pairs). */
void vt_values_append(struct vt_values *values, vt_value list, const vt_value *items, size_t nr);
void vt_values_set(struct vt_values *values, vt_value dict, const vt_value *pairs, size_t nr);

/*
 * Reading.  A value of another type is no list (length 0), no dict, no text (NULL, length 0).  What
 * is returned is valid until the next value is made.
 */
struct vt_value_list vt_values_items(const struct vt_values *values, vt_value list);
const struct vt_value_dict *vt_values_pairs(const struct vt_values *values, vt_value dict);
const char *vt_values_bytes(const struct vt_values *values, vt_value text, size_t *len);
int vt_values_is_text(const struct vt_values *values, vt_value text, const char *wanted);
/* An integer as 64 bits, where it is one (bools are 0 and 1); else -1 is returned. */
int vt_values_number(const struct vt_values *values, vt_value value, uint64_t *number);
/* The same, and floats; else -1. */
int vt_values_double(const struct vt_values *values, vt_value value, double *number);
/* What a dict has under that key; VT_VALUE_UNSET: nothing, or it is no dict. */
vt_value vt_values_find(const struct vt_values *values, vt_value dict, const char *key);

#endif
