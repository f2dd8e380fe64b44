/* SPDX-License-Identifier: MIT */
#include "analyzer/report/oom.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"
#include "analyzer/model/when.h"
#include "analyzer/output/lines.h"
#include "analyzer/report/oom_rows.h"
#include "analyzer/report/owner_table.h"
#include "analyzer/report/pins_print.h"
#include "analyzer/report/report_sections.h"

/* Of the request: the innermost tell who asked, the rest is the interpreter. */
#define MAX_FRAMES 12
/* Of blocks beside free bytes; `vtrace frag` has all. */
#define MAX_PLACES 3
/* Of the requests before the last one. */
#define MAX_FAILURES 8

static void print_request(const struct vt_oom *oom, FILE *out)
{
	const struct vt_device *device =
		vt_model_device(&oom->analysis->model, oom->oom->device);
	char *own_line = vt_producer_own_line(oom->describe, &oom->producer);
	char a[VT_UNITS_MAX], b[VT_UNITS_MAX], c[VT_UNITS_MAX];

	fprintf(out, "  requested       %s%s%s\n",
		vt_units_bytes(a, sizeof(a), oom->oom->requested_bytes), oom->owner ? " for " : "",
		oom->owner ? oom->owner : "");
	if (own_line)
		fprintf(out, "  by              %s\n", own_line);
	free(own_line);
	if (oom->device_free_bytes != UINT64_MAX)
		fprintf(out, "  free on device  %s of %s%s\n",
			vt_units_bytes(a, sizeof(a), oom->device_free_bytes),
			vt_units_bytes(b, sizeof(b), device->total_bytes),
			oom->books.has_context ? ""
					       : ", excluding the context, whose size is unknown");
	fprintf(out, "  reserved        %s (%s allocated, %s cached)\n",
		vt_units_bytes(a, sizeof(a), oom->oom->reserved_bytes),
		vt_units_bytes(b, sizeof(b), oom->oom->allocated_bytes),
		vt_units_bytes(c, sizeof(c), oom->oom->reserved_bytes - oom->oom->allocated_bytes));
	if (oom->nr_ooms > 1)
		fprintf(out, "  this is the last of %u failed requests, see below\n", oom->nr_ooms);
}

static void print_cause(const struct vt_oom *oom, FILE *out)
{
	char *cause = vt_oom_rows_cause(oom);

	fprintf(out, "  cause           %s\n", cause);
	free(cause);
}

/* One unit per table; what is too small for it is given in its own. */
static void print_free_memory(const struct vt_oom *oom, FILE *out)
{
	struct vt_oom_rows rows = { 0 };
	struct vt_report_unit unit;
	uint64_t largest = 0;

	fputs("\nFREE MEMORY, AND WHY IT COULD NOT BE USED\n", out);
	vt_oom_rows_free_memory(&rows, oom);
	for (size_t i = 0; i < rows.len; i++)
		largest = rows.items[i].bytes > largest ? rows.items[i].bytes : largest;
	unit = vt_report_sections_unit(largest);
	for (size_t i = 0; i < rows.len; i++) {
		const struct vt_oom_row *row = &rows.items[i];
		char figure[VT_REPORT_FIGURE_MAX], text[VT_UNITS_MAX];

		vt_report_sections_figure(figure, unit, (double)row->bytes);
		fprintf(out, "  %-18s %8s %s  %s", row->name, figure, unit.name, row->text);
		if ((double)row->bytes < 0.005 * unit.bytes)
			fprintf(out, " (%s)", vt_units_bytes(text, sizeof(text), row->bytes));
		fputc('\n', out);
	}
	vt_oom_rows_release(&rows);
}

/* One name and text per line, from row `first` on; releases them. */
static void print_rows(struct vt_oom_rows *rows, size_t first, int width, FILE *out)
{
	for (size_t i = first; i < rows->len; i++)
		fprintf(out, "  %-*s %s\n", width, rows->items[i].name, rows->items[i].text);
	vt_oom_rows_release(rows);
}

