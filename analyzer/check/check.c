/* SPDX-License-Identifier: MIT */
#include "analyzer/check/check.h"

#include <string.h>

#include "analyzer/attribution/rules/evidence.h"
#include "analyzer/attribution/known_owners.h"
#include "analyzer/base/printable.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/losses.h"
#include "analyzer/model/when.h"
#include "analyzer/analysis/ended.h"
#include "analyzer/report/report.h"

const char *const vt_check_outcomes[VT_NR_OUTCOMES] = {
#define TEXT(name, text) text,
	VT_OUTCOMES(TEXT)
#undef TEXT
};

static void release_row(struct vt_check_row *row)
{
	free(row->figure.why);
	free(row->why);
	vt_contributors_release(&row->contributors);
}

int vt_check_is_failed(const struct vt_check *check, const struct vt_check_row *row)
{
	if (row->limit->is_warning)
		return 0;
	return row->outcome == VT_OUTCOME_BROKEN ||
	       (row->outcome == VT_OUTCOME_MISSING && !check->options->is_missing_fine);
}

int vt_check_is_warned(const struct vt_check_row *row)
{
	return row->limit->is_warning && row->outcome == VT_OUTCOME_BROKEN;
}

static int64_t margin_of(const struct vt_check_row *row)
{
	return (int64_t)(row->most - row->figure.value);
}

/* Whether a row of another device says more: the closest to its end, or the furthest beyond. */
static int is_worse(const struct vt_check_row *row, const struct vt_check_row *than)
{
	/* A figure on any device is one of the run. */
	if (row->outcome == VT_OUTCOME_MISSING || than->outcome == VT_OUTCOME_MISSING)
		return than->outcome == VT_OUTCOME_MISSING && row->outcome != VT_OUTCOME_MISSING;
	if (row->outcome != than->outcome)
		return row->outcome == VT_OUTCOME_BROKEN;
	return margin_of(row) < margin_of(than);
}

static void find_place(struct vt_check *check, struct vt_check_row *row)
{
	const struct vt_stages *stages = &check->measure.analysis->stages;
	uint32_t span = vt_stages_span_at(stages, row->figure.event);

	if (!row->figure.event || span == VT_NO_INDEX)
		return;
	row->step = stages->spans[span].step;
	if (stages->spans[span].stage != VT_NO_STAGE)
		row->stage = vt_evidence_stages[stages->spans[span].stage];
}

/* `of`: what a relative limit is more than, or NULL. */
static void find_contributors(struct vt_check *check, struct vt_check_row *row,
			      struct vt_baseline *of, int64_t base_event)
{
	struct vt_contributors_base base = { of ? &of->measure : NULL, base_event };
	int is_grown = of && of->is_recording;

	vt_contributors_find(&row->contributors, &check->measure, row->limit, row->device,
			 row->figure.event, is_grown ? &base : NULL, check->options->top);
}

static void judge(struct vt_check *check, struct vt_check_row *row)
{
	struct vt_baseline *of = NULL;
	struct vt_figure base = { 0 };

	vt_measure_take(&check->measure, row->limit, row->device, &row->figure);
	find_place(check, row);
	if (row->limit->amount.is_relative)
		of = vt_baselines_take(&check->baselines, row->limit, row->device, &base,
				       &row->spread);
	row->base = base.value;
	row->most = vt_budget_most(check->options->budget, row->limit, base.value,
				   row->spread);
	/* How many events torn records and missing slots were, nobody knows: none are allowed. */
	if (row->limit->what == VT_LIMIT_LOST &&
	    !vt_losses_are_counted(check->measure.analysis->db))
		row->most = 0;
	if (row->figure.why)
		row->why = vt_xstrdup(row->figure.why);
	else if (base.why)
		row->why = vt_xasprintf("baseline: %s", base.why);
	row->outcome = row->why			      ? VT_OUTCOME_MISSING :
		       row->figure.value > row->most ? VT_OUTCOME_BROKEN :
						       VT_OUTCOME_HELD;
	if (row->outcome == VT_OUTCOME_BROKEN)
		find_contributors(check, row, of, base.event);
	free(base.why);
}

