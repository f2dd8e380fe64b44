/* SPDX-License-Identifier: MIT */
#include "analyzer/output/lines.h"

void vt_lines_print(struct vt_lines lines, unsigned most, const char *indent, const char *hint,
		    FILE *out)
{
	for (unsigned i = 0; i < lines.nr && i < most; i++)
		fprintf(out, "%s%s\n", indent, lines.text[i]);
	if (lines.nr > most)
		fprintf(out, "%s... %u more%s\n", indent, lines.nr - most, hint);
	vt_lines_free(&lines);
}
