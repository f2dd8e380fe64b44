/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report.h"

#include <string.h>

#include "analyzer/base/parallel.h"
#include "analyzer/base/util.h"
#include "analyzer/attribution/moments.h"

static void add_moment(struct vt_report *report, struct vt_report_moment *moment, int device,
		       int64_t event)
{
	vt_peak_context_find(&moment->place, report->analysis, event);
	vt_books_init(&moment->books, &report->analysis->attribution, device, event);
	vt_hotspots_init(&moment->hotspots, &report->analysis->attribution, &report->describe,
			 device, event);
}

static void release_moment(struct vt_report_moment *moment)
{
	vt_peak_context_release(&moment->place);
	vt_books_release(&moment->books);
	vt_hotspots_release(&moment->hotspots);
}

int vt_report_has_most_allocated(const struct vt_report_device *row)
{
	return row->most_allocated.books.event != 0;
}

const struct vt_report_moment *vt_report_most_allocated(const struct vt_report_device *row)
{
	return vt_report_has_most_allocated(row) ? &row->most_allocated : &row->chosen;
}

const struct vt_report_device *vt_report_fullest(const struct vt_report *report)
{
	const struct vt_report_device *fullest = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < report->nr_devices; i++) {
		const struct vt_report_device *row = &report->devices[i];
		uint64_t bytes = vt_report_most_allocated(row)->books.allocated_bytes;

		if (!fullest || bytes > most) {
			fullest = row;
			most = bytes;
		}
	}
	return fullest;
}

static int add_device(struct vt_report *report, const struct vt_device *device,
		      struct vt_diag *diag)
{
	const struct vt_peak *peak = vt_model_peak(&report->analysis->model, device->id);
	struct vt_report_device *row;
	int64_t event;

	if (vt_moments_resolve(&report->analysis->stages, report->options->when, device->id, &event,
			    diag))
		return -1;
	row = &report->devices[report->nr_devices++];
	row->device = device;
	add_moment(report, &row->chosen, device->id, event);
	if (peak && event == peak->event && !strcmp(report->options->when, "peak") &&
	    peak->max_allocated_bytes > row->chosen.books.allocated_bytes)
		add_moment(report, &row->most_allocated, device->id, peak->max_allocated_event);
	return 0;
}

/* Devices on which nothing was ever allocated are left out, unless they were asked for. */
static int add_devices(struct vt_report *report, struct vt_diag *diag)
{
	const struct vt_model *model = &report->analysis->model;
	int wanted = report->options->device;

	report->devices = vt_xcalloc(model->nr_devices + 1, sizeof(*report->devices));
	if (wanted != VT_WHEN_ALL_DEVICES && !vt_model_device(model, wanted)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no device %d in this recording",
			    vt_db_path(model->db), wanted);
		return -1;
	}
	for (uint32_t i = 0; i < model->nr_devices; i++) {
		const struct vt_device *device = &model->devices[i];

		if (wanted == VT_WHEN_ALL_DEVICES ? !vt_model_peak(model, device->id)
						  : device->id != wanted)
			continue;
		/* The last out-of-memory need not be this device's. */
		if (wanted == VT_WHEN_ALL_DEVICES && strcmp(report->options->when, "oom") == 0 &&
		    model->nr_ooms && model->ooms[model->nr_ooms - 1].device != device->id)
			continue;
		if (add_device(report, device, diag))
			return -1;
	}
	return 0;
}

static int add_stages(struct vt_report *report, struct vt_diag *diag)
{
	const struct vt_device **devices = vt_xcalloc(report->nr_devices + 1, sizeof(*devices));
	int rc;

	for (uint32_t i = 0; i < report->nr_devices; i++)
		devices[i] = report->devices[i].device;
	rc = vt_report_stages_init(&report->stages, report->analysis, devices, report->nr_devices,
				   report->options->has_marks, diag);
	if (!rc)
		vt_report_iterations_init(&report->iterations, report->analysis, devices,
				     report->nr_devices);
	free(devices);
	return rc;
}

