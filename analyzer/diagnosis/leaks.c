/* SPDX-License-Identifier: MIT */
/*
 * leaks.c - iterations become points, each the end of some; the floors of a place between two
 * points become its trend (trend.h); what grows is told from what only looks so by its blocks.
 */
#include "analyzer/diagnosis/leaks.h"

#include <string.h>

#include "analyzer/base/map.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/diagnosis/holders.h"
#include "analyzer/diagnosis/site_groups.h"
#include "analyzer/diagnosis/workload.h"
#include "analyzer/model/when.h"

/*
 * The first step makes gradients and the optimizer's state, the second is the first that runs with
 * them, and libraries try out and keep workspaces in both.  Slices do not know where warm-up ends.
 */
#define WARM_UP_ITERATIONS  2
#define WARM_UP_SHARE  10
#define WARM_UP_SLICES 4

/* The last iteration's results are alive, whatever becomes of them: what is older was kept. */
#define FRESH_POINTS 2
#define OLD_SHARE    0.5 /* of the growth, in blocks older than that: a pile */

/* What joins a block to one more piece; the old one goes a few temporaries later. */
#define COPY_EVENTS	16
#define SHARE_OF_JOINED 0.75 /* of the blocks of a place */
static const char *const joiners[] = { "cat", "stack", "constant_pad_nd", "resize_" };

/*
 * What has one block, or a few, per parameter stops by itself: layers are unfrozen, and experts get
 * their first tokens, one after the other.
 */
static const struct {
	const char *owner;
	uint32_t most; /* blocks per parameter */
} bounded[] = { { "optimizer", 3 }, { "gradients", 1 } };

struct build {
	struct vt_leaks *leaks;
	const struct vt_model *model;
	struct vt_site_groups groups;
	int64_t *points; /* nr_points + 1 event numbers */
	struct vt_workload workload;
	uint32_t nr_parameters; /* that the probe saw */
	VT_VECTOR(struct vt_leak) growth;
	VT_VECTOR(struct vt_leak) since;
};

uint32_t vt_leaks_min_iterations(enum vt_iteration_kind kind)
{
	return kind == VT_ITERATION_SLICE ? VT_TREND_MIN_POINTS * WARM_UP_SLICES
				     : VT_TREND_MIN_POINTS + WARM_UP_ITERATIONS;
}

static uint32_t warm_up_of(const struct vt_iterations *iterations)
{
	uint32_t share = iterations->nr / WARM_UP_SHARE;

	if (iterations->kind == VT_ITERATION_SLICE)
		return iterations->nr / WARM_UP_SLICES;
	return share > WARM_UP_ITERATIONS ? share : WARM_UP_ITERATIONS;
}

/* Several make a point where there are more than a trend takes; warm-up takes the rest. */
static void find_points(struct build *build)
{
	struct vt_leaks *leaks = build->leaks;
	const struct vt_iterations *iterations = &leaks->iterations;
	uint32_t warm_up = warm_up_of(iterations), nr;

	if (iterations->nr < vt_leaks_min_iterations(iterations->kind))
		return;
	nr = iterations->nr - warm_up;
	leaks->iterations_per_point = (nr + VT_TREND_MAX_POINTS - 1) / VT_TREND_MAX_POINTS;
	leaks->nr_points = nr / leaks->iterations_per_point;
	leaks->nr_warm_up = iterations->nr - leaks->nr_points * leaks->iterations_per_point;
	build->points = vt_xcalloc((size_t)leaks->nr_points + 1, sizeof(*build->points));
	for (uint32_t i = 0; i <= leaks->nr_points; i++)
		build->points[i] =
			iterations->ends[leaks->nr_warm_up + i * leaks->iterations_per_point];
}

static int64_t last_point(const struct build *build)
{
	return build->points[build->leaks->nr_points];
}

/* A row of least values between points, filled as time goes on. */
struct floors {
	const struct build *build;
	uint64_t values[VT_TREND_MAX_POINTS];
	uint64_t now;
	uint32_t next; /* the point that ends the current stretch; 0: before the first */
};

/* Time has come to `event`; `now` is what was held until then. */
static void pass(struct floors *floors, int64_t event)
{
	const struct build *build = floors->build;

	while (floors->next <= build->leaks->nr_points && build->points[floors->next] < event)
		if (floors->next++ < build->leaks->nr_points)
			floors->values[floors->next - 1] = floors->now;
}

