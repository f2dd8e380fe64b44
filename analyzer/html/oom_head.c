/* SPDX-License-Identifier: MIT */
#include "analyzer/html/oom_head.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/html/answer.h"
#include "analyzer/html/markup.h"
#include "analyzer/model/producer.h"
#include "analyzer/report/oom_rows.h"
#include "analyzer/report/pins_print.h"

#define MOST_FRAMES 8
#define MOST_PINS   3

/* The line of the program that the request came from, with its text. */
static void print_own_line(const struct vt_page_head *head)
{
	const struct vt_oom *oom = &head->report->out_of_memory;
	struct vt_own_frame own = vt_producer_own_frame(oom->describe, &oom->producer);
	char *line = vt_producer_own_line(oom->describe, &oom->producer), *source;
	FILE *out = head->out;

	if (!line)
		return;
	source = vt_sources_line(head->sources, own.id);
	fputs("<p class=\"big line\">", out);
	vt_markup_text(out, line);
	if (source) {
		fputs("<code>", out);
		vt_markup_text(out, source);
		fputs("</code>", out);
	}
	fputs("</p>\n", out);
	free(source);
	free(line);
}

/* How much of what was requested, by which line, and why it failed. */
static void print_request(const struct vt_page_head *head)
{
	const struct vt_oom *oom = &head->report->out_of_memory;
	char *cause = vt_oom_rows_cause(oom);
	FILE *out = head->out;

	fputs("<p class=\"big\">Request of ", out);
	vt_markup_bytes(out, oom->oom->requested_bytes);
	if (oom->owner) {
		fputs(" for ", out);
		vt_markup_text(out, oom->owner);
	}
	fprintf(out, " failed on cuda:%d", oom->oom->device);
	fputs("</p>\n", out);
	print_own_line(head);
	fputs("<p>", out);
	cause[0] = (char)toupper((unsigned char)cause[0]);
	vt_markup_text(out, cause);
	fputs(".</p>\n", out);
	free(cause);
}

/* As far as the program's own line, however many of a library's are below it. */
static void print_stack(const struct vt_oom *oom, struct vt_sources *sources, FILE *out)
{
	struct vt_lines lines = vt_producer_python(oom->describe, &oom->producer);
	uint32_t ids[VT_FRAMES_MAX];
	unsigned nr = vt_describe_visible(oom->describe, oom->producer.python_stack, ids);
	uint32_t own_frame = vt_producer_own_frame(oom->describe, &oom->producer).id;
	unsigned own = VT_NO_INDEX;

	if (!lines.nr) {
		vt_lines_free(&lines);
		lines = vt_describe_native(oom->describe, oom->oom->native_stack);
		nr = 0;
	}
	for (unsigned i = 0; i < nr && own == VT_NO_INDEX; i++)
		if (ids[i] == own_frame)
			own = i;
	fputs("<ol class=\"stack\">", out);
	for (unsigned i = 0; i < lines.nr && (i < MOST_FRAMES || (own < nr && i <= own)); i++) {
		char *source = i < nr ? vt_sources_line(sources, ids[i]) : NULL;

		fprintf(out, "<li class=\"line%s\">", i == own ? " own" : "");
		vt_markup_text(out, lines.text[i]);
		if (source) {
			fputs("<br><code>", out);
			vt_markup_text(out, source);
			fputs("</code>", out);
		}
		free(source);
	}
	fputs("</ol>\n", out);
	vt_lines_free(&lines);
}

/* "first:1,second:2": a narrow column breaks them between two. */
static void print_settings(const char *text, FILE *out)
{
	for (const char *comma; (comma = strchr(text, ',')); text = comma + 1) {
		char *setting = vt_xstrndup(text, (size_t)(comma - text));

		vt_markup_text(out, setting);
		fputs(",<wbr>", out);
		free(setting);
	}
	vt_markup_text(out, text);
}

static void print_row(const struct vt_oom_row *row, FILE *out)
{
	fprintf(out, "<tr class=\"%s\"><th scope=\"row\">", row->succeeds ? "succeeds" : "");
	fputs(row->is_setting ? "<code>" : "", out);
	print_settings(row->name, out);
	fputs(row->is_setting ? "</code>" : "", out);
	if (row->bytes) {
		fputs("<td class=\"n\">", out);
		vt_markup_bytes(out, row->bytes);
	}
	fputs("<td>", out);
	vt_markup_text(out, row->text);
	fputc('\n', out);
}

/* Releases them. */
static void print_rows(struct vt_oom_rows *rows, FILE *out)
{
	for (size_t i = 0; i < rows->len; i++)
		print_row(&rows->items[i], out);
	vt_oom_rows_release(rows);
}

