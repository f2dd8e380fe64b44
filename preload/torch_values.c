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

/*
 * Offsets in bytes, found with offsetof() in the headers of PyTorch 2.0 to 2.15: a call has its
 * name as a string of the old C++ library (wheels up to 2.6) or of the new one, and from 2.4 on
 * arguments by keyword before its outputs; until 2.2 reference counts took a word more.
 */
static const struct layout {
	uint16_t inputs; /* of a call */
	uint16_t outputs;
	uint16_t storage; /* of a TensorImpl */
	uint16_t data;	  /* of a StorageImpl */
	uint16_t device;  /* ... c10::DeviceType, one byte */
	uint16_t values;  /* of a list */
} layouts[] = {
	{ 208, 280, 16, 16, 40, 16 }, { 184, 256, 16, 16, 40, 16 }, { 184, 200, 16, 16, 40, 16 },
	{ 208, 224, 16, 16, 40, 16 }, { 184, 200, 24, 24, 48, 24 }, { 208, 224, 24, 24, 48, 24 },
};
#define NR_LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

#define VALUE_BYTES 16u
#define VALUE_TAG   8u

#define TAG_TENSOR     1u
#define FIRST_LIST_TAG 12u /* PyTorch 2.0; 13 from 2.1 on, 14 from 2.9 on */
#define LAST_LIST_TAG  14u
#define TAGS_TOTAL     64u
#define DEVICE_CUDA    1

/* More than any operator has arguments, and than any list has tensors. */
#define MOST_VALUES 4096u
#define MOST_ITEMS  (1u << 20)

#define ENOUGH_OUTPUTS 2u
#define ENOUGH_INPUTS  1u
#define MOST_TRIES     1000u /* calls that made a block and returned one tensor */
#define MOST_WRONG     8u
#define NR_RECENT      64u
#define NO_LIST_TAG    UINT32_MAX
#define MOST_LIST_TRIES 8192u /* some microseconds each */
#define MOST_TRIED_ITEMS 16u

#define LAYOUT_BITS 2u
#define LAYOUT_MASK 3u

/* What speaks for a layout; all atomic. */
struct proof {
	uint64_t block; /* of an output that was the block reported last */
	uint32_t right_outputs;
	uint32_t right_inputs;
	uint32_t wrong_inputs;
};

static struct {
	uint32_t layout; /* atomic; enum vt_torch_layout, behind it the index of the proven one */
	uint32_t nr_tries;
	struct proof proofs[NR_LAYOUTS];
	uint32_t list_tag; /* atomic; 0: unproven, NO_LIST_TAG: for good */
	uint32_t nr_list_tries;
	uint64_t recent[NR_RECENT]; /* atomic: storages that values were, before that */
	uint32_t nr_recent;
} g;

/* What is read, how, and what was found so far. */
struct collection {
	const struct layout *layout;
	struct vt_operator_address *out;
	uint32_t nr;
	uint32_t most;
	int is_checked; /* each read may fail, and ends the collection */
};

