/* SPDX-License-Identifier: MIT */
#include "common/shell_word.h"

#include <string.h>

#include "common/character.h"

enum quoting { QUOTING_NONE, QUOTING_SINGLE, QUOTING_ANSI_C };

struct word {
	char *bytes;
	size_t len;
	size_t size;
};

static int is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c >= 0x80 || strchr("_-./:,+@%=", c);
}

static enum quoting find_quoting(const char *name)
{
	enum quoting quoting = *name ? QUOTING_NONE : QUOTING_SINGLE;
	int is_printable;

	for (const char *c = name; *c;) {
		unsigned len = vt_character_read(c, &is_printable);

		if (!is_printable)
			return QUOTING_ANSI_C;
		if (!is_plain((unsigned char)*c))
			quoting = QUOTING_SINGLE;
		c += len;
	}
	return quoting;
}

static void add(struct word *word, const char *text)
{
	for (; *text && word->len + 1 < word->size; text++)
		word->bytes[word->len++] = *text;
}

static void add_octal(struct word *word, unsigned char c)
{
	const char text[] = { '\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)),
			      (char)('0' + (c & 7)), '\0' };

	add(word, text);
}

static void add_byte(struct word *word, char c, enum quoting quoting)
{
	char text[5] = { c };

	if (quoting == QUOTING_ANSI_C && (c == '\'' || c == '\\')) {
		text[0] = '\\';
		text[1] = c;
	} else if (quoting == QUOTING_SINGLE && c == '\'') {
		memcpy(text, "'\\''", sizeof(text));
	}
	add(word, text);
}

char *vt_shell_word_write(char *bytes, size_t size, const char *name)
{
	struct word word = { bytes, 0, size };
	enum quoting quoting = find_quoting(name);

	/* What begins with a dash would be taken for an option. */
	if (*name == '-')
		add(&word, "./");
	if (quoting != QUOTING_NONE)
		add(&word, quoting == QUOTING_ANSI_C ? "$'" : "'");
	for (const char *c = name; *c;) {
		int is_printable;

		for (unsigned len = vt_character_read(c, &is_printable); len > 0; len--, c++) {
			if (is_printable)
				add_byte(&word, *c, quoting);
			else
				add_octal(&word, (unsigned char)*c);
		}
	}
	if (quoting != QUOTING_NONE)
		add(&word, "'");
	bytes[word.len] = '\0';
	return bytes;
}
