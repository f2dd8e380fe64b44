/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/diff.h"

#include <string.h>
#include <sys/stat.h>

#include "analyzer/analysis/limits.h"
#include "analyzer/base/util.h"
#include "analyzer/diff/noise.h"
#include "analyzer/input/input.h"
#include "analyzer/model/folded.h"
#include "analyzer/model/when.h"

/* Of a side that recorded nothing on the device. */
static const struct vt_side_device nothing;

static int compare_owners(const void *a, const void *b)
{
	const struct vt_diff_owner *x = a, *y = b;
	uint64_t of_x = vt_diff_magnitude(x->bytes), of_y = vt_diff_magnitude(y->bytes);

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
		const struct vt_books *books = &device->sides[side]->books;

		for (uint32_t i = 0; i < books->nr_lines; i++)
			find_owner(device, books->lines[i].owner)->bytes[side] +=
				books->lines[i].bytes;
		for (uint32_t i = 0; i < books->nr_rest; i++) {
			struct vt_diff_owner *rest = find_owner(device, books->rest[i].owner);

			rest->bytes[side] += books->rest[i].bytes;
			rest->is_rest = 1;
		}
		for (size_t i = 0; i < device->sides[side]->live.len; i++) {
			const struct vt_changes_block *block = &device->sides[side]->live.items[i];

			find_owner(device, block->owner)->asked_bytes[side] += block->asked_bytes;
		}
	}
	if (device->nr_owners)
		qsort(device->owners, device->nr_owners, sizeof(*device->owners), compare_owners);
}

/* `numbers`: which device of either side. */
static void add_device(struct vt_diff *diff, const int *numbers)
{
	struct vt_diff_device *device = &diff->devices[diff->nr_devices++];
	const struct vt_changes_live *live[VT_DIFF_SIDES];
	struct vt_changes_side sides[VT_DIFF_SIDES];

	device->device = numbers[VT_DIFF_NEW];
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		device->numbers[side] = numbers[side];
		const struct vt_side_device *found =
			vt_sides_device(diff->sides[side], numbers[side]);

		device->has_books[side] = found != NULL;
		device->sides[side] = found ? found : &nothing;
		device->peak_bytes[side] = device->sides[side]->peak_bytes;
		device->most_allocated_bytes[side] = device->sides[side]->most_allocated_bytes;
		if (device->sides[side]->noise_bytes > device->noise_bytes)
			device->noise_bytes = device->sides[side]->noise_bytes;
		live[side] = &device->sides[side]->live;
		sides[side] = (struct vt_changes_side){ .analysis = &diff->sides[side]->analysis,
							.describe = &diff->sides[side]->describe };
	}
	add_owners(device);
	vt_changes_init(&device->changes, sides, live, diff->options->by,
			diff->options->is_exact);
	vt_noise_fill(diff, device);
}

static int has_memory(const struct vt_diff *diff, int device)
{
	return vt_sides_device(diff->sides[VT_DIFF_BASE], device) ||
	       vt_sides_device(diff->sides[VT_DIFF_NEW], device);
}

static int highest_device(const struct vt_diff *diff)
{
	int highest = -1;

	for (int side = 0; side < VT_DIFF_SIDES; side++)
		for (uint32_t i = 0; i < diff->sides[side]->nr_devices; i++)
			if (diff->sides[side]->devices[i].device > highest)
				highest = diff->sides[side]->devices[i].device;
	return highest;
}

static int add_devices(struct vt_diff *diff, struct vt_diag *diag)
{
	int highest = highest_device(diff);

	diff->devices = vt_xcalloc((size_t)highest + 2, sizeof(*diff->devices));
	if (diff->options->pair)
		add_device(diff, diff->options->pair);
	for (int device = 0; device <= highest && !diff->options->pair; device++)
		if (has_memory(diff, device))
			add_device(diff, (int[]){ device, device });
	if (diff->nr_devices)
		return 0;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s and %s: no device memory was recorded%s",
		    vt_db_path(diff->sides[VT_DIFF_BASE]->analysis.db),
		    vt_db_path(diff->sides[VT_DIFF_NEW]->analysis.db),
		    diff->options->device == VT_WHEN_ALL_DEVICES ? "" : " on that device");
	return -1;
}

