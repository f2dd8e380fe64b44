/* SPDX-License-Identifier: MIT */
#include "analyzer/diagnosis/iterations.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/util.h"

/* As many as tell a rise that goes on from one that does not, after a warm-up of a quarter. */
#define SLICES	     20
#define SLICE_EVENTS 10 /* fewer per slice are no load */

#define WORD(name, word, plural) word,
const char *const vt_iterations_words[VT_NR_ITERATION_KINDS] = { VT_ITERATIONS(WORD) };
#undef WORD
#define WORD(name, word, plural) plural,
const char *const vt_iterations_plurals[VT_NR_ITERATION_KINDS] = { VT_ITERATIONS(WORD) };
#undef WORD

VT_VECTOR_DECLARE(ends, int64_t);

static void keep(struct vt_iterations *iterations, enum vt_iteration_kind kind, struct ends *ends)
{
	iterations->kind = kind;
	iterations->ends = ends->items;
	iterations->nr = ends->len ? (uint32_t)ends->len - 1 : 0;
}

static int find_steps(struct vt_iterations *iterations, const struct vt_stages *stages)
{
	const struct vt_steps *steps = &stages->steps;
	struct ends ends = { 0 };

	for (uint32_t i = 0; i < steps->nr && steps->steps[i].is_complete; i++) {
		if (!i)
			vt_vector_push(&ends,
				       stages->spans[steps->steps[i].first_span].first_event - 1);
		vt_vector_push(&ends, stages->spans[steps->steps[i].last_span].last_event);
	}
	keep(iterations, VT_ITERATION_STEP, &ends);
	return ends.len > 1;
}

/* An iteration ends where the next begins: what the program does with a result belongs to it. */
static void push_begin(struct ends *ends, int64_t first_event)
{
	vt_vector_push(ends, first_event - 1);
}

static int64_t end_of(const struct vt_pass *pass, int64_t last_event)
{
	return pass->end_event < last_event ? pass->end_event : last_event;
}

static int find_generations(struct vt_iterations *iterations, const struct vt_passes *passes,
			    int64_t last_event)
{
	const struct vt_pass *last = NULL;
	struct ends ends = { 0 };

	for (uint32_t i = 0; i < passes->nr; i++) {
		const struct vt_pass *pass = &passes->passes[i];

		if (!pass->generation)
			continue;
		if (!last || last->generation != pass->generation)
			push_begin(&ends, pass->first_event);
		last = pass;
	}
	if (last)
		vt_vector_push(&ends, end_of(last, last_event));
	keep(iterations, VT_ITERATION_GENERATION, &ends);
	return ends.len > 1;
}

/* The key that comes most often, of those that come first; 0 where none comes often. */
static uint64_t most_often(const uint64_t *keys, size_t nr)
{
	struct vt_map counts = { 0 };
	uint64_t best = 0, best_count = VT_ITERATIONS_RHYTHM - 1;

	for (size_t i = 0; i < nr; i++) {
		struct vt_key key = { keys[i], 0, 0 };
		uint64_t *known = vt_map_find(&counts, key);

		vt_map_put(&counts, key, known ? *known + 1 : 1);
	}
	for (size_t i = 0; i < nr; i++) {
		uint64_t count = keys[i] ? *vt_map_find(&counts, (struct vt_key){ keys[i], 0, 0 })
					 : 0;

		if (count > best_count) {
			best = keys[i];
			best_count = count;
		}
	}
	vt_map_release(&counts);
	return best;
}

static uint64_t mark_key(const struct vt_mark *mark, int64_t last_event)
{
	int is_moment = mark->kind == VT_MARK_POINT || mark->kind == VT_MARK_BEGIN;

	/* Ranges of libraries come per layer or per kernel. */
	return is_moment && mark->source == VT_SOURCE_USER && mark->event <= last_event ? mark->name
										       : 0;
}

static int find_marks(struct vt_iterations *iterations, const struct vt_model *model,
		      int64_t last_event)
{
	uint64_t *keys = vt_xcalloc((size_t)model->nr_marks + 1, sizeof(*keys)), name;
	struct ends ends = { 0 };

	for (uint32_t i = 0; i < model->nr_marks; i++)
		keys[i] = mark_key(&model->marks[i], last_event);
	name = most_often(keys, model->nr_marks);
	for (uint32_t i = 0; name && i < model->nr_marks; i++)
		if (keys[i] == name)
			vt_vector_push(&ends, model->marks[i].event);
	free(keys);
	keep(iterations, VT_ITERATION_MARK, &ends);
	iterations->name = (uint32_t)name;
	return ends.len > 1;
}

static int find_calls(struct vt_iterations *iterations, const struct vt_passes *passes,
		      int64_t last_event)
{
	uint64_t *keys = vt_xcalloc((size_t)passes->nr + 1, sizeof(*keys)), module;
	const struct vt_pass *last = NULL;
	struct ends ends = { 0 };

	for (uint32_t i = 0; i < passes->nr; i++)
		keys[i] = passes->passes[i].module;
	module = most_often(keys, passes->nr);
	for (uint32_t i = 0; module && i < passes->nr; i++) {
		if (keys[i] != module)
			continue;
		last = &passes->passes[i];
		push_begin(&ends, last->first_event);
		iterations->name = last->type;
	}
	if (last)
		vt_vector_push(&ends, end_of(last, last_event));
	free(keys);
	keep(iterations, VT_ITERATION_CALL, &ends);
	return ends.len > 1;
}

static void find_slices(struct vt_iterations *iterations, const struct vt_timeline *timeline,
			int64_t last_event)
{
	int64_t begin_ns, length_ns;
	struct ends ends = { 0 };

	iterations->kind = VT_ITERATION_SLICE;
	iterations->nr = 0;
	if (timeline->nr < SLICES * SLICE_EVENTS)
		return;
	begin_ns = vt_timeline_moment_time(timeline, &timeline->moments[0]);
	length_ns = vt_timeline_time(timeline, last_event) - begin_ns;
	iterations->duration_ns = length_ns / SLICES;
	vt_vector_push(&ends, (int64_t)vt_moment_event(timeline->model, &timeline->moments[0]) - 1);
	for (uint32_t i = 0; i < timeline->nr && ends.len < SLICES; i++) {
		const struct vt_moment *moment = &timeline->moments[i];
		int64_t time_ns = vt_timeline_moment_time(timeline, moment) - begin_ns;

		while (ends.len < SLICES &&
		       time_ns > length_ns * (int64_t)ends.len / SLICES)
			vt_vector_push(&ends,
				       (int64_t)vt_moment_event(timeline->model, moment) - 1);
	}
	vt_vector_push(&ends, last_event);
	if (ends.len == SLICES + 1)
		keep(iterations, VT_ITERATION_SLICE, &ends);
	else
		vt_vector_release(&ends);
}

void vt_iterations_init(struct vt_iterations *iterations, const struct vt_stages *stages,
			int64_t last_event)
{
	memset(iterations, 0, sizeof(*iterations));
	if (find_steps(iterations, stages))
		return;
	vt_iterations_release(iterations);
	if (find_generations(iterations, &stages->passes, last_event))
		return;
	vt_iterations_release(iterations);
	if (find_marks(iterations, stages->timeline->model, last_event))
		return;
	vt_iterations_release(iterations);
	if (find_calls(iterations, &stages->passes, last_event))
		return;
	vt_iterations_release(iterations);
	find_slices(iterations, stages->timeline, last_event);
}

void vt_iterations_release(struct vt_iterations *iterations)
{
	free(iterations->ends);
	memset(iterations, 0, sizeof(*iterations));
}
