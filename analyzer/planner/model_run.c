/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/model_run.h"

#include <string.h>

#include "analyzer/base/sort.h"

static void find_peak(struct vt_model_run *run)
{
	const struct vt_measured *measured = &run->measured;
	const struct vt_peak *peak =
		vt_model_peak(&run->analysis->model, measured->device->id);

	for (unsigned i = 0; i < measured->nr_stages; i++)
		if (measured->stages[i].allocated_bytes >
		    measured->stages[run->peak].allocated_bytes)
			run->peak = i;
	run->allocated = measured->stages[run->peak].allocated_bytes;
	run->used = (double)peak->used_bytes;
}

int vt_model_run_init(struct vt_model_run *run, struct vt_diag *diag)
{
	int is_training = run->settings->value[VT_SET_MODE] == VT_MODE_TRAIN;

	if (vt_measured_init(&run->measured, run->analysis, is_training, diag))
		return -1;
	find_peak(run);
	if (run->plan) {
		struct vt_diag other = { 0 };

		run->has_comparison =
			!vt_run_comparison_init(&run->comparison, run->plan, run->analysis, &other);
	}
	return 0;
}

void vt_model_run_release(struct vt_model_run *run)
{
	vt_run_comparison_release(&run->comparison);
	vt_measured_release(&run->measured);
}

static double context_of(const struct vt_model_run *run, const struct vt_gpu *gpu)
{
	const struct vt_device *device = run->measured.device;

	if (gpu && gpu->context_bytes)
		return (double)gpu->context_bytes;
	return device->has_context ? (double)device->context_bytes : 0;
}

double vt_model_run_need(const struct vt_model_run *run, const struct vt_gpu *gpu)
{
	return run->used + context_of(run, gpu);
}

enum vt_card_fit vt_model_run_judge(const struct vt_model_run *run, const struct vt_gpu *gpu)
{
	double usable = (double)gpu->usable_bytes, need = vt_model_run_need(run, gpu);

	if (run->allocated + context_of(run, gpu) > usable || run->is_out_of_memory > 0)
		return VT_FIT_NO;
	return need > VT_FIT_COMFORTABLE * usable ? VT_FIT_TIGHT : VT_FIT_YES;
}

static const struct vt_run_comparison_stage *stage_of(const struct vt_model_run *run,
						      unsigned stage)
{
	const char *name = run->measured.stages[stage].name;

	for (unsigned i = 0; run->has_comparison && i < run->comparison.nr_stages; i++)
		if (!strcmp(run->comparison.stages[i].measured->name, name))
			return &run->comparison.stages[i];
	return NULL;
}

double vt_model_run_planned(const struct vt_model_run *run, unsigned stage)
{
	const struct vt_run_comparison_stage *found = stage_of(run, stage);

	return found ? found->planned : -1;
}

static int compare_rows(const void *a, const void *b)
{
	const struct vt_model_run_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

void vt_model_run_rows(const struct vt_model_run *run, unsigned stage,
		       struct vt_model_run_rows *rows)
{
	const struct vt_owner_sums *owners = &run->measured.stages[stage].owners;
	const struct vt_run_comparison_stage *found = stage_of(run, stage);

	for (size_t i = 0; found && i < found->rows.len; i++) {
		const struct vt_run_comparison_row *from = &found->rows.items[i];
		struct vt_model_run_row row = { from->owner, from->measured, from->planned };

		vt_vector_push(rows, row);
	}
	for (size_t i = 0; !found && i < owners->len; i++) {
		struct vt_model_run_row row = { owners->items[i].owner, owners->items[i].bytes,
						-1 };

		vt_vector_push(rows, row);
	}
	vt_vector_sort(rows, compare_rows);
}
