/* SPDX-License-Identifier: MIT */
#include "analyzer/html/oom_head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/html/answer.h"
#include "analyzer/html/markup.h"

#define MOST_FRAMES 8

static void print_cause(const struct vt_oom *oom, FILE *out)
{
	uint64_t cached = oom->oom->reserved_bytes - oom->oom->allocated_bytes;
	char a[VT_UNITS_MAX], b[VT_UNITS_MAX];

	switch (oom->cause) {
	case VT_OOM_FRAGMENTATION:
		fprintf(out, "Fragmentation: %s are free, %s of that in segments with live blocks.",
			vt_units_bytes(a, sizeof(a), cached + oom->device_free_bytes),
			vt_units_bytes(b, sizeof(b), cached));
		break;
	case VT_OOM_CAPACITY:
		fprintf(out, "Capacity: with %s more memory on the device it would have succeeded.",
			vt_units_bytes(a, sizeof(a), oom->missing_bytes));
		break;
	case VT_OOM_OTHERS:
		fprintf(out, "Other processes use %s of the device.",
			vt_units_bytes(a, sizeof(a), oom->books.other_bytes));
		break;
	case VT_OOM_LIMIT:
		fputs("A limit: the device had enough free memory (a memory fraction is set, or "
		      "other"
		      " processes took it in the meantime).",
		      out);
		break;
	default:
		fputs("The cause is unknown: the size of the CUDA context is unknown.", out);
	}
}

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
	print_cause(oom, out);
	fputs("</p>\n", out);
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

static void print_remedy(const struct vt_oom_remedy *remedy, FILE *out)
{
	char text[VT_UNITS_MAX];

	fprintf(out, "<tr class=\"%s\"><th scope=\"row\"><code>",
		!remedy->is_on && remedy->is_served ? "succeeds" : "");
	print_settings(remedy->text, out);
	fputs("</code><td>", out);
	if (remedy->is_on)
		fputs("already set", out);
	else if (remedy->is_served)
		fprintf(out, "succeeds; peak reserved until then %s",
			vt_units_bytes(text, sizeof(text), remedy->reserved_bytes));
	else if (remedy->failed_event)
		fprintf(out, "fails earlier, at event %" PRId64, remedy->failed_event);
	else
		fputs("does not help", out);
	fputc('\n', out);
}

/* `whole`: what a whole step needs, which may be less than the one request would get. */
static void print_smaller(const struct vt_smaller *smaller, const struct vt_whole_step *whole,
			  FILE *out)
{
	int is_too_much = whole->has_most && whole->most_batch < smaller->fits_batch;

	if (smaller->is_varying)
		fputs("<tr><th scope=\"row\">a smaller batch<td>unknown: inputs vary, and those of "
		      "this step were not seen\n",
		      out);
	if (!smaller->batch)
		return;
	if (smaller->fits_batch)
		fprintf(out,
			"<tr class=\"%s\"><th scope=\"row\">batch %" PRIu64 " instead of %" PRIu64
			"<td>succeeds%s\n",
			is_too_much ? "" : "succeeds", smaller->fits_batch, smaller->batch,
			is_too_much               ? " for this request, but no whole step fits"
			: smaller->has_whole_step ? ", as all of the steps before"
						  : " for this request; the rest of the step was "
						    "not recorded and may need a smaller batch");
	else if (smaller->fits_length)
		fprintf(out,
			"<tr class=\"succeeds\"><th scope=\"row\">length %" PRIu64
			" instead of %" PRIu64 "<td>succeeds; no batch below %" PRIu64 " does\n",
			smaller->fits_length, smaller->length, smaller->batch);
	else
		fputs("<tr><th scope=\"row\">a smaller batch or length<td>no size succeeds\n", out);
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

	fprintf(out, "<div><h3>What would have avoided it</h3><table class=\"plain remedies\">\n");
	for (int i = 0; i < VT_NR_REMEDIES; i++)
		print_remedy(&oom->remedies.items[i], out);
	print_smaller(&oom->smaller, &oom->whole, out);
	print_whole(&oom->whole, out);
	fprintf(out,
		"</table><p class=\"note\">By replay%s; settings: for this request "
		"only.</p></div>\n",
		is_exact ? " of the recorded requests"
			 : ", which differs from the recording: estimates");
}

static void print_free(FILE *out, const char *name, uint64_t bytes, const char *why)
{
	if (!bytes)
		return;
	fprintf(out, "<tr><th scope=\"row\">%s<td class=\"n\">", name);
	vt_markup_bytes(out, bytes);
	fprintf(out, "<td>%s\n", why);
}

static void print_account(const struct vt_oom *oom, const struct vt_frag_device *device, FILE *out)
{
	const struct vt_layout_account *account = &device->account;
	char text[VT_UNITS_MAX], why[96];

	fputs("<div><h3>Free memory, and why it could not be used</h3><table class=\"plain\">\n",
	      out);
	snprintf(why, sizeof(why), "the largest piece is %s",
		 vt_units_bytes(text, sizeof(text), device->layout.totals.largest_free_bytes));
	print_free(out, "too small", account->too_small_bytes, why);
	print_free(out, "other pool", account->other_pool_bytes,
		   "requests up to 1 MiB and larger ones use separate pools");
	print_free(out, "other stream", account->other_stream_bytes, "large enough");
	print_free(out, "private pool", account->private_pool_bytes,
		   "large enough, but kept for the replay of a CUDA graph");
	print_free(out, "kept whole", account->unsplittable_bytes, "by max_split_size_mb");
	print_free(out, "waiting for a stream", account->serving_bytes,
		   "large enough, but another stream released it too late");
	snprintf(why, sizeof(why), "a new segment would take %s",
		 vt_units_bytes(text, sizeof(text), account->segment_bytes));
	if (oom->device_free_bytes != UINT64_MAX)
		print_free(out, "free on device", oom->device_free_bytes, why);
	if (oom->books.has_other)
		print_free(out, "other processes", oom->books.other_bytes,
			   "used by other processes");
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
		print_account(oom, device, out);
	} else {
		fputs("<p>Not replayed: ", out);
		vt_markup_text(out, oom->unplayed.text);
		fputs("</p>\n", out);
	}
	fputs("</div>\n", out);
	if (oom->nr_ooms > 1)
		fprintf(out,
			"<p class=\"note\">This is the last of %u failed requests; each is a flag"
			" in the chart below.</p>\n",
			oom->nr_ooms);
	fputs("</section>\n", out);
}
