/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/noise.h"

#include <string.h>

#include "analyzer/base/hash.h"
#include "analyzer/base/map.h"
#include "analyzer/base/owner_path.h"
#include "analyzer/base/units.h"
#include "analyzer/base/util.h"
#include "analyzer/model/producer.h"

/*
 * By how much a place of one side's representative has more or less in the other recordings; where
 * it has no such place, an owner of such.
 */
struct place {
	int64_t least, most; /* bytes beyond the representative's; of it 0 */
};

struct places {
	VT_VECTOR(struct place) all;
	struct vt_map of_key; /* index */
};

struct owner {
	const char *name;
	size_t len;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A figure of a recording on one device. */
typedef uint64_t (*figure_fn)(const struct vt_side_device *device, const void *context);

/* Of one side. */
static uint64_t spread(const struct vt_diff *diff, int side, int device, figure_fn figure,
		       const void *context)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < diff->nr_recordings[side]; i++) {
		const struct vt_side *run = &diff->recordings[side][i];
		const struct vt_side_device *found = vt_sides_device(run, device);
		uint64_t bytes = found ? figure(found, context) : 0;

		if (run->has_failed)
			continue;
		least = bytes < least ? bytes : least;
		most = larger(most, bytes);
	}
	return most > least ? most - least : 0;
}

static uint64_t noise_of(const struct vt_diff *diff, const struct vt_diff_device *device,
			 figure_fn figure, const void *context)
{
	uint64_t noise = 0;

	for (int side = 0; side < VT_DIFF_SIDES; side++)
		noise = larger(noise, spread(diff, side, device->numbers[side], figure, context));
	return noise;
}

static uint64_t peak_of(const struct vt_side_device *device, const void *context)
{
	(void)context;
	return device->peak_bytes;
}

static uint64_t allocated_of(const struct vt_side_device *device, const void *context)
{
	(void)context;
	return device->most_allocated_bytes;
}

static uint64_t owner_of(const struct vt_side_device *device, const void *context)
{
	const struct owner *owner = context;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < device->books.nr_lines; i++)
		if (vt_owner_path_is_below(device->books.lines[i].owner, owner->name, owner->len))
			sum += device->books.lines[i].bytes;
	for (uint32_t i = 0; i < device->books.nr_rest; i++)
		if (vt_owner_path_is_below(device->books.rest[i].owner, owner->name, owner->len))
			sum += device->books.rest[i].bytes;
	return sum;
}

uint64_t vt_noise_of_owner(const struct vt_diff *diff, const struct vt_diff_device *device,
			   const char *owner, size_t len)
{
	return noise_of(diff, device, owner_of, &(struct owner){ owner, len });
}

/* A place of one recording, as it is printed. */
static uint64_t key_of(const struct vt_side *side, const struct vt_change *change, int which)
{
	struct vt_lines lines;
	uint64_t key = 1;

	if (change->name)
		return vt_hash_text(change->name, strlen(change->name));
	lines = vt_producer_lines(&side->describe,
				  &side->analysis.model.allocations[change->allocation[which]]);
	for (unsigned i = 0; i < lines.nr; i++)
		key = vt_hash_mix(key, vt_hash_text(lines.text[i], strlen(lines.text[i])));
	vt_lines_free(&lines);
	return key;
}

static uint64_t key_of_owner(const char *owner)
{
	return vt_hash_mix(2, vt_hash_text(owner, strlen(owner)));
}

static struct place *find(const struct places *places, uint64_t key)
{
	const uint64_t *index = vt_map_find(&places->of_key, (struct vt_key){ key, 0, 0 });

	return index ? &places->all.items[*index] : NULL;
}

static void note(struct places *places, uint64_t key, const uint64_t *bytes)
{
	int64_t more = (int64_t)(bytes[1] - bytes[0]);
	struct place *place = find(places, key);

	if (!place) {
		vt_map_put(&places->of_key, (struct vt_key){ key, 0, 0 }, places->all.len);
		vt_vector_push(&places->all, (struct place){ 0 });
		place = &places->all.items[places->all.len - 1];
	}
	place->least = more < place->least ? more : place->least;
	place->most = more > place->most ? more : place->most;
}

/* What another recording of the side has elsewhere than the representative. */
static void compare_with(struct places *places, const struct vt_diff *diff, int which,
			 struct vt_side *other, int number)
{
	struct vt_side *runs[] = { diff->sides[which], other };
	const struct vt_changes_live *live[VT_DIFF_SIDES];
	const struct vt_side_device *devices[VT_DIFF_SIDES];
	struct vt_changes_side sides[VT_DIFF_SIDES];
	struct vt_changes changes;

	for (int i = 0; i < VT_DIFF_SIDES; i++) {
		devices[i] = vt_sides_device(runs[i], number);
		if (!devices[i])
			return;
		live[i] = &devices[i]->live;
		sides[i] = (struct vt_changes_side){ .analysis = &runs[i]->analysis,
						     .describe = &runs[i]->describe };
	}
	vt_changes_init(&changes, sides, live, diff->options->by, diff->options->is_exact);
	for (uint32_t i = 0; i < changes.nr; i++) {
		const struct vt_change *change = &changes.items[i];

		if (change->name || change->allocation[0] != VT_NO_INDEX)
			note(places, key_of(runs[0], change, 0), change->bytes);
		else
			note(places, key_of_owner(change->owner[1]), change->bytes);
	}
	vt_changes_release(&changes);
}

