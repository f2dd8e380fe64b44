/* SPDX-License-Identifier: MIT */
#include "analyzer/html/markup.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/units.h"

/* The number of a character that must not act, 0 for all others; *bytes is how long it is. */
static unsigned hidden_character(const unsigned char *c, unsigned *bytes)
{
	unsigned number;

	*bytes = 3;
	if (c[0] == 0xd8 && c[1] == 0x9c) { /* Arabic letter mark */
		*bytes = 2;
		return 0x061c;
	}
	if ((c[0] != 0xe2 && c[0] != 0xef) || (c[1] & 0xc0) != 0x80 || (c[2] & 0xc0) != 0x80)
		return 0;
	number = (c[0] & 0x0fu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
	if ((number >= 0x200b && number <= 0x200f) || (number >= 0x2028 && number <= 0x202e) ||
	    (number >= 0x2060 && number <= 0x2069) || number == 0xfeff)
		return number;
	return 0;
}

void vt_markup_text(FILE *out, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	for (unsigned bytes; c && *c; c += bytes) {
		unsigned number = hidden_character(c, &bytes);

		if (number) {
			fprintf(out, "[U+%04X]", number);
			continue;
		}
		bytes = 1;
		switch (*c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*c < ' ' || *c == 0x7f ? '?' : *c, out);
		}
	}
}

void vt_markup_bytes(FILE *out, uint64_t bytes)
{
	char text[VT_UNITS_MAX];

	fprintf(out, "<data value=\"%" PRIu64 "\">%s</data>", bytes,
		vt_units_bytes(text, sizeof(text), bytes));
}

void vt_markup_caller(const char *line, FILE *out)
{
	if (!line)
		return;
	fputs("<p>called from <span class=\"line\">", out);
	vt_markup_text(out, line);
	fputs("</span></p>", out);
}
