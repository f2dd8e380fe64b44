/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/extrapolation_print.h"

#include <math.h>

#include "analyzer/base/units.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

/* Rows of less are left out of the text. */
#define SHOWN 0x1p20

#define FORMAT 1

static const char same_order[] =
	"same operations in the same order; a loop over fixed-size chunks or micro-batches would "
	"iterate more often instead";

static const char *gib(char *buf, double bytes)
{
	snprintf(buf, VT_UNITS_MAX, "%.2f", bytes / VT_GIB);
	return buf;
}

static double context_of(const struct vt_extrapolation *x)
{
	return x->device->has_context ? (double)x->device->context_bytes : 0;
}

/* Tensors are not what fills a device: segments and the context are. */
static double need(const struct vt_extrapolation *x)
{
	return (double)x->played.peak_used_bytes + context_of(x);
}

static char *size_text(const struct vt_extrapolation *x, struct vt_scaling_size size)
{
	if (x->scalings.was.seq)
		return vt_xasprintf("%llu x %llu", (unsigned long long)size.batch,
				    (unsigned long long)size.seq);
	return vt_xasprintf("%llu rows", (unsigned long long)size.batch);
}

static const char *device_name(const struct vt_extrapolation *x, const struct vt_gpu *gpu)
{
	if (gpu)
		return gpu->name;
	return x->device->name ? x->device->name : "the recorded device";
}

static void print_fit(const struct vt_extrapolation *x, const struct vt_gpu *gpu, FILE *out)
{
	char b[VT_UNITS_MAX];

	if (!x->device_bytes)
		return;
	gib(b, (double)x->device_bytes);
	if (!x->is_served)
		fprintf(out, "%s: does not fit: out of memory on %s GiB (above: without a limit)\n",
			device_name(x, gpu), b);
	else if (x->unfinished)
		fprintf(out, "%s: what was recorded fits (%s GiB usable); unknown for the rest\n",
			device_name(x, gpu), b);
	else if (x->played.nr_retries)
		fprintf(out,
			"%s: fits: %s GiB usable, full %u time%s (cached segments are then "
			"released)\n",
			device_name(x, gpu), b, x->played.nr_retries,
			x->played.nr_retries == 1 ? "" : "s");
	else
		fprintf(out, "%s: fits: %s GiB usable\n", device_name(x, gpu), b);
}

static void print_sums(const struct vt_extrapolation *x, const struct vt_gpu *gpu, FILE *out)
{
	const struct vt_column columns[] = { { "PEAK", 0 }, { "recorded GiB", 1 }, { "GiB", 1 } };
	char b[2][VT_UNITS_MAX];
	struct vt_table table;

	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	vt_table_add(&table, (const char *[]){
				     "allocated", gib(b[0], (double)x->was.peak_allocated_bytes),
				     gib(b[1], (double)x->played.peak_allocated_bytes) });
	vt_table_add(&table, (const char *[]){ "reserved",
					       gib(b[0], (double)x->was.peak_reserved_bytes),
					       gib(b[1], (double)x->played.peak_reserved_bytes) });
	vt_table_add(&table,
		     (const char *[]){ "device, with the context",
				       gib(b[0], (double)x->was.peak_used_bytes + context_of(x)),
				       gib(b[1], need(x)) });
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
	print_fit(x, gpu, out);
}

static void print_rows(const struct vt_extrapolation *x, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "owner", 0 },	    { "recorded", 1 }, { "GiB", 1 }, { "blocks", 1 },
		{ "follows", 0 }, { "assumed", 0 },
	};
	char b[3][VT_UNITS_MAX];
	struct vt_table table;

	fputc('\n', out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < x->rows.len; i++) {
		const struct vt_extrapolation_row *row = &x->rows.items[i];

		if (fmax(row->bytes, row->was_bytes) < SHOWN)
			continue;
		vt_table_add(&table,
			     (const char *[]){ row->owner, gib(b[0], row->was_bytes),
					       gib(b[1], row->bytes),
					       vt_units_count(b[2], sizeof(b[2]), row->blocks),
					       vt_scaling_text(row->scaling),
					       vt_scaling_assumption(row->scaling) });
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
}