static uint64_t noise_at(const struct places *places, uint64_t key)
{
	const struct place *place = find(places, key);

	return place ? (uint64_t)(place->most - place->least) : 0;
}

static void fill_places(const struct vt_diff *diff, struct vt_diff_device *device, int which)
{
	const struct vt_side *side = diff->sides[which];
	struct places places = { 0 };

	for (uint32_t i = 0; i < diff->nr_recordings[which]; i++) {
		struct vt_side *other = &diff->recordings[which][i];

		if (other != side && !other->has_failed)
			compare_with(&places, diff, which, other, device->numbers[which]);
	}
	for (uint32_t i = 0; i < device->changes.nr && places.all.len; i++) {
		struct vt_change *change = &device->changes.items[i];

		if (change->name || change->allocation[which] != VT_NO_INDEX)
			change->noise_bytes = larger(
				change->noise_bytes,
				noise_at(&places, key_of(side, change, which)));
		for (int of = 0; of < VT_DIFF_SIDES; of++)
			if (change->owner[of])
				change->noise_bytes = larger(
					change->noise_bytes,
					noise_at(&places, key_of_owner(change->owner[of])));
	}
	vt_vector_release(&places.all);
	vt_map_release(&places.of_key);
}

uint64_t vt_noise_uncut(const uint64_t *bytes, const uint64_t *asked)
{
	return asked[VT_DIFF_BASE] && asked[VT_DIFF_BASE] == asked[VT_DIFF_NEW]
		       ? vt_diff_magnitude(bytes)
		       : 0;
}

/* The same of all owners, where the moment is that of the most allocated bytes. */
static uint64_t uncut_in_all(const struct vt_diff_device *device)
{
	uint64_t asked[VT_DIFF_SIDES] = { 0 };

	for (int side = 0; side < VT_DIFF_SIDES; side++) {
		if (device->sides[side]->books.allocated_bytes !=
		    device->most_allocated_bytes[side])
			return 0;
		for (uint32_t i = 0; i < device->nr_owners; i++)
			asked[side] += device->owners[i].asked_bytes[side];
	}
	return vt_noise_uncut(device->most_allocated_bytes, asked);
}

/* What did not ask for more may have one segment more. */
static uint64_t segment_more(const struct vt_diff_device *device)
{
	if (vt_diff_is_change(device, device->most_allocated_bytes, device->allocated_noise_bytes))
		return 0;
	return larger(device->sides[VT_DIFF_BASE]->segment_bytes,
		      device->sides[VT_DIFF_NEW]->segment_bytes);
}

/* In segments of the framework's allocator. */
static int is_of_segments(const char *owner)
{
	return vt_owner_path_is_below(owner, "cached", strlen("cached"));
}

static void fill_totals(const struct vt_diff *diff, struct vt_diff_device *device)
{
	device->spread_bytes = noise_of(diff, device, allocated_of, NULL);
	device->used_spread_bytes = noise_of(diff, device, peak_of, NULL);
	device->allocated_noise_bytes = larger(device->spread_bytes, uncut_in_all(device));
	device->peak_noise_bytes = larger(device->used_spread_bytes, segment_more(device));
}

static void fill_owner(const struct vt_diff *diff, struct vt_diff_device *device,
		       struct vt_diff_owner *owner)
{
	uint64_t spread = vt_noise_of_owner(diff, device, owner->owner, strlen(owner->owner));

	if (!owner->is_rest) {
		owner->noise_bytes =
			larger(spread, vt_noise_uncut(owner->bytes, owner->asked_bytes));
		device->spread_bytes = larger(device->spread_bytes, spread);
		return;
	}
	/* What is cached moves between the rest of the books: it is in the totals. */
	owner->noise_bytes = spread;
	if (is_of_segments(owner->owner))
		owner->noise_bytes = larger(spread, segment_more(device));
}

void vt_noise_fill(const struct vt_diff *diff, struct vt_diff_device *device)
{
	fill_totals(diff, device);
	for (uint32_t i = 0; i < device->nr_owners; i++)
		fill_owner(diff, device, &device->owners[i]);
	for (uint32_t i = 0; i < device->changes.nr; i++) {
		struct vt_change *change = &device->changes.items[i];

		change->noise_bytes = vt_noise_uncut(change->bytes, change->asked_bytes);
	}
	for (int side = 0; side < VT_DIFF_SIDES; side++)
		fill_places(diff, device, side);
}

char *vt_noise_text(const struct vt_diff_device *devices, uint32_t nr)
{
	char allocated[VT_UNITS_MAX], used[VT_UNITS_MAX];
	uint64_t most_allocated = 0, most_used = 0;

	for (uint32_t d = 0; d < nr; d++) {
		most_allocated = larger(most_allocated, devices[d].spread_bytes);
		most_used = larger(most_used, devices[d].used_spread_bytes);
	}
	if (!most_allocated && !most_used)
		return vt_xstrdup("equal runs do not differ");
	return vt_xasprintf("equal runs differ by up to %s allocated, %s used",
			    vt_units_bytes(allocated, sizeof(allocated), most_allocated),
			    vt_units_bytes(used, sizeof(used), most_used));
}
