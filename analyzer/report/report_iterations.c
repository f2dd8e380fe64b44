/* SPDX-License-Identifier: MIT */
#include "analyzer/report/report_iterations.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/model/samples.h"

struct gathering {
	struct vt_report_iterations *out;
	struct vt_analysis *analysis;
	const struct vt_device *const *devices;
	uint32_t nr_devices;
};

static uint32_t device_index(const struct gathering *g, const struct vt_device *device)
{
	return (uint32_t)(device - g->analysis->model.devices);
}

static void add_totals(const struct gathering *g, struct vt_report_iteration *iteration,
		       const struct vt_range_totals *totals, const struct vt_device *device)
{
	uint64_t used_bytes = vt_samples_device_used(
		&g->analysis->model, device->id, totals->peak_used_bytes,
		vt_timeline_time(&g->analysis->timeline, totals->peak_event));

	if (totals->peak_allocated_bytes > iteration->peak_bytes)
		iteration->peak_bytes = totals->peak_allocated_bytes;
	if (used_bytes > iteration->peak_device_bytes)
		iteration->peak_device_bytes = used_bytes;
	iteration->end_bytes = totals->end_allocated_bytes;
}

int vt_report_iterations_is_trained_in(uint8_t stage)
{
	return stage != VT_STAGE_EVALUATION && stage != VT_STAGE_GENERATION;
}

static struct vt_report_iteration turn_of_spans(const struct gathering *g,
					   const struct vt_device *device, uint32_t first,
					   uint32_t last)
{
	const struct vt_stages *stages = &g->analysis->stages;
	struct vt_report_iteration iteration = { 0 };

	for (uint32_t i = first; i <= last; i++)
		if (vt_report_iterations_is_trained_in(stages->spans[i].stage))
			add_totals(g, &iteration,
				   vt_stages_totals(stages, i, device_index(g, device)), device);
	return iteration;
}

static void add_step(struct gathering *g, const struct vt_device *device, uint32_t number)
{
	const struct vt_steps *steps = &g->analysis->stages.steps;
	const struct vt_step *step = &steps->steps[number];
	struct vt_report_step *out = &g->out->steps[g->out->nr_steps++];

	out->index = number + 1;
	out->device = device->id;
	out->is_complete = step->is_complete;
	out->iteration = turn_of_spans(g, device, step->first_span, step->last_span);
	out->micro_batches = vt_xcalloc(step->nr_micro_batches + 1, sizeof(*out->micro_batches));
	for (uint32_t i = 0; i < step->nr_micro_batches; i++) {
		const struct vt_micro_batch *one =
			&steps->micro_batches[step->first_micro_batch + i];

		out->micro_batches[out->nr_micro_batches++] =
			turn_of_spans(g, device, one->first_span, one->last_span);
	}
}

static void add_steps(struct gathering *g)
{
	uint32_t nr = g->analysis->stages.steps.nr;

	g->out->steps = vt_xcalloc((size_t)g->nr_devices * nr + 1, sizeof(*g->out->steps));
	for (uint32_t d = 0; d < g->nr_devices; d++)
		for (uint32_t i = 0; i < nr; i++)
			add_step(g, g->devices[d], i);
}

/* With a second step to compare with. */
static void add_first_steps(struct gathering *g)
{
	const struct vt_stages *stages = &g->analysis->stages;
	const struct vt_step *first = vt_stages_step(stages, 1);

	g->out->first_steps = vt_xcalloc(g->nr_devices + 1, sizeof(*g->out->first_steps));
	if (stages->steps.nr < 2 || !first->is_complete)
		return;
	for (uint32_t d = 0; d < g->nr_devices; d++) {
		struct vt_report_first_step *row = &g->out->first_steps[g->out->nr_first_steps++];
		struct vt_attribution *attribution = &g->analysis->attribution;

		row->device = g->devices[d]->id;
		vt_books_init(&row->before, attribution, row->device,
			      stages->spans[first->first_span].first_event - 1);
		vt_books_init(&row->after, attribution, row->device,
			      stages->spans[first->last_span].last_event);
	}
}