enum vt_torch_layout vt_torch_values_layout(void)
{
	return (enum vt_torch_layout)(__atomic_load_n(&g.layout, __ATOMIC_RELAXED) & LAYOUT_MASK);
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

static uint32_t add_one(uint32_t *count)
{
	return __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

static uint32_t known_list_tag(void)
{
	return __atomic_load_n(&g.list_tag, __ATOMIC_RELAXED);
}

static void note_recent(const void *data)
{
	uint32_t at = __atomic_fetch_add(&g.nr_recent, 1, __ATOMIC_RELAXED) % NR_RECENT;

	__atomic_store_n(&g.recent[at], (uint64_t)(uintptr_t)data, __ATOMIC_RELAXED);
}

static int is_recent(uint64_t address)
{
	for (uint32_t i = 0; i < NR_RECENT; i++)
		if (__atomic_load_n(&g.recent[i], __ATOMIC_RELAXED) == address)
			return 1;
	return 0;
}

static int add_tensor(struct collection *c, const void *tensor, uint32_t position,
		      uint32_t element)
{
	const void *storage, *data;
	int8_t device;

	if (!tensor)
		return 0;
	if (read_pointer(c, tensor, c->layout->storage, &storage))
		return -1;
	/* Undefined, sparse, batched, ... */
	if (!storage)
		return 0;
	if (read_bytes(c, &device, storage, c->layout->device, sizeof(device)) ||
	    read_pointer(c, storage, c->layout->data, &data))
		return -1;
	if (device != DEVICE_CUDA || !data || c->nr >= c->most)
		return 0;
	if (!c->is_checked && !known_list_tag())
		note_recent(data);
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
	struct {
		const void *word;
		uint32_t tag;
	} read;

	_Static_assert(offsetof(__typeof__(read), tag) == VALUE_TAG, "VALUE_TAG");
	if (read_bytes(c, &read, value, 0, VALUE_TAG + sizeof(read.tag)) || read.tag >= TAGS_TOTAL)
		return -1;
	*word = read.word;
	*tag = read.tag;
	return 0;
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

/* The values of a list; -1: it is none, or cannot be read. */
static int read_list(const struct collection *c, const void *list, const char **values, size_t *nr)
{
	const void *ends[2];

	if (read_bytes(c, ends, list, c->layout->values, sizeof(ends)) ||
	    count_values(ends[0], ends[1], MOST_ITEMS, nr))
		return -1;
	*values = ends[0];
	return 0;
}

static int add_list(struct collection *c, const void *list, uint32_t position)
{
	const char *values;
	const void *word;
	uint32_t tag;
	size_t nr;

	if (!list)
		return 0;
	if (read_list(c, list, &values, &nr))
		return -1;
	for (size_t i = 0; i < nr && c->nr < c->most; i++) {
		if (read_value(c, values + i * VALUE_BYTES, &word, &tag))
			return -1;
		if (tag == TAG_TENSOR && add_tensor(c, word, position, (uint32_t)i))
			return -1;
	}
	return 0;
}

/* Whether it can be read as a list of tensors, one of which was seen outside of a list. */
static int is_list_of_tensors(struct collection *c, const void *list)
{
	const char *values;
	const void *word;
	uint32_t tag;
	size_t nr;

	if (!list || read_list(c, list, &values, &nr))
		return 0;
	for (size_t i = 0; i < nr && i < MOST_TRIED_ITEMS; i++)
		if (read_value(c, values + i * VALUE_BYTES, &word, &tag) || tag > TAG_TENSOR ||
		    (tag == TAG_TENSOR && add_tensor(c, word, 0, (uint32_t)i)))
			return 0;
	for (uint32_t i = 0; i < c->nr; i++)
		if (is_recent(c->out[i].address))
			return 1;
	return 0;
}

/*
 * Which tag lists have differs between releases.  It is the one under which something can be read
 * as a list of tensors, one of which has a storage that was seen outside of a list.  Lists of
 * numbers have it as well, and are tried in vain.
 */
static void try_list(const struct collection *of, const void *list, uint32_t tag)
{
	struct vt_operator_address found[MOST_TRIED_ITEMS];
	struct collection c = {
		.layout = of->layout, .out = found, .most = MOST_TRIED_ITEMS, .is_checked = 1
	};
	uint32_t unproven = 0;

	if (is_list_of_tensors(&c, list))
		__atomic_compare_exchange_n(&g.list_tag, &unproven, tag, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	else if (add_one(&g.nr_list_tries) >= MOST_LIST_TRIES)
		__atomic_compare_exchange_n(&g.list_tag, &unproven, NO_LIST_TAG, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Lists are tried where values are counted: what is written then has room for as many. */
static int add_if_list(struct collection *c, const void *word, uint32_t tag, uint32_t position)
{
	if (tag < FIRST_LIST_TAG || tag > LAST_LIST_TAG || c->is_checked)
		return 0;
	if (!known_list_tag() && !c->out)
		try_list(c, word, tag);
	return known_list_tag() == tag ? add_list(c, word, position) : 0;
}

static int add_values(struct collection *c, const void *values, size_t nr)
{
	const void *word;
	uint32_t tag;

	for (size_t i = 0; i < nr; i++) {
		if (read_value(c, (const char *)values + i * VALUE_BYTES, &word, &tag))
			return -1;
		if (tag == TAG_TENSOR ? add_tensor(c, word, (uint32_t)i, 0)
				      : add_if_list(c, word, tag, (uint32_t)i))
			return -1;
	}
	return 0;
}

static int add_inputs(struct collection *c, const void *call, uint64_t *nr)
{
	const void *values;

	if (read_pointer(c, call, c->layout->inputs, &values) ||
	    read_bytes(c, nr, call, c->layout->inputs + sizeof(void *), sizeof(*nr)) ||
	    *nr > MOST_VALUES)
		return -1;
	return add_values(c, values, *nr);
}

static int add_outputs(struct collection *c, const void *call, size_t *nr)
{
	const void *begin, *end;

	if (read_pointer(c, call, c->layout->outputs, &begin) ||
	    read_pointer(c, call, c->layout->outputs + sizeof(void *), &end) ||
	    count_values(begin, end, MOST_VALUES, nr))
		return -1;
	return add_values(c, begin, *nr);
}

/* Once: what is settled stays. */
static void settle(enum vt_torch_layout layout, uint32_t number)
{
	uint32_t unproven = VT_TORCH_LAYOUT_UNPROVEN;

	__atomic_compare_exchange_n(&g.layout, &unproven, (uint32_t)layout | number << LAYOUT_BITS,
				    0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void settle_if_proven(uint32_t number)
{
	struct proof *proof = &g.proofs[number];

	if (__atomic_load_n(&proof->right_inputs, __ATOMIC_RELAXED) >= ENOUGH_INPUTS &&
	    __atomic_load_n(&proof->right_outputs, __ATOMIC_RELAXED) >= ENOUGH_OUTPUTS)
		settle(VT_TORCH_LAYOUT_PROVEN, number);
}

static int is_refused(uint32_t number)
{
	return __atomic_load_n(&g.proofs[number].wrong_inputs, __ATOMIC_RELAXED) >= MOST_WRONG;
}

static void try_inputs(uint32_t number, const void *call, uint64_t nr_inputs)
{
	struct vt_operator_address found[16];
	struct collection c = {
		.layout = &layouts[number], .out = found, .most = 16, .is_checked = 1
	};
	struct proof *proof = &g.proofs[number];
	uint64_t block = __atomic_load_n(&proof->block, __ATOMIC_RELAXED), nr = 0;

	if (add_inputs(&c, call, &nr) || nr != nr_inputs) {
		add_one(&proof->wrong_inputs);
		return;
	}
	for (uint32_t i = 0; block && i < c.nr; i++)
		if (found[i].address == block) {
			add_one(&proof->right_inputs);
			settle_if_proven(number);
			return;
		}
}

void vt_torch_values_try_inputs(const void *call, uint64_t nr_inputs)
{
	uint32_t nr_refused = 0;

	for (uint32_t i = 0; i < NR_LAYOUTS; i++)
		if (is_refused(i))
			nr_refused++;
		else
			try_inputs(i, call, nr_inputs);
	if (nr_refused == NR_LAYOUTS)
		settle(VT_TORCH_LAYOUT_OTHER, 0);
}

static void try_outputs(uint32_t number, const void *call, uint64_t block)
{
	struct vt_operator_address found;
	struct collection c = {
		.layout = &layouts[number], .out = &found, .most = 1, .is_checked = 1
	};
	size_t nr = 0;

	if (add_outputs(&c, call, &nr) || nr != 1 || c.nr != 1 || found.address != block)
		return;
	__atomic_store_n(&g.proofs[number].block, block, __ATOMIC_RELAXED);
	add_one(&g.proofs[number].right_outputs);
	settle_if_proven(number);
}

void vt_torch_values_try_outputs(const void *call, uint64_t block)
{
	if (!block)
		return;
	for (uint32_t i = 0; i < NR_LAYOUTS; i++)
		if (!is_refused(i))
			try_outputs(i, call, block);
	if (add_one(&g.nr_tries) >= MOST_TRIES)
		settle(VT_TORCH_LAYOUT_OTHER, 0);
}

static const struct layout *proven_layout(void)
{
	return &layouts[__atomic_load_n(&g.layout, __ATOMIC_RELAXED) >> LAYOUT_BITS];
}

uint32_t vt_torch_values_inputs(const void *call, struct vt_operator_address *out, uint32_t most)
{
	struct collection c = { .layout = proven_layout(), .out = out, .most = most };
	uint64_t nr;

	add_inputs(&c, call, &nr);
	return c.nr;
}

uint32_t vt_torch_values_outputs(const void *call, struct vt_operator_address *out, uint32_t most)
{
	struct collection c = { .layout = proven_layout(), .out = out, .most = most };
	size_t nr;

	add_outputs(&c, call, &nr);
	return c.nr;
}
