/* SPDX-License-Identifier: MIT */
#include "tests/lib/pickle_builder.h"

#include <string.h>

void pickle_byte(struct pickle *p, unsigned opcode)
{
	char byte = (char)opcode;

	vt_buffer_append(&p->bytes, &byte, 1);
}

static void put(struct pickle *p, unsigned opcode, uint64_t number, unsigned len)
{
	pickle_byte(p, opcode);
	for (unsigned i = 0; i < len; i++)
		pickle_byte(p, number >> 8 * i & 0xff);
}

static void memoize(struct pickle *p)
{
	pickle_byte(p, 0x94);
	p->nr_memoized++;
}

void pickle_begin(struct pickle *p)
{
	memset(p, 0, sizeof(*p));
	put(p, 0x80, 4, 1);
	put(p, 0x95, 0, 8);
}

void pickle_end(struct pickle *p)
{
	pickle_byte(p, '.');
}

void pickle_release(struct pickle *p)
{
	vt_buffer_release(&p->bytes);
}

void pickle_text(struct pickle *p, const char *text)
{
	put(p, 0x8c, strlen(text), 1);
	vt_buffer_append(&p->bytes, text, strlen(text));
	memoize(p);
}

void pickle_number(struct pickle *p, int64_t number)
{
	if (number >= 0 && number < 256) {
		put(p, 'K', (uint64_t)number, 1);
	} else if (number >= INT32_MIN && number <= INT32_MAX) {
		put(p, 'J', (uint64_t)number, 4);
	} else {
		put(p, 0x8a, 8, 1);
		for (unsigned i = 0; i < 8; i++)
			pickle_byte(p, (uint64_t)number >> 8 * i & 0xff);
	}
}

void pickle_open(struct pickle *p, unsigned opcode)
{
	pickle_byte(p, opcode);
	memoize(p);
	pickle_byte(p, '(');
}

void pickle_close(struct pickle *p, unsigned opcode)
{
	pickle_byte(p, opcode);
}

void pickle_again(struct pickle *p, unsigned index)
{
	put(p, 'j', index, 4);
}
