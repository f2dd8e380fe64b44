/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/values.h"

#include <string.h>

#include "analyzer/base/hash.h"

#define CHUNK_BYTES ((size_t)256 << 10)

/* Of what is made at once, as CPython writes it: items of a list, keys of a dict. */
#define MOST_SHARED	 1000
#define MOST_SHARED_KEYS 64

/* Equal hashes are searched this far: a file that is made to have them costs no more time. */
#define MOST_PROBES 32

struct vt_value_chunk {
	struct vt_value_chunk *next;
	size_t used;
	size_t size;
	uint64_t bytes[];
};

void vt_values_init(struct vt_values *values, uint64_t most_bytes)
{
	memset(values, 0, sizeof(*values));
	values->most_bytes = most_bytes;
}

void vt_values_release(struct vt_values *values)
{
	while (values->chunks) {
		struct vt_value_chunk *next = values->chunks->next;

		free(values->chunks);
		values->chunks = next;
	}
	for (size_t i = 0; i < values->lists.len; i++)
		if (values->lists.items[i].capacity)
			free((void *)values->lists.items[i].items);
	for (size_t i = 0; i < values->dicts.len; i++) {
		if (!values->dicts.items[i].capacity)
			continue;
		free((void *)values->dicts.items[i].keys);
		free(values->dicts.items[i].values);
	}
	vt_vector_release(&values->blobs);
	vt_vector_release(&values->lists);
	vt_vector_release(&values->dicts);
	vt_vector_release(&values->floats);
	vt_vector_release(&values->wide);
	free(values->table);
	memset(values, 0, sizeof(*values));
}

/* Whether so many bytes more may be kept. */
static int count(struct vt_values *values, size_t bytes)
{
	if (values->is_full || bytes > values->most_bytes - values->used_bytes) {
		values->is_full = 1;
		return 0;
	}
	values->used_bytes += bytes;
	return 1;
}

/* Room that is never given back, for numbers; NULL: full. */
static void *take(struct vt_values *values, size_t bytes)
{
	struct vt_value_chunk *chunk = values->chunks;
	size_t size = (bytes + 7) & ~(size_t)7;

	if (!chunk || size > chunk->size - chunk->used) {
		size_t room = size > CHUNK_BYTES / 4 ? size : CHUNK_BYTES;

		if (!count(values, room))
			return NULL;
		chunk = vt_xmalloc(sizeof(*chunk) + room);
		chunk->used = 0;
		chunk->size = room;
		/* What was begun is filled first. */
		if (values->chunks && room == size) {
			chunk->next = values->chunks->next;
			values->chunks->next = chunk;
		} else {
			chunk->next = values->chunks;
			values->chunks = chunk;
		}
	}
	chunk->used += size;
	return (char *)chunk->bytes + chunk->used - size;
}

static uint32_t hash_of(const void *bytes, size_t len)
{
	uint64_t hash = len, word;
	const char *at = bytes;

	for (; len >= sizeof(word); at += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = vt_hash_mix(hash, word);
	}
	word = 0;
	memcpy(&word, at, len);
	return (uint32_t)vt_hash_mix(hash, word);
}

static void grow_table(struct vt_values *values)
{
	size_t capacity = values->table_capacity ? 2 * values->table_capacity : 1024;

	if (!count(values, (capacity - values->table_capacity) * sizeof(*values->table)))
		return;
	free(values->table);
	values->table = vt_xcalloc(capacity, sizeof(*values->table));
	values->table_capacity = capacity;
	for (size_t i = 0; i < values->blobs.len; i++) {
		size_t at = values->blobs.items[i].hash & (capacity - 1);

		for (unsigned probe = 0; probe < MOST_PROBES; probe++) {
			if (!values->table[at]) {
				values->table[at] = (uint32_t)i + 1;
				break;
			}
			at = (at + 1) & (capacity - 1);
		}
	}
}

