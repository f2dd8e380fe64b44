/* SPDX-License-Identifier: MIT */
/*
 * A code object is known by its address, and because it can be freed and its memory reused, by what
 * it points to and a few bytes of that.  Two levels: a small memory for the functions that run, a
 * table for all.
 */

#include "preload/python_code.h"

#include <stddef.h>
#include <string.h>

#include "common/generated_name.h"
#include "common/journal_format.h"
#include "preload/ids.h"
#include "preload/journal.h"
#include "preload/memo.h"
#include "preload/python_read.h"

#define TABLE_BITS   15 /* PyTorch programs run a few thousand functions */
#define LONGEST_FILE 4096
#define LONGEST_NAME 1024
#define LONGEST_TABLE                                                                              \
	(VT_RECORD_MAX_BYTES - sizeof(struct vt_python_code_record) - LONGEST_FILE - LONGEST_NAME)

/* The parts of a code object that a record is made of. */
struct code {
	const void *file;
	const void *name;
	const void *table;
	int64_t table_len;
	int32_t first_line;
};

/*
 * nn.Module._call_impl, since 2.1 within _wrapped_call_impl.  Each may get an id more than once
 * (two threads).
 */
#define CALL_NAME "_call_impl"
#define CALL_FILE "/torch/nn/modules/module.py"
#define MOST_CALLS 8

/* Where Jupyter's kernel says that a cell is: /tmp/ipykernel_PID/HASH.py. */
#define CELL_FOLDER "/ipykernel_"

static struct {
	struct vt_memo memo;
	struct vt_ids ids;
	uint32_t calls[MOST_CALLS];	/* atomic: ids, 0 = none */
	uint32_t nr_made;		/* atomic */
} g;

static struct code read_code(const struct vt_python_abi *abi, const void *address)
{
	struct code code = {
		.file = vt_python_read_pointer(address, abi->code_file),
		.name = vt_python_read_pointer(address, abi->code_qualname),
		.table = vt_python_read_pointer(address, abi->code_lines),
		.first_line = vt_python_read_int(address, abi->code_first_line),
	};

	if (code.table)
		code.table_len = vt_python_read_size(code.table, abi->bytes_length);
	return code;
}

/* Where the last eight bytes begin, or NULL where there are fewer. */
static const void *last_word(const void *begin, int64_t len)
{
	return len >= (int64_t)sizeof(uint64_t) ? (const char *)begin + len - sizeof(uint64_t)
						: NULL;
}

/*
 * Most names have no hash of CPython's until 3.12.  Such a one may have other characters the next
 * time: its watch is of a word that never says what it should, so that the function is looked at
 * anew once other code has been freed.  Whoever frees code has compiled it, which takes longer.
 */
static struct vt_watch watch_name(const struct vt_python_abi *abi, const void *name)
{
	static const uint64_t never = 0;
	struct vt_watch hash = vt_watch_of(name, abi->string_hash);

	return hash.what == VT_PYTHON_NO_HASH ? (struct vt_watch){ &never, 1 } : hash;
}

/* Of its characters, whether CPython has asked for one by now or not. */
static uint64_t hash_of(const struct vt_python_abi *abi, const void *name)
{
	char text[LONGEST_NAME];

	return vt_ids_key(text, vt_python_read_text(abi, name, text, sizeof(text))).low;
}

/*
 * Generated functions share their first lines and differ in their names, in a number at the end of
 * the file's name ("<eval_with_key>.12") and in their tables: those are compared too.  Each watch
 * that reads through a pointer comes after the one that holds it.
 */
static struct vt_memo_key watch(const struct vt_python_abi *abi, struct vt_code_cache_head *head,
				const void *address, const struct code *code)
{
	struct vt_watch *watch = head->watches;
	uint64_t file_word = 0, table_word = 0;
	uint64_t name_word = 0; /* hash of its characters */
	const void *end;

	*watch++ = vt_watch_of(address, abi->object_type);
	*watch++ = vt_watch_of(address, abi->code_file);
	*watch++ = vt_watch_of(address, abi->code_qualname);
	if (code->name) {
		*watch++ = watch_name(abi, code->name);
		name_word = hash_of(abi, code->name);
	}
	*watch++ = vt_watch_of(address, abi->code_lines);
	/* Two numbers of four bytes, with a neighbour each that never changes either. */
	*watch++ = vt_watch_of(address, abi->code_first_line);
	*watch++ = vt_watch_of(address, abi->code_arguments);
	if (code->file) {
		*watch++ = vt_watch_of(code->file, abi->string_length);
		/* Characters of more than a byte: inside them, which still distinguishes texts. */
		end = last_word((const char *)code->file + abi->string_ascii,
				vt_python_read_size(code->file, abi->string_length));
		if (end) {
			*watch = vt_watch_of(end, 0);
			file_word = watch++->what;
		}
	}
	if (code->table) {
		*watch++ = vt_watch_of(code->table, abi->bytes_length);
		end = last_word((const char *)code->table + abi->bytes_data, code->table_len);
		if (end) {
			*watch = vt_watch_of(end, 0);
			table_word = watch++->what;
		}
	}
	head->address = address;
	head->nr_watches = (uint32_t)(watch - head->watches);
	return (struct vt_memo_key){ {
		(uintptr_t)address,
		(uintptr_t)code->file,
		name_word,
		(uintptr_t)code->table,
		(uint64_t)code->table_len << 32 | (uint32_t)code->first_line,
		file_word,
		table_word,
	} };
}

