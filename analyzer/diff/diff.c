/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/diff.h"

#include <string.h>

#include "analyzer/attribution/moments.h"
#include "analyzer/base/util.h"
#include "analyzer/report/report_turns.h"

/* The first two steps make optimizer states and workspaces. */
#define WARM_UP_STEPS 2

/* Steps that lie further apart are different steps (longer sequences), not noise. */
#define NOISE_SHARE 0.005

static int has_memory(const struct vt_analysis *side, int device)
{
	return vt_model_peak(&side->model, device) != NULL;
}

static uint64_t magnitude(const uint64_t *bytes)
{
	return bytes[VT_DIFF_NEW] > bytes[VT_DIFF_BASE] ?
		       bytes[VT_DIFF_NEW] - bytes[VT_DIFF_BASE] :
		       bytes[VT_DIFF_BASE] - bytes[VT_DIFF_NEW];
}

int vt_diff_is_change(const struct vt_diff_device *device, const uint64_t *bytes)
{
	return magnitude(bytes) > device->noise_bytes;
}

static int compare_owners(const void *a, const void *b)
{
	const struct vt_diff_owner *x = a, *y = b;
	uint64_t of_x = magnitude(x->bytes), of_y = magnitude(y->bytes);

	if (x->is_rest != y->is_rest)
		return x->is_rest - y->is_rest;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return strcmp(x->owner, y->owner);
}

static struct vt_diff_owner *find_owner(struct vt_diff_device *device, const char *owner)
{
	uint32_t i = 0;

	while (i < device->nr_owners && strcmp(device->owners[i].owner, owner) != 0)
		i++;
	if (i == device->nr_owners) {
		device->owners = vt_xrealloc(device->owners, (i + 1) * sizeof(*device->owners));
		device->owners[device->nr_owners++] = (struct vt_diff_owner){ .owner = owner };
	}
	return &device->owners[i];
}

static void add_owners(struct vt_diff_device *device)
{
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_books *books = &device->books[side];

		for (uint32_t i = 0; i < books->nr_lines; i++)
			find_owner(device, books->lines[i].owner)->bytes[side] +=
				books->lines[i].bytes;
		for (uint32_t i = 0; i < books->nr_rest; i++) {
			struct vt_diff_owner *rest = find_owner(device, books->rest[i].owner);

			rest->bytes[side] += books->rest[i].bytes;
			rest->is_rest = 1;
		}
	}
	if (device->nr_owners)
		qsort(device->owners, device->nr_owners, sizeof(*device->owners), compare_owners);
}

/* How far the peaks of this run's later steps lie apart; 0 where that is no noise. */
static uint64_t noise_of(struct vt_analysis *side, int number)
{
	const struct vt_device *device = vt_model_device(&side->model, number);
	struct vt_report_turns turns = { 0 };
	uint64_t low = UINT64_MAX, high = 0;

	if (!device)
		return 0;
	vt_report_turns_init(&turns, side, &device, 1);
	for (uint32_t i = WARM_UP_STEPS; i < turns.nr_steps; i++) {
		uint64_t peak = turns.steps[i].turn.peak_bytes;

		if (!turns.steps[i].is_complete)
			continue;
		low = peak < low ? peak : low;
		high = peak > high ? peak : high;
	}
	vt_report_turns_release(&turns);
	return high > low && (double)(high - low) <= NOISE_SHARE * (double)high ? high - low : 0;
}

static void find_peaks(struct vt_diff_device *device, int side, const struct vt_model *model,
		       int number)
{
	const struct vt_peak *peak = vt_model_peak(model, number);
	const struct vt_device *row = vt_model_device(model, number);

	device->peak_bytes[side] = peak->used_bytes;
	if (row && row->has_context)
		device->peak_bytes[side] += row->context_bytes;
	device->most_allocated_bytes[side] = peak->max_allocated_bytes;
}

static int open_books(struct vt_diff *diff, struct vt_diff_device *device, const int *numbers,
		      struct vt_changes_side *sides, struct vt_diag *diag)
{
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		struct vt_analysis *analysis = diff->sides[side];

		sides[side] = (struct vt_changes_side){ .analysis = analysis,
							.describe = &diff->describe[side],
							.device = numbers[side] };
		if (!has_memory(analysis, numbers[side]))
			continue;
		if (vt_moments_resolve(&analysis->stages, diff->options->when, numbers[side],
				       &sides[side].event, diag))
			return -1;
		vt_books_init(&device->books[side], &analysis->attribution, numbers[side],
			      sides[side].event);
		find_peaks(device, side, &analysis->model, numbers[side]);
		device->has_books[side] = 1;
		device->doing[side] = vt_stages_doing(&analysis->stages, sides[side].event);
	}
	return 0;
}

