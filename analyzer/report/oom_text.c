/* SPDX-License-Identifier: MIT */
#include "analyzer/report/oom.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"
#include "analyzer/model/when.h"
#include "analyzer/report/owner_table.h"
#include "analyzer/report/report_sections.h"

/* Of the request: the innermost tell who asked, the rest is the interpreter. */
#define MAX_FRAMES 12
/* Of blocks beside free bytes; `vtrace frag` has all. */
#define MAX_PLACES 3
/* Of the requests before the last one. */
#define MAX_FAILURES 8

static void print_lines(struct vt_lines lines, unsigned max, const char *indent, FILE *out)
{
	for (unsigned i = 0; i < lines.nr && i < max; i++)
		fprintf(out, "%s%s\n", indent, lines.text[i]);
	if (lines.nr > max)
		fprintf(out, "%s... %u more (--all-frames)\n", indent, lines.nr - max);
	vt_lines_free(&lines);
}

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

/* One sentence. */
static void print_cause(const struct vt_oom *oom, FILE *out)
{
	uint64_t cached = oom->oom->reserved_bytes - oom->oom->allocated_bytes;
	uint64_t all = cached + oom->device_free_bytes;
	char a[VT_UNITS_MAX], b[VT_UNITS_MAX];

	fputs("  cause           ", out);
	switch (oom->cause) {
	case VT_OOM_FRAGMENTATION:
		fprintf(out,
			"fragmentation: %s are free, %s of that in segments with live blocks\n",
			vt_units_bytes(a, sizeof(a), all), vt_units_bytes(b, sizeof(b), cached));
		break;
	case VT_OOM_CAPACITY:
		fprintf(out,
			"capacity: with %s more memory on the device it would have succeeded\n",
			vt_units_bytes(a, sizeof(a), oom->missing_bytes));
		break;
	case VT_OOM_OTHERS:
		fprintf(out, "other processes use %s of the device\n",
			vt_units_bytes(a, sizeof(a), oom->books.other_bytes));
		break;
	case VT_OOM_LIMIT:
		fprintf(out,
			"a limit: the device had enough free memory (a memory fraction is set, or "
			"other processes took it in the meantime)\n");
		break;
	default:
		fprintf(out, "unknown: the size of the CUDA context is unknown\n");
		break;
	}
}

/* One unit per table; what is too small for it is said in its own. */
struct account_table {
	struct vt_report_unit unit;
	FILE *out;
};

static void line(const struct account_table *table, const char *name, uint64_t bytes,
		 const char *what)
{
	char figure[VT_REPORT_FIGURE_MAX], text[VT_UNITS_MAX];

	if (!bytes)
		return;
	vt_report_sections_figure(figure, table->unit, (double)bytes);
	fprintf(table->out, "  %-18s %8s %s  %s", name, figure, table->unit.name, what);
	if ((double)bytes < 0.005 * table->unit.bytes)
		fprintf(table->out, " (%s)", vt_units_bytes(text, sizeof(text), bytes));
	fputc('\n', table->out);
}

static struct vt_report_unit account_unit(const struct vt_oom *oom,
					  const struct vt_layout_account *account)
{
	uint64_t bytes[] = { account->too_small_bytes,    account->other_pool_bytes,
			     account->other_stream_bytes, account->private_pool_bytes,
			     account->unsplittable_bytes, account->serving_bytes,
			     oom->books.other_bytes };
	uint64_t largest = oom->device_free_bytes == UINT64_MAX ? 0 : oom->device_free_bytes;

	for (size_t i = 0; i < VT_ARRAY_SIZE(bytes); i++)
		largest = bytes[i] > largest ? bytes[i] : largest;
	return vt_report_sections_unit(largest);
}

static void print_account(const struct vt_oom *oom, const struct vt_frag_device *device, FILE *out)
{
	const struct vt_layout_account *account = &device->account;
	const struct vt_layout_totals *totals = &device->layout.totals;
	const struct account_table table = { account_unit(oom, account), out };
	char text[VT_UNITS_MAX], what[120];

	fputs("\nFREE MEMORY, AND WHY IT COULD NOT BE USED\n", out);
	snprintf(what, sizeof(what), "the largest piece is %s",
		 vt_units_bytes(text, sizeof(text), totals->largest_free_bytes));
	line(&table, "too small", account->too_small_bytes, what);
	line(&table, "other pool", account->other_pool_bytes,
	     "requests up to 1 MiB and larger ones use separate pools");
	line(&table, "other stream", account->other_stream_bytes, "large enough");
	line(&table, "private pool", account->private_pool_bytes,
	     "large enough, but kept for the replay of a CUDA graph");
	line(&table, "kept whole", account->unsplittable_bytes, "by max_split_size_mb");
	line(&table, "waiting for a stream", account->serving_bytes,
	     "large enough, but another stream released it too late");
	if (oom->device_free_bytes != UINT64_MAX) {
		snprintf(what, sizeof(what), "a new segment would take %s",
			 vt_units_bytes(text, sizeof(text), account->segment_bytes));
		line(&table, "free on device", oom->device_free_bytes, what);
	}
	if (oom->books.has_other)
		line(&table, "other processes", oom->books.other_bytes, "used by other processes");
}

