/* SPDX-License-Identifier: MIT */
/*
 * at::RecordFunction has its inputs as a pointer and a length and its outputs as a vector, both of
 * c10::IValue: a word and a tag.  A tensor's word is a TensorImpl, whose first member after the
 * reference counts is its StorageImpl; there the data pointer comes first.
 */

#include "preload/torch_values.h"

#include <stddef.h>
#include <string.h>

#include "preload/sys.h"

/* Offsets in bytes, as of PyTorch 2.11. */
#define CALL_INPUTS    208u
#define CALL_OUTPUTS   280u
#define VALUE_BYTES    16u
#define VALUE_TAG      8u
#define TENSOR_STORAGE 16u
#define STORAGE_DATA   16u
#define STORAGE_DEVICE 40u /* c10::DeviceType, one byte */
#define LIST_VALUES    16u

#define TAG_TENSOR  1u
#define TAG_LIST    14u
#define TAGS_TOTAL  64u
#define DEVICE_CUDA 1

/* More than any operator has arguments, and than any list has tensors. */
#define MOST_VALUES 4096u
#define MOST_ITEMS  (1u << 20)

#define ENOUGH_OUTPUTS 2u
#define ENOUGH_INPUTS  1u
#define MOST_TRIES     1000u /* calls that made a block and returned one tensor */
#define MOST_WRONG     8u

static struct {
	int layout;		/* atomic; enum vt_torch_layout */
	uint64_t block;		/* atomic; of an output that was the block reported last */
	uint32_t right_outputs;	/* atomic, as the next */
	uint32_t right_inputs;
	uint32_t wrong_inputs;
	uint32_t nr_tries;
} g;

/* What is read, how, and what was found so far. */
struct collection {
	struct vt_operator_address *out;
	uint32_t nr;
	uint32_t most;
	int is_checked; /* each read may fail, and ends the collection */
};

enum vt_torch_layout vt_torch_values_layout(void)
{
	return (enum vt_torch_layout)__atomic_load_n(&g.layout, __ATOMIC_RELAXED);
}

static int read_bytes(const struct collection *c, void *to, const void *base, size_t at,
		      size_t len)
{
	const char *from = (const char *)base + at;

	if (c->is_checked)
		return vt_sys_read_memory(to, from, len);
	memcpy(to, from, len);
	return 0;
}

static int read_pointer(const struct collection *c, const void *base, size_t at, const void **to)
{
	return read_bytes(c, to, base, at, sizeof(*to));
}

static int add_tensor(struct collection *c, const void *tensor, uint32_t position,
		      uint32_t element)
{
	const void *storage, *data;
	int8_t device;

	if (!tensor)
		return 0;
	if (read_pointer(c, tensor, TENSOR_STORAGE, &storage))
		return -1;
	/* Undefined, sparse, batched, ... */
	if (!storage)
		return 0;
	if (read_bytes(c, &device, storage, STORAGE_DEVICE, sizeof(device)) ||
	    read_pointer(c, storage, STORAGE_DATA, &data))
		return -1;
	if (device != DEVICE_CUDA || !data || c->nr >= c->most)
		return 0;
	if (c->out)
		c->out[c->nr] = (struct vt_operator_address){
			.address = (uint64_t)(uintptr_t)data,
			.position = (uint16_t)position,
			.element = (uint16_t)element,
		};
	c->nr++;
	return 0;
}

static int read_value(const struct collection *c, const void *value, const void **word,
		      uint32_t *tag)
{
	if (read_bytes(c, tag, value, VALUE_TAG, sizeof(*tag)) || *tag >= TAGS_TOTAL)
		return -1;
	return read_pointer(c, value, 0, word);
}

/* The values between two pointers; -1: that is no vector of values. */
static int count_values(const void *begin, const void *end, size_t most, size_t *nr)
{
	uintptr_t first = (uintptr_t)begin, last = (uintptr_t)end;

	if (last < first || (last - first) % VALUE_BYTES || (last - first) / VALUE_BYTES > most)
		return -1;
	*nr = (last - first) / VALUE_BYTES;
	return 0;
}

