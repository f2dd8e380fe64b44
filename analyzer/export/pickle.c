/* SPDX-License-Identifier: MIT */
#include "analyzer/export/pickle.h"

#include <jansson.h>
#include <string.h>

#include "analyzer/output/json.h"

#define PROTOCOL 4

/* Their names in Python's pickle.py. */
enum opcode {
	MARK = '(',
	STOP = '.',
	BINFLOAT = 'G',
	BININT = 'J',
	BININT1 = 'K',
	BININT2 = 'M',
	BINUNICODE = 'X',
	EMPTY_LIST = ']',
	APPENDS = 'e',
	BINGET = 'h',
	LONG_BINGET = 'j',
	SETITEMS = 'u',
	EMPTY_DICT = '}',
	PROTO = 0x80,
	TUPLE2 = 0x86,
	NEWTRUE = 0x88,
	NEWFALSE = 0x89,
	LONG1 = 0x8a,
	SHORT_BINUNICODE = 0x8c,
	MEMOIZE = 0x94,
};

static void put(struct vt_pickle *pickle, enum opcode opcode)
{
	putc_unlocked((int)opcode, pickle->out);
}

static void put_bytes(struct vt_pickle *pickle, uint64_t value, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		putc_unlocked((int)(value >> (8 * i) & 0xff), pickle->out);
}

void vt_pickle_begin(struct vt_pickle *pickle, FILE *out)
{
	*pickle = (struct vt_pickle){ .out = out };
	put(pickle, PROTO);
	put_bytes(pickle, PROTOCOL, 1);
}

void vt_pickle_end(struct vt_pickle *pickle)
{
	put(pickle, STOP);
}

/* The fewest bytes of two's complement. */
static void put_long(struct vt_pickle *pickle, int64_t value)
{
	unsigned nr = 1;

	while (nr < 8 && value >> (8 * nr - 1) != 0 && value >> (8 * nr - 1) != -1)
		nr++;
	put(pickle, LONG1);
	put_bytes(pickle, nr, 1);
	put_bytes(pickle, (uint64_t)value, nr);
}

void vt_pickle_int(struct vt_pickle *pickle, int64_t value)
{
	if (value >= 0 && value <= UINT8_MAX) {
		put(pickle, BININT1);
		put_bytes(pickle, (uint64_t)value, 1);
	} else if (value >= 0 && value <= UINT16_MAX) {
		put(pickle, BININT2);
		put_bytes(pickle, (uint64_t)value, 2);
	} else if (value >= INT32_MIN && value <= INT32_MAX) {
		put(pickle, BININT);
		put_bytes(pickle, (uint64_t)value, 4);
	} else {
		put_long(pickle, value);
	}
}

void vt_pickle_float(struct vt_pickle *pickle, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put(pickle, BINFLOAT);
	put_bytes(pickle, __builtin_bswap64(bits), 8);
}

void vt_pickle_bool(struct vt_pickle *pickle, int value)
{
	put(pickle, value ? NEWTRUE : NEWFALSE);
}

void vt_pickle_text(struct vt_pickle *pickle, const char *text)
{
	json_t *valid = vt_json_text(text ? text : "");
	size_t len = json_string_length(valid);

	put(pickle, len <= UINT8_MAX ? SHORT_BINUNICODE : BINUNICODE);
	put_bytes(pickle, len, len <= UINT8_MAX ? 1 : 4);
	fwrite(json_string_value(valid), 1, len, pickle->out);
	json_decref(valid);
}

void vt_pickle_pair(struct vt_pickle *pickle)
{
	put(pickle, TUPLE2);
}

void vt_pickle_dict(struct vt_pickle *pickle)
{
	put(pickle, EMPTY_DICT);
	put(pickle, MARK);
}

void vt_pickle_dict_end(struct vt_pickle *pickle)
{
	put(pickle, SETITEMS);
}

void vt_pickle_list(struct vt_pickle *pickle)
{
	put(pickle, EMPTY_LIST);
}

void vt_pickle_items(struct vt_pickle *pickle, struct vt_pickle_list *list)
{
	list->nr = 0;
	put(pickle, MARK);
}

void vt_pickle_item(struct vt_pickle *pickle, struct vt_pickle_list *list)
{
	if (list->nr++ < VT_PICKLE_BATCH)
		return;
	put(pickle, APPENDS);
	put(pickle, MARK);
	list->nr = 1;
}

void vt_pickle_items_end(struct vt_pickle *pickle)
{
	put(pickle, APPENDS);
}

uint32_t vt_pickle_memo(struct vt_pickle *pickle)
{
	put(pickle, MEMOIZE);
	return pickle->nr_memo++;
}

void vt_pickle_get(struct vt_pickle *pickle, uint32_t number)
{
	put(pickle, number <= UINT8_MAX ? BINGET : LONG_BINGET);
	put_bytes(pickle, number, number <= UINT8_MAX ? 1 : 4);
}