static void change(struct floors *floors, int64_t event, uint64_t now)
{
	pass(floors, event);
	floors->now = now;
	if (floors->next && floors->next <= floors->build->leaks->nr_points &&
	    now < floors->values[floors->next - 1])
		floors->values[floors->next - 1] = now;
}

static struct vt_trend trend_of(struct floors *floors)
{
	pass(floors, VT_NEVER);
	return vt_trend_find(floors->values, floors->build->leaks->nr_points);
}

static struct vt_trend group_trend(const struct build *build, uint32_t group)
{
	const struct vt_site_groups *groups = &build->groups;
	struct floors floors = { .build = build };

	for (uint32_t i = groups->first[group]; i < groups->first[group + 1]; i++) {
		const struct vt_moment *moment = &groups->moments[i];
		uint64_t size = build->model->allocations[moment->index].common->size_bytes;

		change(&floors, vt_moment_event(build->model, moment),
		       moment->what == VT_MOMENT_ALLOC ? floors.now + size : floors.now - size);
	}
	return trend_of(&floors);
}

/* The iteration, from 1, that an event belongs to; 0: none. */
static uint32_t iteration_at(const struct vt_iterations *iterations, int64_t event)
{
	uint32_t stretch = vt_workload_stretch(iterations->ends, iterations->nr, event);

	return stretch == VT_NO_INDEX ? 0 : stretch + 1;
}

static void add_kept(const struct build *build, struct vt_leak *leak, uint32_t index)
{
	const struct vt_allocation *all = build->model->allocations, *a = &all[index];
	uint32_t iteration = iteration_at(&build->leaks->iterations, a->event);

	if (!leak->blocks)
		leak->first_iteration = iteration;
	if (!leak->blocks || a->common->size_bytes > all[leak->allocation].common->size_bytes)
		leak->allocation = index;
	leak->last_iteration = iteration;
	leak->bytes += a->common->size_bytes;
	leak->kept[leak->blocks++] = index;
}

/* What is alive at the last point and was made behind the warm-up, and until `until`. */
static struct vt_leak gather(const struct build *build, uint32_t group, int64_t until)
{
	const struct vt_site_groups *groups = &build->groups;
	uint32_t first = groups->first[group], end = groups->first[group + 1];
	struct vt_leak leak = { .group = group };

	leak.kept = vt_xcalloc((size_t)(end - first) + 1, sizeof(*leak.kept));
	for (uint32_t i = first; i < end; i++) {
		const struct vt_moment *moment = &groups->moments[i];
		const struct vt_allocation *a = &build->model->allocations[moment->index];

		if (moment->what == VT_MOMENT_ALLOC && a->event > build->points[0] &&
		    a->event <= until && a->freed_event > last_point(build))
			add_kept(build, &leak, moment->index);
	}
	return leak;
}

static int is_joiner(const char *name)
{
	for (size_t i = 0; name && i < VT_ARRAY_SIZE(joiners); i++)
		if (strcmp(name, joiners[i]) == 0)
			return 1;
	return 0;
}

static int64_t old_until(const struct build *build)
{
	return build->points[build->leaks->nr_points - FRESH_POINTS];
}

/* Whether nearly each block of the place was joined to the one before, which then went. */
static int is_joined(const struct build *build, uint32_t group)
{
	const struct vt_site_groups *groups = &build->groups;
	const struct vt_allocation *all = build->model->allocations, *last = NULL;
	struct vt_operators *operators = &build->leaks->attribution->facts->operators;
	uint32_t nr = 0, nr_joined = 0;

	for (uint32_t i = groups->first[group]; i < groups->first[group + 1]; i++) {
		const struct vt_moment *moment = &groups->moments[i];
		const struct vt_allocation *a = &all[moment->index];

		if (moment->what != VT_MOMENT_ALLOC || a->event <= build->points[0] ||
		    a->event > last_point(build))
			continue;
		if (last) {
			const char *op =
				vt_operators_name(operators, a->common->made->native_stack);

			nr++;
			nr_joined += is_joiner(op) && last->freed_event > a->event &&
				     last->freed_event <= a->event + COPY_EVENTS;
		}
		last = a;
	}
	return nr && nr_joined >= SHARE_OF_JOINED * nr;
}