/* Of the allocator's settings; how far a smaller batch reaches, its own line says. */
static void print_reach(const struct vt_oom_remedies *remedies, FILE *out)
{
	for (int i = 0; i < VT_NR_REMEDIES; i++)
		if (!remedies->items[i].is_on && remedies->items[i].is_served) {
			fputs("  settings: for this request only; the rest of the run was not "
			      "recorded\n",
			      out);
			return;
		}
}

static void print_remedies(const struct vt_oom *oom, FILE *out)
{
	const struct vt_replay *recorded = &oom->remedies.recorded;
	struct vt_oom_rows rows = { 0 };

	fputs("\nWHAT WOULD HAVE AVOIDED IT  by replay", out);
	if (vt_replay_is_exact(recorded))
		fprintf(out, ", which reproduces all %u blocks and %u segment events\n",
			recorded->nr_blocks, recorded->nr_changes);
	else
		fprintf(out, ", which differs from the recording from event %" PRId64
			     " on: estimates\n",
			recorded->first_difference);
	vt_oom_rows_remedies(&rows, oom);
	print_rows(&rows, 0, 34, out);
	print_reach(&oom->remedies, out);
}

static void print_part(const char *name, uint64_t bytes, const char *what, FILE *out)
{
	char text[VT_UNITS_MAX];

	fprintf(out, "  %-18s %12s  %s\n", name, vt_units_bytes(text, sizeof(text), bytes), what);
}

static void print_states(const struct vt_whole_step *whole, FILE *out)
{
	char one[VT_UNITS_MAX], two[VT_UNITS_MAX];

	if (whole->state_bytes)
		return;
	fprintf(out,
		"  optimizer states   allocated in the first step: 0 (SGD), %s (momentum) or %s "
		"(Adam)\n",
		vt_units_bytes(one, sizeof(one), whole->parameter_bytes),
		vt_units_bytes(two, sizeof(two), 2 * whole->parameter_bytes));
}

static void print_whole(const struct vt_oom *oom, FILE *out)
{
	const struct vt_whole_step *whole = &oom->whole;
	char what[120];

	if (!whole->is_unseen)
		return;
	fputs("\nREST OF THIS STEP  estimated: no complete step with optimizer states was "
	      "recorded\n",
	      out);
	if (whole->nr_layers_left) {
		snprintf(what, sizeof(what),
			 "of %u of %u layers, at least: what the others keep for backward",
			 whole->nr_layers_left, whole->nr_layers);
		print_part("rest of forward", whole->layer_bytes, what, out);
	}
	if (whole->gradient_bytes)
		print_part("gradients", whole->gradient_bytes,
			   "of the parameters that require one", out);
	print_states(whole, out);
	if (!whole->has_most)
		return;
	if (whole->most_batch)
		fprintf(out,
			"  a whole step needs a batch of %" PRIu64 " or less; whether %" PRIu64
			" fits is unknown\n",
			whole->most_batch, whole->most_batch);
	else
		fputs("  no batch fits a whole step on this device\n", out);
}

static void print_next_passes(const struct vt_oom *oom, FILE *out)
{
	struct vt_oom_rows rows = { 0 };

	vt_oom_rows_next_passes(&rows, oom);
	if (rows.len)
		fprintf(out, "\nEACH FURTHER %s  %s %s\n",
			oom->next.is_decoding ? "TOKEN" : "BATCH", rows.items[0].name,
			rows.items[0].text);
	print_rows(&rows, 1, 16, out);
}

static int is_same(const struct vt_out_of_memory *x, const struct vt_out_of_memory *y)
{
	return x->requested_bytes == y->requested_bytes && x->device == y->device &&
	       x->python_stack == y->python_stack && x->native_stack == y->native_stack;
}