/* The index of a blob with these bytes; UINT32_MAX: full. */
static uint32_t intern(struct vt_values *values, const void *bytes, size_t len)
{
	struct vt_value_blob blob = { NULL, (uint32_t)len, hash_of(bytes, len) };
	uint32_t *slot = NULL;
	void *copy;
	size_t at;

	if (2 * (values->blobs.len + 1) > values->table_capacity)
		grow_table(values);
	if (values->is_full)
		return UINT32_MAX;
	at = blob.hash & (values->table_capacity - 1);
	for (unsigned probe = 0; probe < MOST_PROBES && !slot; probe++) {
		uint32_t found = values->table[at];
		const struct vt_value_blob *old = found ? &values->blobs.items[found - 1] : NULL;

		if (!old)
			slot = &values->table[at];
		else if (old->hash == blob.hash && old->len == blob.len &&
			 (!len || !memcmp(old->bytes, bytes, len)))
			return found - 1;
		at = (at + 1) & (values->table_capacity - 1);
	}
	copy = take(values, len);
	if (!copy || !count(values, sizeof(blob)))
		return UINT32_MAX;
	if (len)
		memcpy(copy, bytes, len);
	blob.bytes = copy;
	vt_vector_push(&values->blobs, blob);
	if (slot)
		*slot = (uint32_t)values->blobs.len;
	return (uint32_t)values->blobs.len - 1;
}

static vt_value make(enum vt_value_type type, uint64_t content)
{
	return content << VT_VALUE_TYPE_BITS | type;
}

static uint64_t content_of(vt_value value)
{
	return value >> VT_VALUE_TYPE_BITS;
}

vt_value vt_values_bool(int is_true)
{
	return make(VT_VALUE_BOOL, is_true != 0);
}

/* Integers: the lowest bit of the content says whether the rest is an index into `wide`. */
vt_value vt_values_unsigned(struct vt_values *values, uint64_t number)
{
	if (number >> (63 - VT_VALUE_TYPE_BITS) == 0)
		return make(VT_VALUE_INT, number << 1);
	if (!count(values, sizeof(number)))
		return VT_VALUE_NONE;
	vt_vector_push(&values->wide, number);
	return make(VT_VALUE_INT, (uint64_t)(values->wide.len - 1) << 1 | 1);
}

vt_value vt_values_int(struct vt_values *values, int64_t number)
{
	return vt_values_unsigned(values, (uint64_t)number);
}

vt_value vt_values_float(struct vt_values *values, double number)
{
	if (!count(values, sizeof(number)))
		return VT_VALUE_NONE;
	vt_vector_push(&values->floats, number);
	return make(VT_VALUE_FLOAT, values->floats.len - 1);
}

vt_value vt_values_text(struct vt_values *values, const char *bytes, size_t len)
{
	uint32_t blob = intern(values, bytes, len);

	return blob == UINT32_MAX ? VT_VALUE_NONE : make(VT_VALUE_TEXT, blob);
}

vt_value vt_values_list(struct vt_values *values)
{
	struct vt_value_list empty = { 0 };

	if (!count(values, sizeof(empty)))
		return VT_VALUE_NONE;
	vt_vector_push(&values->lists, empty);
	return make(VT_VALUE_LIST, values->lists.len - 1);
}

vt_value vt_values_dict(struct vt_values *values)
{
	struct vt_value_dict empty = { 0 };

	if (!count(values, sizeof(empty)))
		return VT_VALUE_NONE;
	vt_vector_push(&values->dicts, empty);
	return make(VT_VALUE_DICT, values->dicts.len - 1);
}

/* An array of `capacity` values becomes one with room for `wanted`; NULL: full. */
static vt_value *grow(struct vt_values *values, const vt_value *old, uint32_t len,
		      uint32_t capacity, size_t wanted)
{
	vt_value *larger;

	if (!count(values, (wanted - capacity) * sizeof(*larger)))
		return NULL;
	if (capacity)
		return vt_xrealloc((void *)old, wanted * sizeof(*larger));
	larger = vt_xmalloc(wanted * sizeof(*larger));
	if (len)
		memcpy(larger, old, len * sizeof(*larger));
	return larger;
}

static size_t larger_capacity(uint32_t capacity, size_t wanted)
{
	return wanted > 2 * (size_t)capacity ? wanted : 2 * (size_t)capacity;
}

void vt_values_append(struct vt_values *values, vt_value list, const vt_value *items, size_t nr)
{
	struct vt_value_list *l = &values->lists.items[content_of(list)];
	vt_value *larger;

	if (!nr || values->is_full)
		return;
	if (!l->len && nr <= MOST_SHARED) {
		uint32_t blob = intern(values, items, nr * sizeof(*items));

		if (blob == UINT32_MAX)
			return;
		l->items = values->blobs.items[blob].bytes;
		l->len = (uint32_t)nr;
		return;
	}
	if (l->len + nr > l->capacity) {
		size_t wanted = larger_capacity(l->capacity, l->len + nr);

		larger = grow(values, l->items, l->len, l->capacity, wanted);
		if (!larger)
			return;
		l->items = larger;
		l->capacity = (uint32_t)wanted;
	}
	memcpy((vt_value *)l->items + l->len, items, nr * sizeof(*items));
	l->len += (uint32_t)nr;
}

