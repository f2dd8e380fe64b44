/* SPDX-License-Identifier: MIT */
/*
 * Text of str objects (Include/cpython/unicodeobject.h).  Only compact strings are read: names in
 * code objects and types are never anything else.
 */

#include "preload/python_read.h"

#include "preload/utf8.h"

/* A string longer than this is no name of anything. */
#define MOST_CHARACTERS (1 << 20)

/*
 * Where `kind` begins in the state word: after the two-bit field `interned`, which is a whole byte
 * in the free-threaded 3.14 because it is changed atomically there.
 */
#define KIND_SHIFT	2
#define KIND_SHIFT_BYTE 8

struct string_state {
	unsigned int kind; /* bytes per character */
	int is_compact;
	int is_ascii;
};

static int read_state(uint32_t word, unsigned int shift, struct string_state *state)
{
	state->kind = word >> shift & 7;
	state->is_compact = word >> (shift + 3) & 1;
	state->is_ascii = word >> (shift + 4) & 1;
	if (!state->is_compact)
		return -1;
	return state->kind == 1 || state->kind == 2 || state->kind == 4 ? 0 : -1;
}

static uint32_t character(const char *data, unsigned int kind, size_t i)
{
	uint32_t wide;
	uint16_t narrow;

	switch (kind) {
	case 1:
		return (unsigned char)data[i];
	case 2:
		memcpy(&narrow, data + 2 * i, sizeof(narrow));
		return narrow;
	default:
		memcpy(&wide, data + 4 * i, sizeof(wide));
		return wide;
	}
}

size_t vt_python_read_text(const struct vt_python_abi *abi, const void *string, char *out,
			   size_t size)
{
	struct string_state state;
	size_t len, nr, i, used = 0;
	const char *data;
	uint32_t word;

	if (!string)
		return 0;
	word = (uint32_t)vt_python_read_int(string, abi->string_state);
	if (!(abi->is_free_threaded && read_state(word, KIND_SHIFT_BYTE, &state) == 0) &&
	    read_state(word, KIND_SHIFT, &state) < 0)
		return 0;
	len = (size_t)vt_python_read_size(string, abi->string_length);
	if (len > MOST_CHARACTERS)
		return 0;
	if (state.is_ascii) {
		if (len > size)
			len = size;
		memcpy(out, (const char *)string + abi->string_ascii, len);
		return len;
	}
	data = (const char *)string + abi->string_compact;
	for (i = 0; i < len; i++) {
		nr = vt_utf8_encode(character(data, state.kind, i), out + used, size - used);
		if (nr == 0)
			break;
		used += nr;
	}
	return used;
}
