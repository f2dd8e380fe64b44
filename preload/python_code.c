/* SPDX-License-Identifier: MIT */
/*
 * A code object is known by its address, and because it can be freed and its memory reused, by what
 * it points to and a few bytes of that.  Two levels: a small memory for the functions that run, a
 * table for all.
 */

#include "preload/python_code.h"

#include <stddef.h>
#include <string.h>

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

static struct {
	struct vt_memo memo;
	struct vt_ids ids;
	uint32_t calls[MOST_CALLS];	/* atomic: ids, 0 = none */
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

/* The last eight bytes before `end`, or 0 where there are fewer. */
static uint64_t last_bytes(const void *begin, int64_t len)
{
	uint64_t word = 0;

	if (len >= (int64_t)sizeof(word))
		memcpy(&word, (const char *)begin + len - sizeof(word), sizeof(word));
	return word;
}

/*
 * Generated functions share their names and first lines and differ in a number at the end of the
 * file's name ("<eval_with_key>.12") and in their tables.
 */
static struct vt_memo_key key_of(const struct vt_python_abi *abi, const void *address,
				 const struct code *code)
{
	const uint64_t sizes = (uint64_t)code->table_len << 32 | (uint32_t)code->first_line;
	struct vt_memo_key key = { { (uintptr_t)address, (uintptr_t)code->file,
				     (uintptr_t)code->name, (uintptr_t)code->table, sizes } };
	int64_t file_len;

	if (code->file) {
		/*
		 * Characters of more than a byte: this is inside them, and still tells texts apart.
		 */
		file_len = vt_python_read_size(code->file, abi->string_length);
		key.words[5] = last_bytes((const char *)code->file + abi->string_ascii, file_len);
	}
	if (code->table)
		key.words[6] = last_bytes((const char *)code->table + abi->bytes_data,
					  code->table_len);
	return key;
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

int vt_python_code_is_call(uint32_t id)
{
	for (int i = 0; i < MOST_CALLS; i++) {
		uint32_t call = __atomic_load_n(&g.calls[i], __ATOMIC_RELAXED);

		if (!call || call == id)
			return call != 0;
	}
	return 0;
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

uint32_t vt_python_code_id(const struct vt_python_abi *abi, const void *address)
{
	struct code code = read_code(abi, address);
	struct vt_memo_key key = key_of(abi, address, &code);
	uint32_t id = vt_memo_find(&g.memo, &key);

	return id ? id : find_or_write(abi, &code, &key);
}

int vt_python_code_reset(void)
{
	vt_memo_clear(&g.memo);
	memset(g.calls, 0, sizeof(g.calls));
	return vt_ids_reset(&g.ids, TABLE_BITS);
}