static int is_wanted(const struct vt_check *check, int device)
{
	return check->options->device == VT_WHEN_ALL_DEVICES || check->options->device == device;
}

static int judge_device(struct vt_check *check, int device)
{
	if (!is_wanted(check, device))
		return 0;
	for (unsigned i = 0; i < check->options->budget->nr; i++) {
		struct vt_check_row row = { .limit = &check->options->budget->limits[i],
					    .device = device };

		judge(check, &row);
		if (check->rows[i].limit && !is_worse(&row, &check->rows[i])) {
			release_row(&row);
			continue;
		}
		release_row(&check->rows[i]);
		check->rows[i] = row;
	}
	return 1;
}

static void add_note(struct vt_check *check, char *note)
{
	check->notes.text = vt_xrealloc(check->notes.text,
					(check->notes.nr + 1) * sizeof(*check->notes.text));
	check->notes.text[check->notes.nr++] = note;
}

char *vt_check_ending(const struct vt_analysis *analysis)
{
	char *ended = vt_printable_make(vt_report_ended(analysis)), *note = NULL;
	int is_running = vt_ended_is_running(ended);

	if (strncmp(ended, "exit ", strlen("exit ")) != 0)
		note = vt_xasprintf(
			"the run did not end normally (%s): figures cover only the part that ran",
			is_running ? "still running" : vt_ended_text(ended));
	else if (strcmp(ended, "exit 0") != 0)
		note = vt_xasprintf(
			"the run ended with exit status %s: figures cover only the part that ran",
			ended + strlen("exit "));
	free(ended);
	return note;
}

/* What came too late to be in the figures could have broken a limit. */
static void note_ending(struct vt_check *check)
{
	char *note = vt_check_ending(check->measure.analysis);

	if (note)
		add_note(check, note);
}

/* Runs that differ in more than memory are compared, and that is said. */
static void gather_notes(struct vt_check *check)
{
	static const struct vt_runs nothing;
	const struct vt_baselines *baselines = &check->baselines;
	const struct vt_runs *runs = baselines->nr ? &baselines->items[0].runs : &nothing;
	struct vt_lines losses = vt_losses_find(check->measure.analysis->db);

	note_ending(check);
	for (unsigned i = 0; i < losses.nr; i++)
		add_note(check, losses.text[i]);
	free(losses.text);
	for (uint32_t i = 0; i < runs->nr; i++)
		add_note(check, vt_xasprintf("the baseline differs: %s %s, baseline %s",
					     runs->rows[i].what,
					     runs->rows[i].text[1] ? runs->rows[i].text[1] : "-",
					     runs->rows[i].text[0] ? runs->rows[i].text[0] : "-"));
}

/* Programs without PyTorch name their owners themselves: there, any word may be one. */
static int is_misspelt(const struct vt_check *check, const struct vt_limit *limit)
{
	char *torch;
	int is_open;

	if ((limit->what != VT_LIMIT_OWNER && limit->what != VT_LIMIT_LEFT_OWNER) ||
	    vt_measure_has_owner(&check->measure, limit->subject))
		return 0;
	torch = vt_db_run_get(check->measure.analysis->db, "torch");
	is_open = !torch;
	free(torch);
	return !is_open;
}

/* A limit on a misspelt owner would hold for ever.  Returns 0, or -1 with `diag` filled. */
static int check_owners(const struct vt_check *check, struct vt_diag *diag)
{
	const struct vt_budget *budget = check->options->budget;

	for (unsigned i = 0; i < check->nr; i++) {
		char *list;

		if (!is_misspelt(check, &budget->limits[i]))
			continue;
		list = vt_known_owners_list(&check->measure.analysis->rules);
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s:%d: unknown owner \"%s\" in this run and in the rules; the rules "
			    "have: %s",
			    budget->path, budget->limits[i].line, budget->limits[i].name, list);
		free(list);
		return -1;
	}
	return 0;
}