static void print_pins(const struct vt_oom *oom, const struct vt_frag_device *device, FILE *out)
{
	size_t shown = device->pins.len < MAX_PLACES ? device->pins.len : MAX_PLACES;
	char pinned[VT_UNITS_MAX], size[VT_UNITS_MAX];

	if (oom->cause != VT_OOM_FRAGMENTATION || !shown)
		return;
	fprintf(out,
		"\nPINNED BY  top %zu of %zu call sites, by the free memory in segments with their "
		"live blocks\n",
		shown, device->pins.len);
	for (size_t i = 0; i < shown; i++) {
		const struct vt_frag_pin *pin = &device->pins.items[i];
		const struct vt_allocation *a = &oom->analysis->model.allocations[pin->allocation];
		struct vt_lines lines = vt_producer_lines(oom->describe, a);

		fprintf(out, "  %zu  %s beside %u block%s of %s, %s\n", i + 1,
			vt_units_bytes(pinned, sizeof(pinned), pin->pinned_bytes), pin->blocks,
			pin->blocks == 1 ? "" : "s",
			vt_units_bytes(size, sizeof(size), pin->size_bytes),
			vt_attribution_owner(&oom->analysis->attribution, pin->owner));
		print_lines(lines, MAX_PLACES, "       ", out);
	}
}

static void print_remedy(const struct vt_oom_remedy *remedy, FILE *out)
{
	char text[VT_UNITS_MAX];

	fprintf(out, "  %-34s ", remedy->text);
	if (remedy->is_on)
		fputs("already set\n", out);
	else if (remedy->is_served)
		fprintf(out, "succeeds; peak reserved until then %s\n",
			vt_units_bytes(text, sizeof(text), remedy->reserved_bytes));
	else if (remedy->failed_event)
		fprintf(out, "fails earlier, at event %" PRId64 "\n", remedy->failed_event);
	else
		fputs("does not help\n", out);
}

static void print_smaller(const struct vt_smaller *smaller, FILE *out)
{
	if (smaller->is_varying)
		fprintf(out, "  %-34s unknown: inputs vary, and those of this step were not seen\n",
			"a smaller batch");
	if (!smaller->batch)
		return;
	if (smaller->fits_batch)
		fprintf(out, "  batch %" PRIu64 " instead of %" PRIu64 "%*ssucceeds%s\n",
			smaller->fits_batch, smaller->batch, 8, "",
			smaller->has_whole_step ? ", as all of the steps before"
						: " for this request; the rest of the step was not "
						  "recorded and may need a smaller batch");
	else if (smaller->fits_length)
		fprintf(out,
			"  length %" PRIu64 " instead of %" PRIu64
			" succeeds; no batch below %" PRIu64 " does\n",
			smaller->fits_length, smaller->length, smaller->batch);
	else
		fputs("  no smaller batch or shorter sequence succeeds\n", out);
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

	fputs("\nWHAT WOULD HAVE AVOIDED IT  by replay", out);
	if (vt_replay_is_exact(recorded))
		fprintf(out, ", which reproduces all %u blocks and %u segment events\n",
			recorded->nr_blocks, recorded->nr_changes);
	else
		fprintf(out, ", which differs from the recording from event %" PRId64
			     " on: estimates\n",
			recorded->first_difference);
	for (int i = 0; i < VT_NR_REMEDIES; i++)
		print_remedy(&oom->remedies.items[i], out);
	print_reach(&oom->remedies, out);
	print_smaller(&oom->smaller, out);
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
	const struct vt_next_passes *next = &oom->next;
	struct vt_attribution *attribution = &oom->analysis->attribution;
	const char *what = next->is_decoding ? "token" : "batch";
	struct vt_lines lines;
	char text[VT_UNITS_MAX];

	if (!next->nr)
		return;
	lines = vt_producer_lines(oom->describe,
				  &oom->analysis->model.allocations[next->allocation]);
	fprintf(out, "\nEACH FURTHER %s  adds %s, by the last %u\n",
		next->is_decoding ? "TOKEN" : "BATCH",
		vt_units_bytes(text, sizeof(text), next->bytes_each), next->nr);
	fprintf(out, "  most of it       %s%s%s\n",
		vt_attribution_owner(attribution,
				     vt_attribution_judge(attribution, next->allocation).owner),
		lines.nr ? ", " : "", lines.nr ? lines.text[0] : "");
	fprintf(out, "  the free memory would suffice for %s%u more\n",
		next->more ? "at most " : "", next->more);
	if (!next->is_decoding)
		fprintf(out, "  results that are moved to the host (.cpu()) %s by %s add nothing\n",
			what, what);
	vt_lines_free(&lines);
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
	unsigned max = oom->describe->has_all_frames ? VT_FRAMES_MAX : MAX_FRAMES;
	const struct vt_frag_device *device = vt_oom_device(oom);
	const struct vt_owner_column owners = { .books = &oom->books };

	fprintf(out, " on cuda:%d", oom->oom->device);
	vt_peak_context_print(&oom->place, out);
	fputc('\n', out);
	print_request(oom, out);
	print_cause(oom, out);
	fprintf(out, "\n  stack of the request\n");
	print_lines(vt_producer_python(oom->describe, &oom->producer), max, "    ", out);
	print_lines(vt_describe_native(oom->describe, oom->oom->native_stack), max, "    ", out);
	fprintf(out, "\n  live at that moment\n");
	vt_owner_table_print(&owners, 1,
			     vt_report_sections_unit(vt_books_device_used(&oom->books)), out);
	print_kept(oom, out);
	if (device) {
		print_account(oom, device, out);
		print_pins(oom, device, out);
		print_remedies(oom, out);
		print_whole(oom, out);
	} else {
		fprintf(out, "\nnot replayed: %s\n", oom->unplayed.text);
	}
	print_next_passes(oom, out);
	print_failures(oom, out);
	fputc('\n', out);
}