static int add_list(struct collection *c, const void *list, uint32_t position)
{
	const void *begin, *end, *word;
	uint32_t tag;
	size_t nr;

	if (!list)
		return 0;
	if (read_pointer(c, list, LIST_VALUES, &begin) ||
	    read_pointer(c, list, LIST_VALUES + sizeof(void *), &end) ||
	    count_values(begin, end, MOST_ITEMS, &nr))
		return -1;
	for (size_t i = 0; i < nr && c->nr < c->most; i++) {
		if (read_value(c, (const char *)begin + i * VALUE_BYTES, &word, &tag))
			return -1;
		if (tag == TAG_TENSOR && add_tensor(c, word, position, (uint32_t)i))
			return -1;
	}
	return 0;
}

static int add_values(struct collection *c, const void *values, size_t nr)
{
	const void *word;
	uint32_t tag;

	for (size_t i = 0; i < nr; i++) {
		if (read_value(c, (const char *)values + i * VALUE_BYTES, &word, &tag))
			return -1;
		if (tag == TAG_TENSOR ? add_tensor(c, word, (uint32_t)i, 0)
				      : tag == TAG_LIST && add_list(c, word, (uint32_t)i))
			return -1;
	}
	return 0;
}

static int add_inputs(struct collection *c, const void *call, uint64_t *nr)
{
	const void *values;

	if (read_pointer(c, call, CALL_INPUTS, &values) ||
	    read_bytes(c, nr, call, CALL_INPUTS + sizeof(void *), sizeof(*nr)) ||
	    *nr > MOST_VALUES)
		return -1;
	return add_values(c, values, *nr);
}

static int add_outputs(struct collection *c, const void *call, size_t *nr)
{
	const void *begin, *end;

	if (read_pointer(c, call, CALL_OUTPUTS, &begin) ||
	    read_pointer(c, call, CALL_OUTPUTS + sizeof(void *), &end) ||
	    count_values(begin, end, MOST_VALUES, nr))
		return -1;
	return add_values(c, begin, *nr);
}

static uint32_t add_one(uint32_t *count)
{
	return __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static void settle(enum vt_torch_layout layout)
{
	int unproven = VT_TORCH_LAYOUT_UNPROVEN;

	__atomic_compare_exchange_n(&g.layout, &unproven, layout, 0, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

static void settle_if_proven(void)
{
	if (__atomic_load_n(&g.right_inputs, __ATOMIC_RELAXED) >= ENOUGH_INPUTS &&
	    __atomic_load_n(&g.right_outputs, __ATOMIC_RELAXED) >= ENOUGH_OUTPUTS)
		settle(VT_TORCH_LAYOUT_PROVEN);
}

void vt_torch_values_try_inputs(const void *call, uint64_t nr_inputs)
{
	struct vt_operator_address found[16];
	struct collection c = { .out = found, .most = 16, .is_checked = 1 };
	uint64_t block = __atomic_load_n(&g.block, __ATOMIC_RELAXED), nr = 0;

	if (add_inputs(&c, call, &nr) || nr != nr_inputs) {
		if (add_one(&g.wrong_inputs) >= MOST_WRONG)
			settle(VT_TORCH_LAYOUT_OTHER);
		return;
	}
	for (uint32_t i = 0; block && i < c.nr; i++)
		if (found[i].address == block) {
			add_one(&g.right_inputs);
			settle_if_proven();
			return;
		}
}

void vt_torch_values_try_outputs(const void *call, uint64_t block)
{
	struct vt_operator_address found;
	struct collection c = { .out = &found, .most = 1, .is_checked = 1 };
	size_t nr = 0;

	if (!block)
		return;
	if (!add_outputs(&c, call, &nr) && nr == 1 && c.nr == 1 && found.address == block) {
		__atomic_store_n(&g.block, block, __ATOMIC_RELAXED);
		add_one(&g.right_outputs);
		settle_if_proven();
	}
	if (add_one(&g.nr_tries) >= MOST_TRIES)
		settle(VT_TORCH_LAYOUT_OTHER);
}

uint32_t vt_torch_values_inputs(const void *call, struct vt_operator_address *out, uint32_t most)
{
	struct collection c = { .out = out, .most = most };
	uint64_t nr;

	add_inputs(&c, call, &nr);
	return c.nr;
}

uint32_t vt_torch_values_outputs(const void *call, struct vt_operator_address *out, uint32_t most)
{
	struct collection c = { .out = out, .most = most };
	size_t nr;

	add_outputs(&c, call, &nr);
	return c.nr;
}