/* The usual dict: all of its items at once. */
static void set_first(struct vt_values *values, struct vt_value_dict *d, const vt_value *pairs,
		      size_t nr)
{
	vt_value keys[MOST_SHARED_KEYS] = { 0 }, *copies;
	uint32_t blob;

	for (size_t i = 0; i < nr; i++)
		keys[i] = pairs[2 * i];
	blob = intern(values, keys, nr * sizeof(*keys));
	copies = take(values, nr * sizeof(*copies));
	if (blob == UINT32_MAX || !copies)
		return;
	for (size_t i = 0; i < nr; i++)
		copies[i] = pairs[2 * i + 1];
	d->keys = values->blobs.items[blob].bytes;
	d->values = copies;
	d->len = (uint32_t)nr;
}

void vt_values_set(struct vt_values *values, vt_value dict, const vt_value *pairs, size_t nr)
{
	struct vt_value_dict *d = &values->dicts.items[content_of(dict)];

	if (!nr || values->is_full)
		return;
	if (!d->len && nr <= MOST_SHARED_KEYS) {
		set_first(values, d, pairs, nr);
		return;
	}
	if (d->len + nr > d->capacity) {
		size_t wanted = larger_capacity(d->capacity, d->len + nr);
		vt_value *keys = grow(values, d->keys, d->len, d->capacity, wanted), *copies;

		if (!keys)
			return;
		copies = grow(values, d->values, d->len, d->capacity, wanted);
		if (!copies) {
			/* Both arrays are the dict's own, or neither is. */
			if (d->capacity)
				d->keys = keys;
			else
				free(keys);
			return;
		}
		d->keys = keys;
		d->values = copies;
		d->capacity = (uint32_t)wanted;
	}
	for (size_t i = 0; i < nr; i++) {
		((vt_value *)d->keys)[d->len + i] = pairs[2 * i];
		d->values[d->len + i] = pairs[2 * i + 1];
	}
	d->len += (uint32_t)nr;
}

struct vt_value_list vt_values_items(const struct vt_values *values, vt_value list)
{
	if (vt_value_type(list) != VT_VALUE_LIST)
		return (struct vt_value_list){ 0 };
	return values->lists.items[content_of(list)];
}

const struct vt_value_dict *vt_values_pairs(const struct vt_values *values, vt_value dict)
{
	if (vt_value_type(dict) != VT_VALUE_DICT)
		return NULL;
	return &values->dicts.items[content_of(dict)];
}

const char *vt_values_bytes(const struct vt_values *values, vt_value text, size_t *len)
{
	const struct vt_value_blob *blob;

	*len = 0;
	if (vt_value_type(text) != VT_VALUE_TEXT)
		return NULL;
	blob = &values->blobs.items[content_of(text)];
	*len = blob->len;
	return blob->bytes;
}

int vt_values_is_text(const struct vt_values *values, vt_value text, const char *wanted)
{
	size_t len;
	const char *bytes = vt_values_bytes(values, text, &len);

	return bytes && len == strlen(wanted) && !memcmp(bytes, wanted, len);
}

int vt_values_number(const struct vt_values *values, vt_value value, uint64_t *number)
{
	uint64_t content = content_of(value);

	if (vt_value_type(value) == VT_VALUE_BOOL)
		*number = content;
	else if (vt_value_type(value) == VT_VALUE_INT)
		*number = content & 1 ? values->wide.items[content >> 1] : content >> 1;
	else
		return -1;
	return 0;
}

int vt_values_double(const struct vt_values *values, vt_value value, double *number)
{
	uint64_t integer;

	if (vt_value_type(value) == VT_VALUE_FLOAT) {
		*number = values->floats.items[content_of(value)];
		return 0;
	}
	if (vt_values_number(values, value, &integer))
		return -1;
	*number = (double)(int64_t)integer;
	return 0;
}

vt_value vt_values_find(const struct vt_values *values, vt_value dict, const char *key)
{
	const struct vt_value_dict *d = vt_values_pairs(values, dict);

	for (uint32_t i = d ? d->len : 0; i-- > 0;)
		if (vt_values_is_text(values, d->keys[i], key))
			return d->values[i];
	return VT_VALUE_UNSET;
}
