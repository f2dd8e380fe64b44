/* SPDX-License-Identifier: MIT */
#include "analyzer/import/python_lines.h"
#include "common/journal_format.h"

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
};

static uint32_t line_or_none(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Objects/lnotab_notes.txt of 3.9: pairs of (bytecode delta, signed line delta). */
static uint32_t find_in_lnotab(struct cursor c, uint32_t first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t start = 0;

	for (; c.end - c.at >= 2; c.at += 2) {
		start += c.at[0];
		if (start > offset)
			break;
		line += (signed char)c.at[1];
	}
	return line_or_none(line);
}

/* Objects/lnotab_notes.txt of 3.10: pairs of (length, signed line delta), delta -128 = no line. */
static uint32_t find_in_line_table(struct cursor c, uint32_t first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t end = 0;

	for (; c.end - c.at >= 2; c.at += 2) {
		int delta = (signed char)c.at[1];

		end += c.at[0];
		if (delta != -128)
			line += delta;
		if (offset < end)
			return delta == -128 ? 0 : line_or_none(line);
	}
	return 0;
}

/*
 * Six bits per byte, least significant first, bit 6 = more follows; the lowest bit of all is the
 * sign.
 */
static int64_t read_signed_varint(struct cursor *c)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	unsigned char byte;

	do {
		if (c->at == c->end || shift > 42)
			return 0;
		byte = *c->at++;
		value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Objects/locations.md: kinds of entries, in bits 3 to 6 of the first byte. */
enum {
	ENTRY_ONE_LINE_0 = 10,
	ENTRY_ONE_LINE_2 = 12,
	ENTRY_NO_COLUMNS = 13,
	ENTRY_LONG = 14,
	ENTRY_NONE = 15,
};

static uint32_t find_in_location_table(struct cursor c, uint32_t first_line, uint32_t offset)
{
	int64_t line = first_line;
	uint64_t end = 0;

	while (c.at < c.end) {
		unsigned int kind = *c.at >> 3 & 15;

		/* Lengths count code units of two bytes. */
		end += ((*c.at & 7u) + 1) * 2;
		c.at++;
		if (kind == ENTRY_LONG || kind == ENTRY_NO_COLUMNS)
			line += read_signed_varint(&c);
		else if (kind >= ENTRY_ONE_LINE_0 && kind <= ENTRY_ONE_LINE_2)
			line += kind - ENTRY_ONE_LINE_0;
		if (offset < end)
			return kind == ENTRY_NONE ? 0 : line_or_none(line);
		/* Only the first byte of an entry has the top bit. */
		while (c.at < c.end && !(*c.at & 128))
			c.at++;
	}
	return 0;
}

uint32_t vt_python_lines_find(unsigned int python_minor, const void *table, size_t table_len,
			      uint32_t first_line, uint32_t instruction_bytes)
{
	struct cursor c = { table, (const unsigned char *)table + table_len };

	if (!table_len || instruction_bytes == VT_PYTHON_NO_INSTRUCTION)
		return line_or_none(first_line);
	if (python_minor >= 11)
		return find_in_location_table(c, first_line, instruction_bytes);
	if (python_minor == 10)
		return find_in_line_table(c, first_line, instruction_bytes);
	return find_in_lnotab(c, first_line, instruction_bytes);
}