/* Whether it grows though the iterations do not. */
static int grows_alone(const struct build *build, uint32_t group)
{
	const struct vt_site_groups *groups = &build->groups;
	uint64_t own[VT_TREND_MAX_POINTS] = { 0 };

	for (uint32_t i = groups->first[group]; i < groups->first[group + 1]; i++) {
		const struct vt_moment *moment = &groups->moments[i];
		uint32_t stretch = vt_workload_stretch(build->points, build->leaks->nr_points,
						       vt_moment_event(build->model, moment));

		if (moment->what == VT_MOMENT_ALLOC && stretch != VT_NO_INDEX)
			own[stretch] += build->model->allocations[moment->index].common->size_bytes;
	}
	return !vt_workload_is_growing(&build->workload, own);
}

static uint32_t count_parameters(const struct vt_model *model)
{
	struct vt_map seen = { 0 };
	uint32_t nr;

	for (uint32_t i = 0; i < model->nr_tensors; i++) {
		const struct vt_tensor *tensor = &model->tensors[i];

		if (tensor->role == VT_ROLE_PARAMETER || tensor->role == VT_ROLE_MASTER)
			vt_map_put(&seen,
				   (struct vt_key){ tensor->name, tensor->holder, tensor->device },
				   1);
	}
	nr = (uint32_t)seen.len;
	vt_map_release(&seen);
	return nr;
}

static int is_bounded(const struct build *build, const struct vt_leak *leak)
{
	struct vt_attribution *attribution = build->leaks->attribution;
	uint32_t owner = vt_attribution_judge(attribution, leak->allocation).owner;
	const char *path = vt_attribution_owner(attribution, owner);

	for (size_t i = 0; i < VT_ARRAY_SIZE(bounded); i++)
		if (vt_owner_path_is_below(path, bounded[i].owner, strlen(bounded[i].owner)))
			return leak->blocks <= bounded[i].most * build->nr_parameters;
	return 0;
}

static int is_leak(const struct build *build, uint32_t group, struct vt_leak *leak)
{
	uint32_t nr_old = build->leaks->nr_points - FRESH_POINTS;
	struct vt_leak old = gather(build, group, old_until(build));
	int is_pile = (double)old.bytes >= OLD_SHARE * leak->trend.slope * nr_old;

	free(old.kept);
	leak->form = is_pile ? VT_LEAK_ACCUMULATING : VT_LEAK_GROWING;
	return leak->blocks && (is_pile || is_joined(build, group) || grows_alone(build, group)) &&
	       !is_bounded(build, leak);
}

static void look_at(struct build *build, uint32_t group)
{
	struct vt_leaks *leaks = build->leaks;
	struct vt_trend trend = group_trend(build, group);
	struct vt_leak leak = { 0 };

	if (trend.confidence != VT_CONFIDENCE_NONE) {
		leak = gather(build, group, last_point(build));
		leak.trend = trend;
		leak.bytes_per_iteration = trend.slope / leaks->iterations_per_point;
		if (is_leak(build, group, &leak)) {
			/* Time alone is a poor measure: a load that comes late grows, too. */
			if (leaks->iterations.kind == VT_ITERATION_SLICE)
				leak.trend.confidence = VT_CONFIDENCE_MEDIUM;
			vt_vector_push(&build->growth, leak);
			return;
		}
		free(leak.kept);
	}
	leak = gather(build, group, old_until(build));
	if (leak.blocks)
		vt_vector_push(&build->since, leak);
	else
		free(leak.kept);
}

static int compare_growth(const void *a, const void *b)
{
	const struct vt_leak *x = a, *y = b;

	if (x->bytes_per_iteration != y->bytes_per_iteration)
		return x->bytes_per_iteration > y->bytes_per_iteration ? -1 : 1;
	return x->allocation < y->allocation ? -1 : x->allocation > y->allocation;
}

static void judge_owners(struct vt_leaks *leaks, struct vt_leak *all, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		all[i].owner = vt_attribution_judge(leaks->attribution, all[i].allocation).owner;
}