static uint64_t allocated_by(const struct vt_side *recording)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < recording->nr_devices; i++)
		sum += recording->devices[i].most_allocated_bytes;
	return sum;
}

/* What did not end well comes last, and is chosen only where nothing ended well. */
static int compare_recordings(const void *a, const void *b)
{
	const struct vt_side *x = *(struct vt_side *const *)a, *y = *(struct vt_side *const *)b;
	uint64_t of_x = allocated_by(x), of_y = allocated_by(y);

	if (x->is_unfinished != y->is_unfinished)
		return x->is_unfinished - y->is_unfinished;
	if (of_x != of_y)
		return of_x < of_y ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The median by most allocated bytes; of an even number the lower one. */
static struct vt_side *find_median(struct vt_side *recordings, uint32_t nr)
{
	struct vt_side **sorted = vt_xcalloc(nr, sizeof(*sorted)), *median;
	uint32_t nr_whole = 0;

	for (uint32_t i = 0; i < nr; i++) {
		sorted[i] = &recordings[i];
		nr_whole += !recordings[i].is_unfinished;
	}
	qsort(sorted, nr, sizeof(struct vt_side *), compare_recordings);
	median = sorted[((nr_whole ? nr_whole : nr) - 1) / 2];
	free(sorted);
	return median;
}

static int open_side(struct vt_diff *diff, int side, const struct vt_diff_paths *paths,
		     struct vt_diag *diag)
{
	const struct vt_diff_options *options = diff->options;
	const struct vt_sides_options asked = {
		.rules = options->rules,
		.when = options->when,
		.device = options->pair ? options->pair[side] : options->device,
		.by = options->by,
		.has_all_frames = options->has_all_frames,
	};

	diff->recordings[side] = vt_xcalloc(paths->nr, sizeof(*diff->recordings[side]));
	for (uint32_t i = 0; i < paths->nr; i++)
		if (vt_sides_open(&diff->recordings[side][diff->nr_recordings[side]++],
				  paths->paths[i], &asked, diag))
			return -1;
	diff->sides[side] = find_median(diff->recordings[side], paths->nr);
	return 0;
}

/* Its database, or its journal where there is no database yet.  0, or -1: there is neither. */
static int find_file(const char *path, struct stat *st)
{
	char *database, *journal;
	int rc;

	vt_input_paths(path, &database, &journal);
	rc = stat(database, st) && stat(journal, st) ? -1 : 0;
	free(database);
	free(journal);
	return rc;
}

int vt_diff_is_same_recording(const char *path, const char *other)
{
	struct stat a, b;

	return !find_file(path, &a) && !find_file(other, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/*
 * A recording against itself is read once: a program that lives would be seen at two moments, and
 * its database must not be opened twice (D3 of database/db.c).
 */
static int is_against_itself(const struct vt_diff *diff, const struct vt_diff_paths *sides)
{
	return sides[VT_DIFF_BASE].nr == 1 && sides[VT_DIFF_NEW].nr == 1 && !diff->options->pair &&
	       vt_diff_is_same_recording(sides[VT_DIFF_BASE].paths[0], sides[VT_DIFF_NEW].paths[0]);
}

static void share_side(struct vt_diff *diff)
{
	diff->recordings[VT_DIFF_NEW] = diff->recordings[VT_DIFF_BASE];
	diff->nr_recordings[VT_DIFF_NEW] = diff->nr_recordings[VT_DIFF_BASE];
	diff->sides[VT_DIFF_NEW] = diff->sides[VT_DIFF_BASE];
}

int vt_diff_init_sides(struct vt_diff *diff, const struct vt_diff_paths *sides,
		       const struct vt_diff_options *options, struct vt_diag *diag)
{
	struct vt_analysis *analyses[VT_DIFF_SIDES];

	memset(diff, 0, sizeof(*diff));
	diff->options = options;
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		if (side == VT_DIFF_NEW && is_against_itself(diff, sides))
			share_side(diff);
		else if (open_side(diff, side, &sides[side], diag))
			return -1;
		analyses[side] = &diff->sides[side]->analysis;
	}
	vt_runs_init(&diff->runs, analyses);
	return add_devices(diff, diag);
}

int vt_diff_init(struct vt_diff *diff, const char *base, const char *new,
		 const struct vt_diff_options *options, struct vt_diag *diag)
{
	const struct vt_diff_paths sides[VT_DIFF_SIDES] = { { &base, 1 }, { &new, 1 } };

	return vt_diff_init_sides(diff, sides, options, diag);
}

void vt_diff_release(struct vt_diff *diff)
{
	for (uint32_t i = 0; i < diff->nr_devices; i++) {
		struct vt_diff_device *device = &diff->devices[i];

		vt_changes_release(&device->changes);
		free(device->owners);
	}
	free(diff->devices);
	vt_runs_release(&diff->runs);
	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		if (side == VT_DIFF_NEW &&
		    diff->recordings[VT_DIFF_NEW] == diff->recordings[VT_DIFF_BASE])
			break;
		for (uint32_t i = 0; i < diff->nr_recordings[side]; i++)
			vt_sides_close(&diff->recordings[side][i]);
		free(diff->recordings[side]);
	}
	memset(diff, 0, sizeof(*diff));
}

/* The one that is compared, where it did not end well, or the first that failed; NULL: neither. */
static const struct vt_side *find_unfinished(const struct vt_diff *diff, int side)
{
	if (diff->sides[side]->is_unfinished)
		return diff->sides[side];
	for (uint32_t i = 0; i < diff->nr_recordings[side]; i++)
		if (diff->recordings[side][i].has_failed)
			return &diff->recordings[side][i];
	return NULL;
}

/* NULL: everything of that side is kept. */
static char *describe_folded(const struct vt_diff *diff, int side)
{
	char *folded = vt_folded_describe(diff->sides[side]->analysis.db), *text = NULL;

	if (folded)
		text = vt_xasprintf("of the %s %s", side == VT_DIFF_NEW ? "new run" : "base",
				    folded);
	free(folded);
	return text;
}

static char *describe_unfinished(const struct vt_diff *diff, int side)
{
	const struct vt_side *of = find_unfinished(diff, side);
	const char *ending = of ? vt_limits_ending(&of->analysis) : NULL;

	if (!ending)
		return NULL;
	if (of != diff->sides[side])
		return vt_xasprintf("a %s %s, and is not compared: %s",
				    side == VT_DIFF_NEW ? "new run" : "run of the base", ending,
				    vt_db_shown_path(of->analysis.db));
	return vt_xasprintf("the %s %s: its figures cover only the part that ran; %s",
			    side == VT_DIFF_NEW ? "new run" : "base", ending,
			    side == VT_DIFF_NEW ? "a lower figure is not an improvement"
						: "an increase in the new run may come from that");
}

char *vt_diff_incomplete(const struct vt_diff *diff, int side)
{
	char *unfinished = describe_unfinished(diff, side), *folded = describe_folded(diff, side);
	char *both;

	if (!unfinished || !folded)
		return unfinished ? unfinished : folded;
	both = vt_xasprintf("%s; %s", unfinished, folded);
	free(unfinished);
	free(folded);
	return both;
}

char *vt_diff_ending(const struct vt_diff *diff)
{
	for (int side = VT_DIFF_SIDES; side-- > 0;) {
		const struct vt_side *of = find_unfinished(diff, side);
		const char *ending = of ? vt_limits_ending(&of->analysis) : NULL;

		if (ending && of == diff->sides[side])
			return vt_xasprintf("the %s %s", side == VT_DIFF_NEW ? "new run" : "base",
					    ending);
	}
	return NULL;
}

int vt_diff_is_new_failed(const struct vt_diff *diff)
{
	return find_unfinished(diff, VT_DIFF_NEW) && !diff->sides[VT_DIFF_BASE]->is_unfinished;
}