static int compare_growth(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t nearest_to_zero(int64_t low, int64_t high)
{
	if (low >= 0)
		return low;
	return high <= 0 ? high : 0;
}

/*
 * The median (of two the one nearest to 0) of the differences between iterations half the run
 * apart.  Remainders that the allocator did not split move the end of single iterations, while a
 * leak is in all.  An even distance, because two kinds may alternate.  One difference alone is no
 * growth.
 */
/*
 * Bytes that remain per iteration; returns 0 where there are too few.  `ends`: allocated bytes at
 * their ends, of comparable ones; they are lost.
 */
static int growth_of(int64_t *ends, uint32_t nr, int64_t *bytes)
{
	uint32_t distance = nr < 4 ? 1 : nr / 4 * 2;
	uint32_t nr_differences = nr > distance ? nr - distance : 0;

	for (uint32_t i = 0; i < nr_differences; i++)
		ends[i] = (ends[i + distance] - ends[i]) / (int64_t)distance;
	vt_sort(ends, nr_differences, compare_growth);
	if (nr_differences > 1)
		*bytes = nearest_to_zero(ends[(nr_differences - 1) / 2], ends[nr_differences / 2]);
	return nr_differences > 1;
}

/* Of the complete steps of a device but the first, which makes what all use. */
int vt_report_iterations_step_growth(const struct vt_report_iterations *iterations, int device,
				     int64_t *bytes)
{
	int64_t *ends = vt_xcalloc(iterations->nr_steps + 1, sizeof(*ends));
	uint32_t nr = 0;
	int has_growth;

	for (uint32_t i = 0; i < iterations->nr_steps; i++) {
		const struct vt_report_step *step = &iterations->steps[i];

		if (step->device == device && step->is_complete && step->index >= 2)
			ends[nr++] = (int64_t)step->iteration.end_bytes;
	}
	has_growth = growth_of(ends, nr, bytes);
	free(ends);
	return has_growth;
}

/* The first request makes what all use (workspaces); a decode step finds what prefill made. */
static void find_growth(struct vt_report_calls *row)
{
	int64_t *ends = vt_xcalloc(row->nr_iterations + 1, sizeof(*ends));
	uint32_t nr = 0;

	for (uint32_t i = row->generation ? 0 : 1; i < row->nr_iterations; i++)
		ends[nr++] = (int64_t)row->iterations[i].end_bytes;
	row->has_growth = growth_of(ends, nr, &row->growth_bytes);
	free(ends);
}

/* Calls that are counted together, while they are gathered. */
struct group {
	struct vt_report_calls row;
	size_t capacity;
};

VT_VECTOR_DECLARE(groups, struct group);

/* Steps with a backward pass: a forward that ran out of memory may be a step or not. */
static int is_training(const struct vt_steps *steps)
{
	return steps->nr > 1 || (steps->nr && steps->steps[0].nr_micro_batches);
}

/* Decode steps and prefills of any program; other calls where nothing is trained. */
static int is_counted(const struct vt_stages *stages, const struct vt_pass *pass)
{
	return pass->generation ? pass->kind != VT_PASS_CALL : !is_training(&stages->steps);
}

/* The group of a generation, or of the calls of one module. */
static struct group *group_of(const struct gathering *g, const struct vt_pass *pass, int device,
			      struct vt_map *known, struct groups *groups)
{
	struct vt_key key = { (uint64_t)device, pass->generation,
			      pass->generation ? 0 : pass->module };
	struct group fresh = { 0 };
	uint64_t *index = vt_map_find(known, key);

	if (index)
		return &groups->items[*index];
	fresh.row.module = vt_model_text(&g->analysis->model, pass->type);
	fresh.row.device = device;
	fresh.row.generation = pass->generation;
	vt_map_put(known, key, groups->len);
	vt_vector_push(groups, fresh);
	return &groups->items[groups->len - 1];
}

static void add_iteration(struct group *group, const struct vt_pass *pass,
		     const struct vt_report_iteration *iteration)
{
	struct vt_report_calls *row = &group->row;

	if (pass->kind == VT_PASS_PREFILL) {
		row->prefill = *iteration;
		return;
	}
	row->iterations = vt_vector_grow(row->iterations, &group->capacity, row->nr_iterations + 1,
				    sizeof(*row->iterations));
	row->iterations[row->nr_iterations++] = *iteration;
}

static void gather_calls(const struct gathering *g, const struct vt_range_totals *totals,
			 struct groups *groups)
{
	const struct vt_stages *stages = &g->analysis->stages;
	struct vt_map known = { 0 };

	for (uint32_t d = 0; d < g->nr_devices; d++) {
		const struct vt_device *device = g->devices[d];

		for (uint32_t i = 0; i < stages->passes.nr; i++) {
			const struct vt_pass *pass = &stages->passes.passes[i];
			size_t at = (size_t)i * g->analysis->model.nr_devices;
			struct vt_report_iteration iteration = { 0 };

			if (!is_counted(stages, pass))
				continue;
			add_totals(g, &iteration, &totals[at + device_index(g, device)], device);
			add_iteration(group_of(g, pass, device->id, &known, groups), pass,
				 &iteration);
		}
	}
	vt_map_release(&known);
}

static void add_calls(struct gathering *g)
{
	const struct vt_stages *stages = &g->analysis->stages;
	struct vt_range *ranges = vt_stages_passes(stages);
	struct vt_range_totals *totals =
		vt_totals_add_up(stages->timeline, ranges, stages->passes.nr);
	struct groups groups = { 0 };

	gather_calls(g, totals, &groups);
	g->out->calls = vt_xcalloc(groups.len + 1, sizeof(*g->out->calls));
	for (size_t i = 0; i < groups.len; i++) {
		struct vt_report_calls *row = &groups.items[i].row;

		/* Called once, a module has its row among the stages. */
		if (!row->generation && row->nr_iterations < 2) {
			free(row->iterations);
			continue;
		}
		find_growth(row);
		g->out->calls[g->out->nr_calls++] = *row;
	}
	vt_vector_release(&groups);
	free(ranges);
	free(totals);
}

void vt_report_iterations_init(struct vt_report_iterations *iterations,
			       struct vt_analysis *analysis,
			       const struct vt_device *const *devices, uint32_t nr_devices)
{
	struct gathering g = { iterations, analysis, devices, nr_devices };

	memset(iterations, 0, sizeof(*iterations));
	add_steps(&g);
	add_first_steps(&g);
	add_calls(&g);
}

void vt_report_iterations_release(struct vt_report_iterations *iterations)
{
	for (uint32_t i = 0; i < iterations->nr_steps; i++)
		free(iterations->steps[i].micro_batches);
	for (uint32_t i = 0; i < iterations->nr_first_steps; i++) {
		vt_books_release(&iterations->first_steps[i].before);
		vt_books_release(&iterations->first_steps[i].after);
	}
	for (uint32_t i = 0; i < iterations->nr_calls; i++)
		free(iterations->calls[i].iterations);
	free(iterations->steps);
	free(iterations->first_steps);
	free(iterations->calls);
	memset(iterations, 0, sizeof(*iterations));
}