static void find_growth(struct build *build, int device)
{
	struct vt_leaks *leaks = build->leaks;
	const struct vt_names *names = &leaks->attribution->facts->names;
	const struct vt_timeline *timeline = leaks->attribution->facts->stages->timeline;

	vt_site_groups_init(&build->groups, timeline, &leaks->describe, device,
			    leaks->iterations.ends + leaks->nr_warm_up,
			    leaks->iterations.nr - leaks->nr_warm_up + 1);
	build->workload = vt_workload_measure(build->model, build->points, leaks->nr_points);
	build->nr_parameters = count_parameters(build->model);
	leaks->are_iterations_growing =
		vt_workload_is_growing(&build->workload, (uint64_t[VT_TREND_MAX_POINTS]){ 0 });
	for (uint32_t group = 0; group < build->groups.nr; group++)
		look_at(build, group);
	vt_holders_find(build->growth.items, (uint32_t)build->growth.len, names,
			build->groups.by_allocation, build->groups.nr, last_point(build));
	vt_holders_find(build->since.items, (uint32_t)build->since.len, names,
			build->groups.by_allocation, build->groups.nr, last_point(build));
	vt_site_groups_release(&build->groups);
	leaks->growth = build->growth.items;
	leaks->nr_growth = (uint32_t)build->growth.len;
	leaks->since = build->since.items;
	leaks->nr_since = (uint32_t)build->since.len;
	vt_sort(leaks->growth, leaks->nr_growth, compare_growth);
	vt_sort(leaks->since, leaks->nr_since, vt_leak_compare_bytes);
	judge_owners(leaks, leaks->growth, leaks->nr_growth);
	judge_owners(leaks, leaks->since, leaks->nr_since);
}

static void add_total(struct build *build, int device)
{
	struct vt_leaks *leaks = build->leaks;
	const struct vt_timeline *timeline = leaks->attribution->facts->stages->timeline;
	struct floors allocated = { .build = build }, reserved = { .build = build };
	struct vt_leak_total *total = &leaks->totals[leaks->nr_totals++];
	struct vt_totals now = { 0 };

	for (uint32_t i = 0; i < timeline->nr; i++) {
		const struct vt_moment *moment = &timeline->moments[i];

		vt_timeline_add(timeline, moment, device, &now);
		change(&allocated, vt_moment_event(timeline->model, moment), now.allocated_bytes);
		change(&reserved, vt_moment_event(timeline->model, moment), now.used_bytes);
	}
	total->device = device;
	total->allocated = trend_of(&allocated);
	total->reserved = trend_of(&reserved);
	total->allocated_per_iteration = total->allocated.slope / leaks->iterations_per_point;
	total->reserved_per_iteration = total->reserved.slope / leaks->iterations_per_point;
}

static void find_totals(struct build *build, int device)
{
	const struct vt_model *model = build->model;

	build->leaks->totals =
		vt_xcalloc((size_t)model->nr_devices + 1, sizeof(struct vt_leak_total));
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (device == VT_WHEN_ALL_DEVICES || device == model->devices[i].id)
			add_total(build, model->devices[i].id);
}

void vt_leaks_init(struct vt_leaks *leaks, struct vt_attribution *attribution,
		   const struct vt_leaks_options *options)
{
	const struct vt_facts *facts = attribution->facts;
	struct build build = { .leaks = leaks, .model = facts->model };

	memset(leaks, 0, sizeof(*leaks));
	leaks->attribution = attribution;
	vt_describe_init(&leaks->describe, facts->model, options->has_all_frames);
	vt_iterations_init(&leaks->iterations, facts->stages, facts->last_working_event);
	find_points(&build);
	if (leaks->nr_points) {
		find_growth(&build, options->device);
		find_totals(&build, options->device);
	}
	free(build.points);
	if (options->has_ended)
		vt_leftovers_init(&leaks->leftovers, attribution, &leaks->describe,
				  options->device);
}

static void free_all(struct vt_leak *all, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		free(all[i].kept);
		vt_holders_release(&all[i]);
	}
	free(all);
}

void vt_leaks_release(struct vt_leaks *leaks)
{
	free_all(leaks->growth, leaks->nr_growth);
	free_all(leaks->since, leaks->nr_since);
	vt_leftovers_release(&leaks->leftovers);
	free(leaks->totals);
	vt_iterations_release(&leaks->iterations);
	vt_describe_release(&leaks->describe);
	memset(leaks, 0, sizeof(*leaks));
}
