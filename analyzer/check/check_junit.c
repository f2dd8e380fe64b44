/* SPDX-License-Identifier: MIT */
/*
 * For machines that know tests, not budgets: JUnit's XML (a test case per limit) and the workflow
 * commands of GitHub Actions.
 */
#include "analyzer/check/check.h"

#include <string.h>

#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"

struct escape {
	char from;
	const char *to;
};

/* XML 1.0 has no character below a blank but these; texts have none (printable.h), paths may. */
static const struct escape xml[] = {
	{ '&', "&amp;" }, { '<', "&lt;" },  { '>', "&gt;" }, { '"', "&quot;" },
	{ '\n', "&#10;" }, { 0, NULL },
};

/* https://docs.github.com/actions: toolkit's escapeData(), and escapeProperty() for the last two */
static const struct escape data[] = { { '%', "%25" }, { '\r', "%0D" }, { '\n', "%0A" },
				      { 0, NULL } };
static const struct escape property[] = { { '%', "%25" }, { '\r', "%0D" }, { '\n', "%0A" },
					  { ':', "%3A" }, { ',', "%2C" },  { 0, NULL } };

static void print_escaped(const struct escape *escapes, const char *text, FILE *out)
{
	for (; *text; text++) {
		const struct escape *escape = escapes;

		while (escape->to && escape->from != *text)
			escape++;
		if (escape->to)
			fputs(escape->to, out);
		else
			fputc(*text, out);
	}
}

void vt_check_print_xml(const char *text, FILE *out)
{
	print_escaped(xml, text, out);
}

/* The sentence, and the places below it; free(). */
static char *message_of(const struct vt_check_row *row)
{
	char *sentence = vt_check_sentence(row), text[VT_UNITS_MAX];
	struct vt_buffer buffer;

	vt_buffer_init(&buffer);
	vt_buffer_puts(&buffer, sentence);
	free(sentence);
	for (unsigned i = 0; i < row->contributors.nr; i++) {
		const struct vt_contributor *contributor = &row->contributors.items[i];

		vt_buffer_printf(&buffer, "\n%s %s",
				 vt_units_bytes(text, sizeof(text), contributor->bytes),
				 contributor->owner ? contributor->owner : "");
		if (contributor->what)
			vt_buffer_printf(&buffer, "\n  %s", contributor->what);
		for (unsigned j = 0; j < contributor->lines.nr; j++)
			vt_buffer_printf(&buffer, "\n  %s", contributor->lines.text[j]);
	}
	return vt_buffer_detach(&buffer);
}

/* Of a limit against another run, only what grew broke it. */
static int has_line(const struct vt_check_row *row)
{
	return row->contributors.nr && row->contributors.items[0].file &&
	       (!row->limit->amount.is_relative || row->contributors.are_grown ||
		row->limit->what == VT_LIMIT_GROWTH);
}

/* As the repository has it, where that is known: an annotation on another path is not shown. */
static char *path_of(const struct vt_check *check, const struct vt_contributor *contributor)
{
	char *path = check->options->links ?
			     vt_source_links_path(check->options->links, &check->measure.describe,
						  contributor->path) :
			     NULL;

	return path ? path : vt_xstrdup(contributor->file);
}

/* The line that broke it; the budget's own where no Python did, or none is known to have. */
void vt_check_print_annotation(const struct vt_check *check, const struct vt_check_row *row,
			       FILE *out)
{
	const char *label = check->options->label;
	const struct vt_contributor *first = has_line(row) ? &row->contributors.items[0] : NULL;
	char *message = message_of(row), *title, *path;

	title = vt_xasprintf("vtrace: %s%s%s", label ? label : "", label ? ": " : "",
			     row->limit->name);
	path = first ? path_of(check, first) : vt_xstrdup(check->options->budget->path);
	fprintf(out, "::%s file=", vt_check_is_warned(row) ? "warning" : "error");
	print_escaped(property, path, out);
	fprintf(out, ",line=%d,title=", first ? first->line : row->limit->line);
	print_escaped(property, title, out);
	fputs("::", out);
	print_escaped(data, message, out);
	fputc('\n', out);
	free(path);
	free(message);
	free(title);
}

void vt_check_print_github(const struct vt_check *check, FILE *out)
{
	for (unsigned i = 0; i < check->nr; i++)
		if (vt_check_is_failed(check, &check->rows[i]) ||
		    vt_check_is_warned(&check->rows[i]))
			vt_check_print_annotation(check, &check->rows[i], out);
}

void vt_check_print_case(const struct vt_check *check, const struct vt_check_row *row, FILE *out)
{
	int is_skipped = row->outcome == VT_OUTCOME_MISSING && !vt_check_is_failed(check, row);
	char *message = message_of(row), *sentence = vt_check_sentence(row);
	char *path = vt_printable_copy(check->options->budget->path);

	fputs("  <testcase classname=\"", out);
	print_escaped(xml, path, out);
	fputs("\" name=\"", out);
	if (check->options->label)
		fprintf(out, "%s: ", check->options->label);
	print_escaped(xml, row->limit->name, out);
	fputs("\"", out);
	if (vt_check_is_warned(row)) {
		fputs("><system-out>", out);
		print_escaped(xml, message, out);
		fputs("</system-out></testcase>\n", out);
	} else if (row->outcome == VT_OUTCOME_HELD) {
		fputs("/>\n", out);
	} else {
		fprintf(out, "><%s message=\"", is_skipped ? "skipped" : "failure");
		print_escaped(xml, sentence, out);
		fputs("\">", out);
		print_escaped(xml, message, out);
		fprintf(out, "</%s></testcase>\n", is_skipped ? "skipped" : "failure");
	}
	free(message);
	free(sentence);
	free(path);
}

void vt_check_print_junit(const struct vt_check *check, FILE *out)
{
	unsigned nr_skipped = 0;

	for (unsigned i = 0; i < check->nr; i++)
		nr_skipped += check->rows[i].outcome == VT_OUTCOME_MISSING &&
			      !vt_check_is_failed(check, &check->rows[i]);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out, "<testsuite name=\"vtrace check\" tests=\"%u\" failures=\"%u\" errors=\"0\""
		     " skipped=\"%u\">\n", check->nr, check->nr_broken, nr_skipped);
	for (unsigned i = 0; i < check->nr; i++)
		vt_check_print_case(check, &check->rows[i], out);
	fputs("</testsuite>\n", out);
}
