/* SPDX-License-Identifier: MIT */
#include "analyzer/html/beyond_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/html/markup.h"
#include "analyzer/report/context_section.h"
#include "analyzer/report/zero_reads.h"

static void print_contexts(const struct vt_report *report, FILE *out)
{
	for (uint32_t i = 0; i < report->nr_devices; i++)
		vt_context_section_print(report, &report->devices[i], out);
}

/* What a line holds never ends it. */
static void print_lines(char *text, FILE *out)
{
	char *rest = text;

	/* Blank ones part the sections of the report. */
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line) {
			vt_markup_text(out, line);
			fputc('\n', out);
		}
}

static void print_section(const struct vt_report *report, const char *id, const char *heading,
			  void (*print)(const struct vt_report *, FILE *), FILE *out)
{
	char *text = NULL;
	size_t len;
	FILE *lines = open_memstream(&text, &len);

	if (lines) {
		print(report, lines);
		fclose(lines);
	}
	if (text && *text) {
		fprintf(out, "<section id=\"%s\"><h2>%s</h2>\n<pre>", id, heading);
		print_lines(text, out);
		fputs("</pre></section>\n", out);
	}
	free(text);
}

void vt_beyond_blocks_zeros(const struct vt_report *report, FILE *out)
{
	print_section(report, "zeros", "Zeros read", vt_zero_reads_print, out);
}

void vt_beyond_blocks_context(const struct vt_report *report, FILE *out)
{
	print_section(report, "context", "Context", print_contexts, out);
}