/* An error exit whose thread allocated nothing after its failed request ended because of that. */
static int died_of_memory(const struct vt_model *model, const char *ended)
{
	const struct vt_out_of_memory *oom =
		model->nr_ooms ? &model->ooms[model->nr_ooms - 1] : NULL;

	if (!oom || strncmp(ended, "exit ", 5) != 0 || strcmp(ended, "exit 0") == 0)
		return 0;
	for (uint32_t i = model->nr_allocations; i-- > 0;)
		if (model->allocations[i].event < oom->event)
			return 1;
		else if (model->allocations[i].common->made->thread == oom->thread)
			return 0;
	return 1;
}

char *vt_report_ended(const struct vt_analysis *analysis)
{
	char *ended = vt_db_run_get(analysis->db, "ended");

	if (!ended)
		return vt_xstrdup("running");
	/* A snapshot of a program that ran on. */
	if (!strcmp(ended, "frozen") || !died_of_memory(&analysis->model, ended))
		return ended;
	free(ended);
	return vt_xstrdup("out of memory");
}

static void add_coverage(struct vt_report *report)
{
	uint64_t sum = 0, unseen, all[VT_NR_PROVENANCES] = { 0 };

	for (uint32_t d = 0; d < report->nr_devices; d++) {
		uint64_t bytes[VT_NR_PROVENANCES];

		sum += vt_books_provenance(&report->devices[d].chosen.books, bytes);
		for (unsigned p = 0; p < VT_NR_PROVENANCES; p++)
			all[p] += bytes[p];
		/* What the driver says and nobody knows is in no owner's name. */
		if (report->devices[d].chosen.books.difference_bytes > 0) {
			unseen = (uint64_t)report->devices[d].chosen.books.difference_bytes;
			all[VT_PROVENANCE_UNKNOWN] += unseen;
			sum += unseen;
		}
	}
	for (unsigned p = 0; sum && p < VT_NR_PROVENANCES; p++)
		report->coverage[p] = (double)all[p] / (double)sum;
}

void vt_report_begin(struct vt_report *report, struct vt_analysis *analysis,
		     const struct vt_report_options *options)
{
	memset(report, 0, sizeof(*report));
	report->analysis = analysis;
	report->options = options;
	vt_oom_begin(&report->out_of_memory, analysis, options->device);
	vt_findings_prepare(&analysis->traces, options->device);
}

/* What is left once all owners are known: how the program failed, and everything else. */
struct finishing {
	struct vt_report *report;
	struct vt_diag *diag;
	int rc;
};

static void finish_or_judge_oom(void *context, size_t number)
{
	struct finishing *finishing = context;
	struct vt_report *report = finishing->report;
	struct vt_analysis *analysis = report->analysis;

	if (number) {
		vt_oom_judge(&report->out_of_memory, &report->describe);
		vt_oom_play_smaller(&report->out_of_memory);
		return;
	}
	finishing->rc = add_stages(report, finishing->diag);
	if (finishing->rc)
		return;
	vt_findings_init(&report->findings, &analysis->attribution, &analysis->traces,
			 &report->describe, report->options->device);
	report->pinned = vt_pinned_host_find(&analysis->model);
	add_coverage(report);
}

int vt_report_finish(struct vt_report *report, struct vt_diag *diag)
{
	struct vt_analysis *analysis = report->analysis;
	struct finishing finishing = { .report = report, .diag = diag };

	vt_describe_init(&report->describe, &analysis->model, report->options->has_all_frames);
	report->ended = vt_report_ended(analysis);
	if (add_devices(report, diag))
		return -1;
	vt_attribution_complete(&analysis->attribution);
	vt_parallel_run(2, finish_or_judge_oom, &finishing);
	vt_oom_finish(&report->out_of_memory);
	return finishing.rc;
}

void vt_report_release(struct vt_report *report)
{
	for (uint32_t i = 0; i < report->nr_devices; i++) {
		release_moment(&report->devices[i].chosen);
		release_moment(&report->devices[i].most_allocated);
	}
	vt_report_stages_release(&report->stages);
	vt_report_iterations_release(&report->iterations);
	vt_oom_release(&report->out_of_memory);
	vt_findings_release(&report->findings);
	vt_describe_release(&report->describe);
	free(report->devices);
	free(report->ended);
	memset(report, 0, sizeof(*report));
}

int vt_report_is_unknown(const struct vt_report *report, const struct vt_hotspot *spot)
{
	return strcmp(vt_attribution_owner(&report->analysis->attribution, spot->owner),
		      VT_OWNER_UNKNOWN) == 0;
}
