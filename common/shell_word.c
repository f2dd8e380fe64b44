/* SPDX-License-Identifier: MIT */
#include "common/shell_word.h"

#include <string.h>

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

/* Those of ASCII, and U+0080 to U+009F in UTF-8: U+009B drives a terminal as ESC [ does. */
static int is_control(const unsigned char *c)
{
	return *c < ' ' || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f);
}

static enum quoting find_quoting(const char *name)
{
	enum quoting quoting = *name ? QUOTING_NONE : QUOTING_SINGLE;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		if (is_control(c))
			return QUOTING_ANSI_C;
		if (!is_plain(*c))
			quoting = QUOTING_SINGLE;
	}
	return quoting;
}

static void add(struct word *word, const char *text)
{
	for (; *text && word->len + 1 < word->size; text++)
		word->bytes[word->len++] = *text;
}

static void add_byte(struct word *word, const unsigned char *c, enum quoting quoting, int is_octal)
{
	char text[5] = { (char)*c };

	if (is_octal) {
		text[0] = '\\';
		text[1] = (char)('0' + (*c >> 6));
		text[2] = (char)('0' + (*c >> 3 & 7));
		text[3] = (char)('0' + (*c & 7));
	} else if (quoting == QUOTING_ANSI_C && (*c == '\'' || *c == '\\')) {
		text[0] = '\\';
		text[1] = (char)*c;
	} else if (quoting == QUOTING_SINGLE && *c == '\'') {
		memcpy(text, "'\\''", sizeof(text));
	}
	add(word, text);
}

char *vt_shell_word_write(char *bytes, size_t size, const char *name)
{
	struct word word = { bytes, 0, size };
	enum quoting quoting = find_quoting(name);
	int nr_octal = 0;

	/* What begins with a dash would be taken for an option. */
	if (*name == '-')
		add(&word, "./");
	if (quoting != QUOTING_NONE)
		add(&word, quoting == QUOTING_ANSI_C ? "$'" : "'");
	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		if (is_control(c))
			nr_octal = *c == 0xc2 ? 2 : 1;
		add_byte(&word, c, quoting, nr_octal > 0);
		nr_octal -= nr_octal > 0;
	}
	if (quoting != QUOTING_NONE)
		add(&word, "'");
	bytes[word.len] = '\0';
	return bytes;
}