static int ends_with(const char *text, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len >= end_len && !memcmp(text + len - end_len, end, end_len);
}

static void note_call(uint32_t id)
{
	for (int i = 0; i < MOST_CALLS; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&g.calls[i], &none, id, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
	}
}

static int is_call(uint32_t id)
{
	for (int i = 0; i < MOST_CALLS; i++) {
		uint32_t call = __atomic_load_n(&g.calls[i], __ATOMIC_RELAXED);

		if (!call || call == id)
			return call != 0;
	}
	return 0;
}

/* Whether a text of that length holds another. */
static int has_text(const char *text, size_t len, const char *wanted)
{
	return memmem(text, len, wanted, strlen(wanted)) != NULL;
}

static __attribute__((noinline)) uint32_t write_code(const struct vt_python_abi *abi,
						     const struct code *code)
{
	char file[LONGEST_FILE], name[LONGEST_NAME];
	size_t file_len = vt_python_read_text(abi, code->file, file, sizeof(file));
	size_t name_len = vt_python_read_text(abi, code->name, name, sizeof(name));
	size_t table_len = code->table_len > 0 ? (size_t)code->table_len : 0;
	struct vt_python_code_record *record;
	size_t bytes;
	uint64_t slot;
	uint32_t id;

	if (table_len > LONGEST_TABLE)
		table_len = LONGEST_TABLE;
	bytes = sizeof(*record) + file_len + name_len + table_len;
	record = vt_journal_reserve(bytes, &slot);
	if (!record)
		return 0;
	id = vt_ids_next(&g.ids);
	record->id = id;
	record->first_line = (uint32_t)code->first_line;
	record->python_minor = abi->minor;
	record->file_len = (uint32_t)file_len;
	record->name_len = (uint32_t)name_len;
	record->table_len = (uint32_t)table_len;
	memcpy(record->bytes, file, file_len);
	memcpy(record->bytes + file_len, name, name_len);
	if (table_len)
		memcpy(record->bytes + file_len + name_len,
		       (const char *)code->table + abi->bytes_data, table_len);
	vt_journal_commit(record, slot, bytes, VT_RECORD_PYTHON_CODE);
	if (ends_with(name, name_len, CALL_NAME) && ends_with(file, file_len, CALL_FILE))
		note_call(id);
	if (has_text(file, file_len, CELL_FOLDER) || vt_is_generated_name(file, file_len))
		__atomic_fetch_add(&g.nr_made, 1, __ATOMIC_RELAXED);
	return id;
}

static __attribute__((noinline)) uint32_t find_or_write(const struct vt_python_abi *abi,
							const struct code *code,
							const struct vt_memo_key *memo_key)
{
	struct vt_key key = vt_ids_key(memo_key, sizeof(*memo_key));
	uint32_t id = vt_ids_find(&g.ids, &key);

	if (!id) {
		id = write_code(abi, code);
		if (!id)
			return 0;
		vt_ids_publish(&g.ids, &key, id);
	}
	vt_memo_store(&g.memo, memo_key, id);
	return id;
}

static __attribute__((noinline)) void learn(const struct vt_python_abi *abi,
					    struct vt_cached_code *entry, const void *address)
{
	struct code code = read_code(abi, address);
	struct vt_memo_key key = watch(abi, &entry->head, address, &code);

	entry->nr_arguments = vt_python_read_int(address, abi->code_arguments);
	entry->id = vt_memo_find(&g.memo, &key);
	if (!entry->id)
		entry->id = find_or_write(abi, &code, &key);
	entry->is_call = (uint32_t)is_call(entry->id);
}

struct vt_cached_code *vt_python_code_look(const struct vt_python_abi *abi,
						 struct vt_code_cache *known, const void *address)
{
	struct vt_cached_code *entry = vt_code_cache_look(known, address);

	if (entry->head.address == address && vt_code_cache_is_fresh(known, &entry->head) &&
	    (entry->id || entry->head.walk == known->walk)) {
		entry->head.walk = known->walk;
		return entry;
	}
	if (entry->head.address != address || !entry->id ||
	    !vt_watch_are_same(entry->head.watches, entry->head.nr_watches)) {
		vt_code_cache_note_change(known, &entry->head);
		learn(abi, entry, address);
	}
	entry->head.walk = known->walk;
	entry->head.frees = known->frees;
	return entry;
}

uint32_t vt_python_code_nr_made(void)
{
	return __atomic_load_n(&g.nr_made, __ATOMIC_RELAXED);
}

int vt_python_code_reset(void)
{
	__atomic_store_n(&g.nr_made, 0, __ATOMIC_RELAXED);
	vt_memo_clear(&g.memo);
	memset(g.calls, 0, sizeof(g.calls));
	return vt_ids_reset(&g.ids, TABLE_BITS);
}