/* `numbers`: which device of either side. */
static int add_device(struct vt_diff *diff, const struct vt_alignment *alignment,
		      const int *numbers, struct vt_diag *diag)
{
	struct vt_diff_device *device = &diff->devices[diff->nr_devices++];
	struct vt_changes_side sides[VT_DIFF_SIDES];

	device->device = numbers[VT_DIFF_NEW];
	if (open_books(diff, device, numbers, sides, diag))
		return -1;
	add_owners(device);
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		uint64_t noise = noise_of(diff->sides[side], numbers[side]);

		device->noise_bytes = noise > device->noise_bytes ? noise : device->noise_bytes;
	}
	vt_changes_init(&device->changes, sides, alignment, diff->options->by,
			diff->options->is_exact);
	return 0;
}

static int is_wanted(const struct vt_diff *diff, int device)
{
	return (diff->options->device == VT_WHEN_ALL_DEVICES || diff->options->device == device) &&
	       (has_memory(diff->sides[VT_DIFF_BASE], device) ||
		has_memory(diff->sides[VT_DIFF_NEW], device));
}

static int highest_device(const struct vt_diff *diff)
{
	int highest = -1;

	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		const struct vt_model *model = &diff->sides[side]->model;

		for (uint32_t i = 0; i < model->nr_peaks; i++)
			if (model->peaks[i].device > highest)
				highest = model->peaks[i].device;
	}
	return highest;
}

static int add_devices(struct vt_diff *diff, struct vt_diag *diag)
{
	const struct vt_describe *describe[] = { &diff->describe[VT_DIFF_BASE],
						 &diff->describe[VT_DIFF_NEW] };
	struct vt_alignment alignment = { 0 };
	int highest = highest_device(diff), rc = 0;

	diff->devices = vt_xcalloc((size_t)highest + 2, sizeof(*diff->devices));
	vt_alignment_init(&alignment, describe, diff->options->is_exact);
	if (diff->options->pair)
		rc = add_device(diff, &alignment, diff->options->pair, diag);
	for (int device = 0; device <= highest && !rc && !diff->options->pair; device++)
		if (is_wanted(diff, device))
			rc = add_device(diff, &alignment, (int[]){ device, device }, diag);
	vt_alignment_release(&alignment);
	if (rc || diff->nr_devices)
		return rc;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s and %s: no device memory was recorded%s",
		    vt_db_path(diff->sides[VT_DIFF_BASE]->db),
		    vt_db_path(diff->sides[VT_DIFF_NEW]->db),
		    diff->options->device == VT_WHEN_ALL_DEVICES ? "" : " on that device");
	return -1;
}

int vt_diff_init(struct vt_diff *diff, struct vt_analysis *base, struct vt_analysis *new,
		 const struct vt_diff_options *options, struct vt_diag *diag)
{
	memset(diff, 0, sizeof(*diff));
	diff->options = options;
	diff->sides[VT_DIFF_BASE] = base;
	diff->sides[VT_DIFF_NEW] = new;
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		vt_describe_init(&diff->describe[side], &diff->sides[side]->model,
				 options->has_all_frames);
	vt_runs_init(&diff->runs, diff->sides);
	return add_devices(diff, diag);
}

void vt_diff_release(struct vt_diff *diff)
{
	for (uint32_t i = 0; i < diff->nr_devices; i++) {
		struct vt_diff_device *device = &diff->devices[i];

		vt_books_release(&device->books[VT_DIFF_BASE]);
		vt_books_release(&device->books[VT_DIFF_NEW]);
		vt_changes_release(&device->changes);
		free(device->owners);
		free(device->doing[VT_DIFF_BASE]);
		free(device->doing[VT_DIFF_NEW]);
	}
	free(diff->devices);
	vt_runs_release(&diff->runs);
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		vt_describe_release(&diff->describe[side]);
	memset(diff, 0, sizeof(*diff));
}

int vt_diff_is_different(const struct vt_diff *diff)
{
	for (uint32_t d = 0; d < diff->nr_devices; d++) {
		const struct vt_diff_device *device = &diff->devices[d];

		for (uint32_t i = 0; i < device->nr_owners; i++)
			if (vt_diff_is_change(device, device->owners[i].bytes))
				return 1;
		for (uint32_t i = 0; i < device->changes.nr; i++)
			if (vt_diff_is_change(device, device->changes.items[i].bytes))
				return 1;
	}
	return 0;
}
