/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/run_comparison_print.h"

#include <math.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/output/json.h"
#include "analyzer/output/table.h"

/* Rows of less are left out of the text where they meet. */
#define SHOWN 0x1p20

static double percent(double planned, double measured)
{
	return measured > 0 ? 100 * (planned / measured - 1) : 0;
}

/* Images lengthen sequences, and vision alone has none. */
static int is_other_size(const struct vt_run_comparison *comparison)
{
	const struct vt_scaling_size *size = &comparison->measured.size;
	const struct vt_plan *plan = comparison->plan;

	return size->seq && !plan->model->image_tokens &&
	       (size->batch != (uint64_t)vt_plan_setting(plan, VT_SET_BATCH) ||
		size->seq != (uint64_t)vt_plan_setting(plan, VT_SET_SEQ));
}

/* What a reader must know before believing the figures; NULL behind the last one. */
static char *note_at(const struct vt_run_comparison *comparison, unsigned i)
{
	const struct vt_measured *measured = &comparison->measured;

	switch (i) {
	case 0:
		return measured->first_step == 1
			       ? vt_xstrdup(
					 "only one training step: the optimizer's states are "
					 "allocated at its end; the plan is for later steps")
			       : vt_xstrdup("");
	case 1:
		return measured->ended && !strcmp(measured->ended, "exit 0")
			       ? vt_xstrdup("")
			       : vt_xasprintf(
					 "the run did not end normally (%s): figures cover only "
					 "the part that ran",
					 measured->ended ? measured->ended : "unknown");
	case 2:
		return measured->nr_lost ? vt_xasprintf("%llu events were lost",
							(unsigned long long)measured->nr_lost) :
					   vt_xstrdup("");
	case 3:
		return is_other_size(comparison) ?
			       vt_xasprintf("its inputs are %llu x %llu tokens",
					    (unsigned long long)measured->size.batch,
					    (unsigned long long)measured->size.seq) :
			       vt_xstrdup("");
	case 4:
		return measured->weights_dtype
			       ? vt_xstrdup("")
			       : vt_xstrdup(
					 "the dtype of the weights is not in the recording and "
					 "is not compared");
	default:
		return NULL;
	}
}

static void print_signed(char *buf, double bytes)
{
	snprintf(buf, VT_UNITS_MAX, "%+.3f", bytes / VT_GIB);
}

static void print_plain(char *buf, double bytes)
{
	snprintf(buf, VT_UNITS_MAX, "%.3f", bytes / VT_GIB);
}

static void add_line(struct vt_table *table, const char *name, double planned, double measured,
		     const char *why)
{
	char b[4][VT_UNITS_MAX];

	print_plain(b[0], planned);
	print_plain(b[1], measured);
	print_signed(b[2], planned - measured);
	b[3][0] = '\0';
	if (measured >= SHOWN)
		snprintf(b[3], sizeof(b[3]), "%+.1f", percent(planned, measured));
	vt_table_add(table, (const char *[]){ name, b[0], b[1], b[2], b[3], why });
}

static void add_stage(struct vt_table *table, const struct vt_run_comparison *comparison,
		      const struct vt_run_comparison_stage *stage)
{
	char *name = vt_xasprintf("%s", stage->measured->name);

	add_line(table, name, stage->planned, (double)stage->measured->allocated_bytes,
		 vt_plan_stage_name(stage->stage));
	free(name);
	for (size_t i = 0; i < stage->rows.len; i++) {
		const struct vt_run_comparison_row *row = &stage->rows.items[i];
		char *why = vt_run_comparison_explain(comparison, row);

		if (!why && row->term)
			why = vt_xasprintf("%s", row->term->formula);
		name = vt_xasprintf("  %s", row->owner);
		if (fmax(row->planned, row->measured) >= SHOWN)
			add_line(table, name, row->planned, row->measured, why ? why : "");
		free(name);
		free(why);
	}
}

static void print_nearest(const struct vt_run_comparison *comparison, FILE *out)
{
	char b[VT_UNITS_MAX], word[32];

	if (!comparison->nr_changes)
		return;
	fprintf(out, "\nNEAREST PLAN ");
	for (unsigned i = 0; i < comparison->nr_changes; i++)
		fprintf(out, " --%s %s",
			vt_plan_settings_row(comparison->changes[i].id)->name,
			comparison->changes[i].value);
	print_plain(b, comparison->changed_peak);
	fprintf(out, ": %s GiB", b);
	for (unsigned i = 0; i < comparison->nr_changes; i++)
		fprintf(out, "%s--%s %s", i ? ", " : "; the plan has ",
			vt_plan_settings_row(comparison->changes[i].id)->name,
			vt_plan_settings_text(comparison->plan->settings, comparison->changes[i].id,
					      word, sizeof(word)));
	fputc('\n', out);
}

