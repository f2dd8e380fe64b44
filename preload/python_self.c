/* SPDX-License-Identifier: MIT */
/*
 * A method's first argument is its object, and the object's type has a name and its bases in
 * order.  Whether a type is one of the wanted is found out once and remembered under its address,
 * and, because classes can be freed and their memory reused, under those of its name and bases and
 * the beginning of the name.
 */

#include "preload/python_self.h"

#include <stddef.h>
#include <string.h>

#include "preload/intern.h"
#include "preload/memo.h"
#include "preload/python_read.h"

#define LONGEST_TYPE_NAME 256
#define MOST_BASES	  64
#define MOST_CELLS	  1024
#define NAME_BYTES	  16 /* that distinguish types of one address */
#define FLAG_HEAP_TYPE	  (1 << 9) /* Py_TPFLAGS_HEAPTYPE */

/* What is remembered for a type: the string id of its name, or this. */
#define NOT_WANTED UINT32_MAX

struct type {
	const char *name;
	const void *mro; /* tuple: the type, then its bases, nearest first */
	int64_t nr_bases; /* with itself */
};

static struct {
	struct vt_memo types;
} g;

static const void *base_at(const struct vt_python_abi *abi, const void *mro, int64_t index)
{
	return vt_python_read_pointer(mro, abi->tuple_items + (size_t)index * sizeof(void *));
}

static struct type read_type(const struct vt_python_abi *abi, const void *address)
{
	struct type type = {
		.name = vt_python_read_pointer(address, abi->type_name),
		.mro = vt_python_read_pointer(address, abi->type_mro),
	};

	if (type.mro)
		type.nr_bases = vt_python_read_size(type.mro, abi->tuple_length);
	return type;
}

/*
 * The eight bytes of the name that start `at` bytes from its beginning, cut at its end.  Read as
 * one aligned word where it is one, which may go beyond the end but never into another page.
 */
static uint64_t name_word(const char *name, size_t at)
{
	const uint64_t ones = 0x0101010101010101ull;
	uint64_t word = 0, ends;
	size_t i;

	name += at;
	if ((uintptr_t)name % sizeof(word)) {
		for (i = 0; i < sizeof(word) && name[i]; i++)
			word |= (uint64_t)(unsigned char)name[i] << 8 * i;
		return word;
	}
	memcpy(&word, __builtin_assume_aligned(name, sizeof(word)), sizeof(word));
	/* The lowest bit set is the top bit of the first zero byte. */
	ends = (word - ones) & ~word & ones << 7;
	return ends ? word & ((ends & -ends) - 1) : word;
}

static struct vt_memo_key key_of(const struct vt_python_abi *abi, const void *address,
				 const struct type *type)
{
	struct vt_memo_key key = { { (uintptr_t)address, (uintptr_t)type->name,
				     (uintptr_t)type->mro, (uint64_t)type->nr_bases } };

	if (type->nr_bases > 1)
		key.words[4] = (uintptr_t)base_at(abi, type->mro, 1);
	key.words[5] = name_word(type->name, 0);
	/* A full word: there is more. */
	if (key.words[5] >> 56)
		key.words[6] = name_word(type->name, sizeof(uint64_t));
	return key;
}

/*
 * The frameworks' own base classes; a class made in Python has its bare name.  Other libraries have
 * optimizers, too, of scales or of trials, but not at the root of their classes.
 */
static int is_wanted_base(const struct vt_python_abi *abi, const void *base)
{
	const struct type type = read_type(abi, base);

	return type.name && (strcmp(type.name, "Module") == 0 ||
			     (strcmp(type.name, "Optimizer") == 0 && type.nr_bases == 2));
}

static int is_wanted(const struct vt_python_abi *abi, const struct type *type)
{
	int64_t i;

	for (i = 0; i < type->nr_bases && i < MOST_BASES; i++) {
		const void *base = base_at(abi, type->mro, i);

		if (base && is_wanted_base(abi, base))
			return 1;
	}
	return 0;
}

/*
 * The string id of the type's name if the type is wanted, or NOT_WANTED.  0: the name found no
 * room, which it may the next time.
 */
static uint32_t wanted_name(const struct vt_python_abi *abi, const struct type *type,
			    const struct vt_memo_key *key)
{
	uint32_t id = vt_memo_find(&g.types, key);

	if (id)
		return id;
	id = NOT_WANTED;
	if (is_wanted(abi, type))
		id = vt_intern_string(type->name, strnlen(type->name, LONGEST_TYPE_NAME));
	if (id)
		vt_memo_store(&g.types, key, id);
	return id;
}

/* As much as name_word() reads of it, in aligned words, which never reach into another page. */
static struct vt_watch *watch_name(struct vt_watch *watch, const char *name)
{
	const char *end = name + strnlen(name, NAME_BYTES - 1) + 1;
	const char *word = name - (uintptr_t)name % sizeof(uint64_t);