static void print_whole(const struct vt_whole_step *whole, FILE *out)
{
	if (whole->has_most && whole->most_batch)
		fprintf(out,
			"<tr><th scope=\"row\">batch %" PRIu64
			" or less<td>needed for a whole step; whether that is small enough is "
			"unknown\n",
			whole->most_batch);
	else if (whole->has_most)
		fputs("<tr><th scope=\"row\">a smaller batch<td>none fits a whole step on this"
		      " device\n",
		      out);
}

static void print_remedies(const struct vt_oom *oom, FILE *out)
{
	int is_exact = vt_replay_is_exact(&oom->remedies.recorded);
	struct vt_oom_rows rows = { 0 };

	fprintf(out, "<div><h3>What would have avoided it</h3><table class=\"plain remedies\">\n");
	vt_oom_rows_remedies(&rows, oom);
	print_rows(&rows, out);
	print_whole(&oom->whole, out);
	fprintf(out,
		"</table><p class=\"note\">By replay%s; settings: for this request "
		"only.</p></div>\n",
		is_exact ? " of the recorded requests"
			 : ", which differs from the recording: estimates");
}

static void print_free_memory(const struct vt_oom *oom, FILE *out)
{
	struct vt_oom_rows rows = { 0 };

	fputs("<div><h3>Free memory, and why it could not be used</h3><table class=\"plain\">\n",
	      out);
	vt_oom_rows_free_memory(&rows, oom);
	print_rows(&rows, out);
	fputs("</table></div>\n", out);
}

static void print_pins(const struct vt_oom *oom, const struct vt_frag_device *device, FILE *out)
{
	fputs("<div><h3>Blocks that pin free memory</h3><ol class=\"stack\">\n", out);
	for (size_t i = 0; i < device->pins.len && i < MOST_PINS; i++) {
		const struct vt_frag_pin *pin = &device->pins.items[i];
		char *summary = vt_pins_summary(pin, &oom->analysis->attribution);
		struct vt_producer producer = vt_producer_of(
			oom->describe->model, &oom->describe->model->allocations[pin->allocation]);
		char *line = vt_producer_first_line(oom->describe, &producer);

		fputs("<li>", out);
		vt_markup_text(out, summary);
		fputs("<br><span class=\"line\">", out);
		vt_markup_text(out, line ? line : "(no stack)");
		fputs("</span>\n", out);
		free(line);
		free(summary);
	}
	fputs("</ol></div>\n", out);
}

static void print_next_passes(const struct vt_oom *oom, FILE *out)
{
	struct vt_oom_rows rows = { 0 };

	vt_oom_rows_next_passes(&rows, oom);
	if (!rows.len)
		return;
	fprintf(out, "<div><h3>Each further %s</h3><table class=\"plain\">\n",
		oom->next.is_decoding ? "token" : "batch");
	print_rows(&rows, out);
	fputs("</table></div>\n", out);
}

/* A program that caught the error may have taken more later. */
static void print_higher(const struct vt_page_head *head)
{
	const struct vt_report_device *row = vt_report_fullest(head->report);
	const struct vt_oom *oom = &head->report->out_of_memory;
	const struct vt_report_moment *most = row ? vt_report_most_allocated(row) : NULL;

	if (!most || most->place.event <= oom->place.event)
		return;
	fputs("<p class=\"note\">The program continued, and tensors took more later: ", head->out);
	vt_markup_bytes(head->out, most->books.allocated_bytes);
	fputs(" in ", head->out);
	vt_answer_print_place(&most->place, head->out);
	fputs(".</p>\n", head->out);
}

void vt_oom_head_print(const struct vt_page_head *head)
{
	const struct vt_oom *oom = &head->report->out_of_memory;
	const struct vt_frag_device *device = vt_oom_device(oom);
	FILE *out = head->out;

	fputs("<section id=\"oom\">\n<h2>Out of memory</h2>\n", out);
	print_request(head);
	vt_answer_print_failed(head);
	print_higher(head);
	fputs("<div class=\"columns\"><div><h3>Where the request came from</h3>", out);
	print_stack(oom, head->sources, out);
	fputs("</div>\n", out);
	if (device) {
		print_remedies(oom, out);
		print_free_memory(oom, out);
		if (oom->cause == VT_OOM_FRAGMENTATION && device->pins.len)
			print_pins(oom, device, out);
	} else {
		fputs("<p>Not replayed: ", out);
		vt_markup_text(out, oom->unplayed.text);
		fputs("</p>\n", out);
	}
	print_next_passes(oom, out);
	fputs("</div>\n", out);
	if (oom->nr_ooms > 1)
		fprintf(out,
			"<p class=\"note\">This is the last of %u failed requests; each is a flag"
			" in the chart below.</p>\n",
			oom->nr_ooms);
	fputs("</section>\n", out);
}