static void print_failure(const struct vt_oom *oom, const struct vt_out_of_memory *failed,
			  uint32_t times, FILE *out)
{
	struct vt_producer producer = vt_producer_of_failed(oom->describe->model, failed);
	struct vt_lines lines = vt_producer_python(oom->describe, &producer);
	char text[VT_UNITS_MAX];

	fprintf(out, "  event %-9" PRId64 " %11s", failed->event,
		vt_units_bytes(text, sizeof(text), failed->requested_bytes));
	if (lines.nr)
		fprintf(out, "  %s", lines.text[0]);
	if (times > 1)
		fprintf(out, "  (%u times in a row)", times);
	fputc('\n', out);
	vt_lines_free(&lines);
}

/* A program that catches the error tries again; equal ones in a row are one line. */
static void print_failures(const struct vt_oom *oom, FILE *out)
{
	const struct vt_model *model = &oom->analysis->model;
	uint32_t nr_lines = 0, times = 0;
	const struct vt_out_of_memory *first = NULL;

	if (oom->nr_ooms < 2)
		return;
	fprintf(out, "\nALL %u FAILED REQUESTS  live blocks: vtrace blocks FILE --at event:N\n",
		oom->nr_ooms);
	for (uint32_t i = 0; i < model->nr_ooms; i++) {
		if (oom->device != VT_WHEN_ALL_DEVICES && model->ooms[i].device != oom->device)
			continue;
		if (first && is_same(first, &model->ooms[i])) {
			times++;
			continue;
		}
		if (first && nr_lines++ < MAX_FAILURES)
			print_failure(oom, first, times, out);
		first = &model->ooms[i];
		times = 1;
	}
	if (nr_lines > MAX_FAILURES)
		fprintf(out, "  ... %u more\n", nr_lines - MAX_FAILURES);
	print_failure(oom, first, times, out);
}

/* Of a first forward: no finding can know whether this was to be trained. */
static void print_kept(const struct vt_oom *oom, FILE *out)
{
	char text[VT_UNITS_MAX];

	if (!oom->kept_bytes)
		return;
	fprintf(out,
		"\n  no backward pass ran yet, but autograd keeps %s for one: in training, use\n"
		"  activation checkpointing (vtrace explain finding:activations-kept); in\n"
		"  inference, torch.no_grad() or inference_mode()\n",
		vt_units_bytes(text, sizeof(text), oom->kept_bytes));
}

void vt_oom_print_text(const struct vt_oom *oom, FILE *out)
{
	static const char hint[] = " (--all-frames)";
	unsigned max = oom->describe->has_all_frames ? VT_FRAMES_MAX : MAX_FRAMES;
	const struct vt_frag_device *device = vt_oom_device(oom);
	const struct vt_owner_column owners = { .books = &oom->books };

	fprintf(out, " on cuda:%d", oom->oom->device);
	vt_peak_context_print(&oom->place, out);
	fputc('\n', out);
	print_request(oom, out);
	print_cause(oom, out);
	fprintf(out, "\n  stack of the request\n");
	vt_lines_print(vt_producer_python(oom->describe, &oom->producer), max, "    ", hint, out);
	vt_lines_print(vt_describe_native(oom->describe, oom->oom->native_stack), max, "    ", hint,
		       out);
	fprintf(out, "\n  live at that moment\n");
	vt_owner_table_print(&owners, 1,
			     vt_report_sections_unit(vt_books_device_used(&oom->books)), out);
	print_kept(oom, out);
	if (device) {
		print_free_memory(oom, out);
		if (oom->cause == VT_OOM_FRAGMENTATION)
			vt_pins_print(device, &oom->analysis->attribution, oom->describe,
				      MAX_PLACES, MAX_PLACES, out);
		print_remedies(oom, out);
		print_whole(oom, out);
	} else {
		fprintf(out, "\nnot replayed: %s\n", oom->unplayed.text);
	}
	print_next_passes(oom, out);
	print_failures(oom, out);
	fputc('\n', out);
}