	for (; word < end; word += sizeof(uint64_t))
		*watch++ = vt_watch_of(word, 0);
	return watch;
}

/* What key_of() has read, in its order. */
static void watch(const struct vt_python_abi *abi, struct vt_code_cache_head *head,
		  const void *address, const struct type *type)
{
	struct vt_watch *watch = head->watches;

	*watch++ = vt_watch_of(address, abi->type_flags);
	if (type->name) {
		*watch++ = vt_watch_of(address, abi->type_name);
		*watch++ = vt_watch_of(address, abi->type_mro);
		if (type->mro)
			*watch++ = vt_watch_of(type->mro, abi->tuple_length);
		if (type->nr_bases > 1)
			*watch++ = vt_watch_of(type->mro, abi->tuple_items + sizeof(void *));
		watch = watch_name(watch, type->name);
	}
	head->address = address;
	head->nr_watches = (uint32_t)(watch - head->watches);
}

/* Types that are not made in Python are dismissed without a look. */
static void learn(const struct vt_python_abi *abi, struct vt_cached_type *entry,
		  const void *address)
{
	struct type type = { 0 };
	uint32_t name = NOT_WANTED;
	struct vt_memo_key key;

	if (vt_python_read_size(address, abi->type_flags) & FLAG_HEAP_TYPE)
		type = read_type(abi, address);
	watch(abi, &entry->head, address, &type);
	if (type.name) {
		key = key_of(abi, address, &type);
		name = wanted_name(abi, &type, &key);
	}
	entry->name = name == NOT_WANTED ? 0 : name;
	entry->is_lost = !name;
}

struct vt_cached_type *vt_python_self_look(const struct vt_python_abi *abi,
						 struct vt_code_cache *known, const void *type)
{
	struct vt_cached_type *entry = vt_code_cache_type(known, type);

	if (entry->head.address == type && entry->head.walk == known->walk)
		return entry;
	if (entry->head.address != type || entry->is_lost ||
	    !vt_watch_are_same(entry->head.watches, entry->head.nr_watches)) {
		vt_code_cache_note_change(known, &entry->head);
		learn(abi, entry, type);
	}
	entry->head.walk = known->walk;
	return entry;
}

static const void *local_at(const struct vt_python_abi *abi, const void *frame, size_t index)
{
	uintptr_t bits = (uintptr_t)vt_python_read_pointer(
		frame, abi->frame_locals + index * sizeof(void *));

	return (const void *)(bits & ~(uintptr_t)VT_PYTHON_REFERENCE_TAG);
}

/*
 * Until 3.10 an argument that an inner function uses moves to a cell after the locals and leaves
 * NULL; the code object maps cells to arguments (co_cell2arg, one Py_ssize_t per cell, or NULL
 * where there is none).
 */
static const void *find_moved_argument(const struct vt_python_abi *abi, const void *frame,
				       const void *code)
{
	const void *arguments, *cells;
	int64_t nr, i;

	if (!abi->code_cell_arguments)
		return NULL;
	arguments = vt_python_read_pointer(code, abi->code_cell_arguments);
	cells = vt_python_read_pointer(code, abi->code_cells);
	if (!arguments || !cells)
		return NULL;
	nr = vt_python_read_size(cells, abi->tuple_length);
	for (i = 0; i < nr && i < MOST_CELLS; i++)
		if (vt_python_read_size(arguments, (size_t)i * sizeof(int64_t)) == 0)
			return local_at(abi, frame,
					(size_t)vt_python_read_int(code, abi->code_locals) +
						(size_t)i);
	return NULL;
}

struct vt_python_self vt_python_self_read(const struct vt_python *python, const void *frame,
					  const void *code)
{
	const struct vt_python_abi *abi = &python->abi;
	struct vt_python_self self = { .object = local_at(abi, frame, 0) };

	if (self.object) {
		self.where = VT_PYTHON_SELF_LOCAL;
	} else {
		self.object = find_moved_argument(abi, frame, code);
		self.where = abi->code_cell_arguments ? VT_PYTHON_SELF_MOVED : VT_PYTHON_SELF_NONE;
	}
	/* nn.Module._call_impl is the common case of an object in a cell. */
	if (self.object && vt_python_read_type(abi, self.object) == python->cell_type) {
		self.object = vt_python_read_pointer(self.object, abi->cell_content);
		if (self.where == VT_PYTHON_SELF_LOCAL)
			self.where = VT_PYTHON_SELF_CELL;
	}
	if (self.object)
		self.type = vt_python_read_type(abi, self.object);
	return self;
}

void vt_python_self_reset(void)
{
	vt_memo_clear(&g.types);
}
