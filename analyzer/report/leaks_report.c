/* SPDX-License-Identifier: MIT */
#include "analyzer/report/leaks_report.h"
#include "analyzer/analysis/ended.h"

#include <string.h>

#include "analyzer/analysis/limits.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/losses.h"
#include "analyzer/model/when.h"

VT_VECTOR_DECLARE(notes, char *);

static char *note_iterations(const struct vt_leaks *leaks)
{
	const struct vt_iterations *iterations = &leaks->iterations;
	uint32_t wanted = vt_leaks_min_iterations(iterations->kind);
	char duration[VT_UNITS_MAX];

	if (!iterations->nr)
		return vt_xstrdup(
			"growth unknown: no steps, generations, marks or calls, and too few events "
			"for slices of time");
	if (!leaks->nr_points)
		return vt_xasprintf(
			"growth unknown: only %u %s; at least %u are needed to tell growth from "
			"warm-up",
			iterations->nr,
			iterations->nr == 1 ? vt_iterations_words[iterations->kind]
					    : vt_iterations_plurals[iterations->kind],
			wanted);
	if (iterations->kind == VT_ITERATION_SLICE)
		return vt_xasprintf(
			"no steps, generations, marks or calls: compared %u slices of %s; a rising "
			"load looks like a leak",
			iterations->nr,
			vt_units_duration(duration, sizeof(duration),
					  (uint64_t)iterations->duration_ns));
	return NULL;
}

/* Without an end of its own a program did not come to giving things back. */
static int has_ended(const char *ended)
{
	return strncmp(ended, "exit ", strlen("exit ")) == 0;
}

static void gather_notes(struct vt_leaks_report *report)
{
	struct notes notes = { 0 };
	struct vt_lines kinds;
	struct vt_lines losses = vt_losses_find(report->analysis->db);
	char *iterations = note_iterations(&report->leaks);

	if (iterations)
		vt_vector_push(&notes, iterations);
	if (report->leaks.are_iterations_growing)
		vt_vector_push(
			&notes,
			vt_xasprintf("each %s allocates more than the last (longer sequences, "
				     "larger batches); growth from that is not a leak",
				     vt_iterations_words[report->leaks.iterations.kind]));
	kinds = vt_limits_of_kinds(report->analysis);
	for (unsigned i = 0; i < kinds.nr; i++)
		vt_vector_push(&notes, kinds.text[i]);
	free(kinds.text);
	for (unsigned i = 0; i < losses.nr; i++)
		vt_vector_push(&notes, losses.text[i]);
	free(losses.text);
	if (vt_ended_is_running(report->ended))
		vt_vector_push(&notes, vt_xstrdup("still running: growth so far; what remains at "
						  "its end is unknown"));
	else if (!has_ended(report->ended))
		vt_vector_push(
			&notes,
			vt_xasprintf("%s: what the program would have freed at its end is unknown",
				     vt_ended_note(report->ended)));
	report->notes.text = notes.items;
	report->notes.nr = (unsigned)notes.len;
}

int vt_leaks_report_init(struct vt_leaks_report *report, struct vt_analysis *analysis,
			 const struct vt_leaks_report_options *asked, struct vt_diag *diag)
{
	struct vt_leaks_options options = { .device = asked->device,
					    .has_all_frames = asked->has_all_frames };

	memset(report, 0, sizeof(*report));
	report->analysis = analysis;
	report->top = asked->top;
	if (asked->device != VT_WHEN_ALL_DEVICES &&
	    !vt_model_device(&analysis->model, asked->device)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "no cuda:%d in this recording",
			    asked->device);
		return -1;
	}
	report->ended = vt_db_run_get(analysis->db, "ended");
	if (!report->ended)
		report->ended = vt_xstrdup("running");
	options.has_ended = has_ended(report->ended);
	vt_leaks_init(&report->leaks, &analysis->attribution, &options);
	gather_notes(report);
	return 0;
}

void vt_leaks_report_release(struct vt_leaks_report *report)
{
	if (report->analysis && report->ended)
		vt_leaks_release(&report->leaks);
	vt_lines_free(&report->notes);
	free(report->ended);
	memset(report, 0, sizeof(*report));
}

uint64_t vt_leaks_report_growth(const struct vt_leaks_report *report)
{
	double sum = 0;

	for (uint32_t i = 0; i < report->leaks.nr_growth; i++)
		sum += report->leaks.growth[i].bytes_per_iteration;
	return (uint64_t)(sum + 0.5);
}