static void print_stages(const struct vt_extrapolation *x, FILE *out)
{
	static const struct vt_column columns[] = { { "STAGES", 0 }, { "recorded", 1 },
						    { "GiB", 1 } };
	char b[2][VT_UNITS_MAX];
	struct vt_table table;

	fputc('\n', out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (int i = 0; i < VT_NR_STAGES; i++)
		if (x->stages[i].was_bytes > 0)
			vt_table_add(&table, (const char *[]){ x->stages[i].name,
							       gib(b[0], x->stages[i].was_bytes),
							       gib(b[1], x->stages[i].bytes) });
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
}

/* All that a reader must know of the figures; NULL: nothing. */
static char *note_of(const struct vt_extrapolation *x)
{
	char *was = vt_scaling_size_note(x->analysis->attribution.facts, x->scalings.was), *both;

	if (!x->unfinished || !was)
		return x->unfinished ? vt_xstrdup(x->unfinished) : was;
	both = vt_xasprintf("%s; %s", was, x->unfinished);
	free(was);
	return both;
}

/* What fails already needs no more of the run; what does not may have failed behind its end. */
static json_t *fits(const struct vt_extrapolation *x)
{
	if (!x->device_bytes || (x->is_served && x->unfinished))
		return json_null();
	return json_boolean(x->is_served);
}

void vt_extrapolation_print_text(const struct vt_extrapolation *x, const struct vt_gpu *gpu,
				 FILE *out)
{
	char *was = size_text(x, x->scalings.was), *is = size_text(x, x->is);
	char *note = note_of(x);

	fprintf(out, "from %s: recorded with %s, scaled to %s\n",
		vt_db_shown_path(x->analysis->db), was, is);
	fprintf(out, "assumed: %s\n", same_order);
	if (note)
		fprintf(out, "note: %s\n", note);
	fputc('\n', out);
	print_sums(x, gpu, out);
	print_rows(x, out);
	print_stages(x, out);
	free(was);
	free(is);
	free(note);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *size_of(struct vt_scaling_size size)
{
	json_t *object = json_object();

	vt_json_set(object, "batch", size.batch);
	vt_json_set_if(object, "seq", size.seq, size.seq);
	return object;
}

static json_t *peak_of(const struct vt_extrapolation *x, const struct vt_replay *replay,
		       double tensors)
{
	json_t *object = json_object();

	vt_json_set(object, "tensor_bytes", vt_json_rounded(tensors));
	vt_json_set(object, "allocated_bytes",
		    vt_json_rounded((double)replay->peak_allocated_bytes));
	vt_json_set(object, "reserved_bytes", vt_json_rounded((double)replay->peak_reserved_bytes));
	vt_json_set(object, "device_bytes",
		    vt_json_rounded((double)replay->peak_used_bytes + context_of(x)));
	return object;
}

static json_t *rows_of(const struct vt_extrapolation *x)
{
	json_t *array = json_array();

	for (size_t i = 0; i < x->rows.len; i++) {
		const struct vt_extrapolation_row *row = &x->rows.items[i];
		json_t *object = vt_json_append_object(array);

		vt_json_set(object, "owner", row->owner);
		vt_json_set(object, "follows", vt_scaling_text(row->scaling));
		vt_json_set(object, "assumption", vt_scaling_assumption(row->scaling));
		vt_json_set(object, "recorded_bytes", vt_json_rounded(row->was_bytes));
		vt_json_set(object, "bytes", vt_json_rounded(row->bytes));
		vt_json_set(object, "blocks", row->blocks);
	}
	return array;
}

static json_t *stages_of(const struct vt_extrapolation *x)
{
	json_t *array = json_array();

	for (int i = 0; i < VT_NR_STAGES; i++) {
		json_t *object;

		if (x->stages[i].was_bytes <= 0)
			continue;
		object = json_object();
		vt_json_set(object, "name", x->stages[i].name);
		vt_json_set(object, "recorded_bytes", vt_json_rounded(x->stages[i].was_bytes));
		vt_json_set(object, "bytes", vt_json_rounded(x->stages[i].bytes));
		json_array_append_new(array, object);
	}
	return array;
}

void vt_extrapolation_print_json(const struct vt_extrapolation *x, const struct vt_gpu *gpu,
				 FILE *out)
{
	json_t *object = json_object();
	char *note = note_of(x);

	vt_json_set(object, "format", FORMAT);
	vt_json_set(object, "from", vt_db_path(x->analysis->db));
	vt_json_set(object, "assumption", same_order);
	vt_json_set(object, "note", note);
	free(note);
	vt_json_set(object, "recorded_size", size_of(x->scalings.was));
	vt_json_set(object, "size", size_of(x->is));
	vt_json_set(object, "recorded_peak", peak_of(x, &x->was, x->was_allocated));
	vt_json_set(object, "peak", peak_of(x, &x->played, x->allocated));
	vt_json_set(object, "owners", rows_of(x));
	vt_json_set(object, "stages", stages_of(x));
	vt_json_set(object, "gpu", device_name(x, gpu));
	vt_json_set_if(object, "usable_bytes", x->device_bytes, x->device_bytes);
	vt_json_set(object, "fits", fits(x));
	vt_json_set(object, "retries", x->played.nr_retries);
	vt_json_print(object, out);
}