void vt_run_comparison_print_text(const struct vt_run_comparison *comparison, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "AGAINST", 0 }, { "planned", 1 },  { "measured", 1 },
		{ "differ", 1 },  { "%", 1 }, { "GiB, allocated; the term, or why", 0 },
	};
	struct vt_table table;
	char *note;

	fprintf(out, "against %s, %s\n", vt_db_shown_path(comparison->measured.analysis->db),
		comparison->measured.device->name ? comparison->measured.device->name : "?");
	for (unsigned i = 0; (note = note_at(comparison, i)); i++) {
		if (*note)
			fprintf(out, "note: %s\n", note);
		free(note);
	}
	fputc('\n', out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	add_line(&table, "peak", comparison->planned_peak, comparison->measured_peak, "");
	for (unsigned i = 0; i < comparison->nr_stages; i++)
		add_stage(&table, comparison, &comparison->stages[i]);
	vt_table_print(&table, out, 0);
	vt_table_release(&table);
	print_nearest(comparison, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const char *const reasons[] = {
	[VT_RUN_COMPARISON_MET] = "met",	[VT_RUN_COMPARISON_SETTING] = "setting",
	[VT_RUN_COMPARISON_ABSENT] = "absent", [VT_RUN_COMPARISON_STAYS] = "stays",
	[VT_RUN_COMPARISON_TERM] = "term",	[VT_RUN_COMPARISON_NO_TERM] = "no term",
	[VT_RUN_COMPARISON_OPTION] = "option",
};

static void set_pair(json_t *object, double planned, double measured)
{
	vt_json_set(object, "planned_bytes", vt_json_rounded(planned));
	vt_json_set(object, "measured_bytes", vt_json_rounded(measured));
	vt_json_set(object, "difference_bytes", vt_json_rounded(planned - measured));
}

static json_t *change_of(const struct vt_run_comparison_change *change)
{
	json_t *object = json_object();

	vt_json_set(object, "option", vt_plan_settings_row(change->id)->name);
	vt_json_set(object, "value", change->value);
	return object;
}

static json_t *row_of(const struct vt_run_comparison *comparison,
		      const struct vt_run_comparison_row *row)
{
	json_t *object = json_object();
	char *why = vt_run_comparison_explain(comparison, row);

	vt_json_set(object, "owner", row->owner);
	set_pair(object, row->planned, row->measured);
	vt_json_set(object, "reason", reasons[row->reason]);
	vt_json_set(object, "term", row->term ? row->term->formula : NULL);
	vt_json_set_if(object, "option", row->reason == VT_RUN_COMPARISON_OPTION,
		       change_of(&row->option));
	vt_json_set(object, "explained", why);
	free(why);
	return object;
}

static json_t *stage_of(const struct vt_run_comparison *comparison,
			const struct vt_run_comparison_stage *stage)
{
	json_t *object = json_object(), *owners = json_array();

	vt_json_set(object, "name", stage->measured->name);
	vt_json_set(object, "planned_stage", vt_plan_stage_name(stage->stage));
	vt_json_set(object, "event", stage->measured->event);
	vt_json_set(object, "step", stage->measured->step);
	set_pair(object, stage->planned, (double)stage->measured->allocated_bytes);
	for (size_t i = 0; i < stage->rows.len; i++)
		json_array_append_new(owners, row_of(comparison, &stage->rows.items[i]));
	vt_json_set(object, "owners", owners);
	return object;
}

static json_t *changes_of(const struct vt_run_comparison *comparison)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < comparison->nr_changes; i++)
		json_array_append_new(array, change_of(&comparison->changes[i]));
	return array;
}

json_t *vt_run_comparison_print_json(const struct vt_run_comparison *comparison)
{
	json_t *object = json_object(), *notes = json_array(), *stages = json_array();
	char *note;

	vt_json_set(object, "run", vt_db_path(comparison->measured.analysis->db));
	vt_json_set(object, "ended", comparison->measured.ended);
	vt_json_set(object, "steps", comparison->measured.nr_steps);
	vt_json_set(object, "device", comparison->measured.device->id);
	for (unsigned i = 0; (note = note_at(comparison, i)); i++) {
		if (*note)
			vt_json_append(notes, note);
		free(note);
	}
	vt_json_set(object, "notes", notes);
	set_pair(object, comparison->planned_peak, comparison->measured_peak);
	for (unsigned i = 0; i < comparison->nr_stages; i++)
		json_array_append_new(stages, stage_of(comparison, &comparison->stages[i]));
	vt_json_set(object, "stages", stages);
	vt_json_set(object, "nearest", changes_of(comparison));
	vt_json_set(object, "nearest_bytes", vt_json_rounded(comparison->changed_peak));
	return object;
}