int vt_check_init(struct vt_check *check, struct vt_analysis *analysis,
		  const struct vt_check_options *options, struct vt_diag *diag)
{
	const struct vt_model *model = &analysis->model;
	int nr_devices = 0;

	memset(check, 0, sizeof(*check));
	check->options = options;
	if (vt_measure_init(&check->measure, analysis, options->from, options->to, diag))
		return -1;
	if (vt_baselines_init(&check->baselines, options->budget->baselines,
			      options->budget->nr_baselines, options->rules, &check->measure,
			      diag))
		return -1;
	gather_notes(check);
	check->nr = options->budget->nr;
	check->rows = vt_xcalloc(check->nr + 1, sizeof(*check->rows));
	for (uint32_t i = 0; i < model->nr_peaks; i++)
		nr_devices += judge_device(check, model->peaks[i].device);
	if (!nr_devices) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no device memory was recorded%s",
			    vt_db_path(analysis->db),
			    options->device == VT_WHEN_ALL_DEVICES ? "" : " on that device");
		return -1;
	}
	for (unsigned i = 0; i < check->nr; i++)
		check->nr_broken += vt_check_is_failed(check, &check->rows[i]) != 0;
	for (unsigned i = 0; i < check->nr; i++)
		check->nr_warned += vt_check_is_warned(&check->rows[i]) != 0;
	return check_owners(check, diag);
}

void vt_check_release(struct vt_check *check)
{
	for (unsigned i = 0; i < check->nr; i++)
		release_row(&check->rows[i]);
	free(check->rows);
	vt_lines_free(&check->notes);
	vt_baselines_release(&check->baselines);
	vt_measure_release(&check->measure);
	memset(check, 0, sizeof(*check));
}

const char *vt_check_value(const struct vt_check_row *row, uint64_t value, char *text)
{
	switch (vt_budget_unit(row->limit)) {
	case VT_BUDGET_SHARE:
		snprintf(text, VT_UNITS_MAX, "%.2f %%", (double)value / 100);
		return text;
	case VT_BUDGET_COUNT:
		return vt_units_count(text, VT_UNITS_MAX, value);
	default:
		return vt_units_bytes(text, VT_UNITS_MAX, value);
	}
}

/* " on cuda:0 in step 2, forward" */
static void append_place(struct vt_buffer *buffer, const struct vt_check_row *row)
{
	vt_buffer_printf(buffer, " on cuda:%d", row->device);
	if (row->step)
		vt_buffer_printf(buffer, " in step %u", row->step);
	if (row->stage)
		vt_buffer_printf(buffer, "%s%s", row->step ? ", " : " in ", row->stage);
}

char *vt_check_sentence(const struct vt_check_row *row)
{
	char value[VT_UNITS_MAX], most[VT_UNITS_MAX], over[VT_UNITS_MAX], base[VT_UNITS_MAX];
	struct vt_buffer buffer;

	if (row->outcome == VT_OUTCOME_MISSING)
		return vt_xstrdup(row->why);
	if (row->limit->what == VT_LIMIT_ENDED)
		return vt_xstrdup(row->figure.value ? "the run did not end normally, or its end is"
						      " not recorded" :
						      "the run ended normally");
	vt_buffer_init(&buffer);
	vt_buffer_puts(&buffer, vt_check_value(row, row->figure.value, value));
	if (row->limit->what == VT_LIMIT_LOST)
		vt_buffer_puts(&buffer, " events, records or slots of the journal are missing");
	else
		append_place(&buffer, row);
	if (row->limit->what == VT_LIMIT_FINDING) {
		if (row->figure.value)
			vt_buffer_puts(&buffer, ", to be saved; it must be absent");
		return vt_buffer_detach(&buffer);
	}
	if (row->outcome == VT_OUTCOME_BROKEN)
		vt_buffer_printf(&buffer, ": %s more than %s",
				 vt_check_value(row, row->figure.value - row->most, over),
				 vt_check_value(row, row->most, most));
	if (row->limit->amount.is_relative)
		vt_buffer_printf(&buffer, " (baseline %s)", vt_check_value(row, row->base, base));
	return vt_buffer_detach(&buffer);
}
