/* SPDX-License-Identifier: MIT */
#include "analyzer/report/oom_rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"

/* Takes `text`. */
static struct vt_oom_row *add(struct vt_oom_rows *rows, const char *name, char *text)
{
	struct vt_oom_row row = { .name = vt_xstrdup(name), .text = text };

	vt_vector_push(rows, row);
	return &rows->items[rows->len - 1];
}

char *vt_oom_rows_cause(const struct vt_oom *oom)
{
	uint64_t cached = oom->oom->reserved_bytes - oom->oom->allocated_bytes;
	char a[VT_UNITS_MAX], b[VT_UNITS_MAX];

	switch (oom->cause) {
	case VT_OOM_FRAGMENTATION:
		return vt_xasprintf(
			"fragmentation: %s are free, %s of that in segments with live blocks",
			vt_units_bytes(a, sizeof(a), cached + oom->device_free_bytes),
			vt_units_bytes(b, sizeof(b), cached));
	case VT_OOM_CAPACITY:
		return vt_xasprintf(
			"capacity: with %s more memory on the device it would have succeeded",
			vt_units_bytes(a, sizeof(a), oom->missing_bytes));
	case VT_OOM_OTHERS:
		return vt_xasprintf("other processes use %s of the device",
				    vt_units_bytes(a, sizeof(a), oom->books.other_bytes));
	case VT_OOM_LIMIT:
		return vt_xstrdup(
			"a limit: the device had enough free memory (a memory fraction "
			"is set, or other processes took it in the meantime)");
	default:
		return vt_xstrdup("unknown: the size of the CUDA context is unknown");
	}
}

/* Takes `text`. */
static void add_free(struct vt_oom_rows *rows, const char *name, uint64_t bytes, char *text)
{
	if (bytes)
		add(rows, name, text)->bytes = bytes;
	else
		free(text);
}

void vt_oom_rows_free_memory(struct vt_oom_rows *rows, const struct vt_oom *oom)
{
	const struct vt_frag_device *device = vt_oom_device(oom);
	const struct vt_layout_account *account = &device->account;
	char text[VT_UNITS_MAX];

	vt_units_bytes(text, sizeof(text), device->layout.totals.largest_free_bytes);
	add_free(rows, "too small", account->too_small_bytes,
		 vt_xasprintf("the largest piece is %s", text));
	add_free(rows, "other pool", account->other_pool_bytes,
		 vt_xstrdup("requests up to 1 MiB and larger ones use separate pools"));
	add_free(rows, "other stream", account->other_stream_bytes, vt_xstrdup("large enough"));
	add_free(rows, "private pool", account->private_pool_bytes,
		 vt_xstrdup("large enough, but kept for the replay of a CUDA graph"));
	add_free(rows, "kept whole", account->unsplittable_bytes,
		 vt_xstrdup("by max_split_size_mb"));
	add_free(rows, "waiting for a stream", account->serving_bytes,
		 vt_xstrdup("large enough, but another stream released it too late"));
	vt_units_bytes(text, sizeof(text), account->segment_bytes);
	add_free(rows, "free on device",
		 oom->device_free_bytes == UINT64_MAX ? 0 : oom->device_free_bytes,
		 vt_xasprintf("a new segment would take %s", text));
	add_free(rows, "other processes", oom->books.has_other ? oom->books.other_bytes : 0,
		 vt_xstrdup("used by other processes"));
}

/* What comes of a setting; the caller frees it. */
static char *outcome_of(const struct vt_oom_remedy *remedy)
{
	char text[VT_UNITS_MAX];

	if (remedy->is_on)
		return vt_xstrdup("already set");
	if (remedy->is_served)
		return vt_xasprintf("succeeds; peak reserved until then %s",
				    vt_units_bytes(text, sizeof(text), remedy->reserved_bytes));
	if (remedy->failed_event)
		return vt_xasprintf("fails earlier, at event %" PRId64, remedy->failed_event);
	return vt_xstrdup("does not help");
}

static void add_remedy(struct vt_oom_rows *rows, const struct vt_oom_remedy *remedy)
{
	struct vt_oom_row *row = add(rows, remedy->text, outcome_of(remedy));

	row->is_setting = 1;
	row->succeeds = !remedy->is_on && remedy->is_served;
}

/* A whole step may need less than what the one request would get. */
static void add_batch(struct vt_oom_rows *rows, const struct vt_smaller *smaller,
		      const struct vt_whole_step *whole)
{
	int is_too_much = whole->has_most && whole->most_batch < smaller->fits_batch;
	char *name = vt_xasprintf("batch %" PRIu64 " instead of %" PRIu64, smaller->fits_batch,
				  smaller->batch);

	add(rows, name,
	    vt_xasprintf("succeeds%s", is_too_much ? " for this request, but no whole step fits"
				       : smaller->has_whole_step
					       ? ", as all of the steps before"
					       : " for this request; the rest of the step was "
						 "not recorded and may need a smaller batch"))
		->succeeds = !is_too_much;
	free(name);
}

static void add_length(struct vt_oom_rows *rows, const struct vt_smaller *smaller)
{
	char *name = vt_xasprintf("length %" PRIu64 " instead of %" PRIu64, smaller->fits_length,
				  smaller->length);

	add(rows, name, vt_xasprintf("succeeds; no batch below %" PRIu64 " does", smaller->batch))
		->succeeds = 1;
	free(name);
}

void vt_oom_rows_remedies(struct vt_oom_rows *rows, const struct vt_oom *oom)
{
	const struct vt_smaller *smaller = &oom->smaller;

	for (int i = 0; i < VT_NR_REMEDIES; i++)
		add_remedy(rows, &oom->remedies.items[i]);
	if (smaller->is_varying)
		add(rows, "a smaller batch",
		    vt_xstrdup("unknown: inputs vary, and those of this step were not seen"));
	if (!smaller->batch)
		return;
	if (smaller->fits_batch)
		add_batch(rows, smaller, &oom->whole);
	else if (smaller->fits_length)
		add_length(rows, smaller);
	else
		add(rows, "a smaller batch or length", vt_xstrdup("no size succeeds"));
}

void vt_oom_rows_next_passes(struct vt_oom_rows *rows, const struct vt_oom *oom)
{
	const struct vt_next_passes *next = &oom->next;
	struct vt_attribution *attribution = &oom->analysis->attribution;
	struct vt_lines lines;
	char text[VT_UNITS_MAX];

	if (!next->nr)
		return;
	vt_units_bytes(text, sizeof(text), next->bytes_each);
	add(rows, "adds", vt_xasprintf("%s, by the last %u", text, next->nr));
	lines = vt_producer_lines(oom->describe,
				  &oom->analysis->model.allocations[next->allocation]);
	add(rows, "most of it",
	    vt_xasprintf(
		    "%s%s%s",
		    vt_attribution_owner(attribution,
					 vt_attribution_judge(attribution, next->allocation).owner),
		    lines.nr ? ", " : "", lines.nr ? lines.text[0] : ""));
	vt_lines_free(&lines);
	add(rows, "free memory",
	    vt_xasprintf("suffices for %s%u more", next->more ? "at most " : "", next->more));
	if (!next->is_decoding)
		add(rows, "to avoid it",
		    vt_xstrdup("move results to the host (.cpu()) batch by batch"));
}

void vt_oom_rows_release(struct vt_oom_rows *rows)
{
	for (size_t i = 0; i < rows->len; i++) {
		free(rows->items[i].name);
		free(rows->items[i].text);
	}
	vt_vector_release(rows);
}
