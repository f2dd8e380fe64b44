/* SPDX-License-Identifier: MIT */
#include "analyzer/report/frag.h"

#include <inttypes.h>
#include <string.h>

#include "analyzer/base/sort.h"
#include "analyzer/base/units.h"
#include "analyzer/output/table.h"
#include "analyzer/report/pins_print.h"
#include "analyzer/analysis/limits.h"

#define MAP_WIDTH  48
#define MAX_FRAMES 6 /* of one place; --json has all */

/* One character per part of a segment: full, partly used, free, address space without memory. */
#define MAP_FULL    '#'
#define MAP_PARTLY  '+'
#define MAP_FREE    '.'
#define MAP_NOTHING ' '

static void print_samples(const struct vt_frag_device *device, FILE *out)
{
	static const struct vt_column columns[] = {
		{ "event", 1 },     { "t", 1 },      { "reserved", 1 },
		{ "allocated", 1 }, { "cached", 1 }, { "free segments", 1 },
		{ "pinned", 1 },
	};
	struct vt_table table;

	fputs("\nOVER TIME  at the reserved peak of each part of the run\n", out);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < device->samples.len; i++) {
		const struct vt_frag_sample *sample = &device->samples.items[i];
		const uint64_t bytes[] = { sample->totals.reserved_bytes,
					   sample->totals.allocated_bytes,
					   sample->totals.cached_bytes, sample->totals.free_bytes,
					   sample->totals.pinned_bytes };
		char event[24], time[VT_UNITS_MAX], texts[VT_ARRAY_SIZE(bytes)][VT_UNITS_MAX];
		const char *cells[2 + VT_ARRAY_SIZE(bytes)] = { event, time };

		snprintf(event, sizeof(event), "%" PRId64, sample->event);
		vt_units_duration(time, sizeof(time), (uint64_t)sample->time_ns);
		for (size_t j = 0; j < VT_ARRAY_SIZE(bytes); j++)
			cells[2 + j] = vt_units_bytes(texts[j], sizeof(texts[j]), bytes[j]);
		vt_table_add(&table, cells);
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
}

static void line(FILE *out, const char *name, uint64_t bytes, const char *what)
{
	char text[VT_UNITS_MAX];

	fprintf(out, "  %-18s %11s%s%s\n", name, vt_units_bytes(text, sizeof(text), bytes),
		*what ? "  " : "", what);
}

static void print_totals(const struct vt_frag_device *device, FILE *out)
{
	const struct vt_layout_totals *totals = &device->layout.totals;
	char largest[VT_UNITS_MAX], what[120];

	line(out, "reserved", totals->reserved_bytes, "");
	line(out, "allocated", totals->allocated_bytes, "");
	line(out, "  rounding", device->rounding_bytes, "requests rounded up");
	snprintf(what, sizeof(what), "unused ends of blocks, too small to split off%s",
		 device->ready->requests.nr_blocks ? ", as far as is known" : "");
	line(out, "  tails", device->tail_bytes, what);
	snprintf(what, sizeof(what), "%u pieces, the largest %s", totals->nr_free,
		 vt_units_bytes(largest, sizeof(largest), totals->largest_free_bytes));
	line(out, "cached", totals->cached_bytes, what);
	line(out, "  free segments", totals->free_bytes, "empty_cache() can release them");
	line(out, "  pinned", totals->pinned_bytes, "in segments with live blocks");
}

static void print_run(const struct vt_frag_device *device, FILE *out)
{
	char reserved[VT_UNITS_MAX], allocated[VT_UNITS_MAX], bound[VT_UNITS_MAX];
	char packed[VT_UNITS_MAX];

	fprintf(out,
		"FRAGMENTATION  cuda:%d  utilisation %.1f %%: peak allocated %s of peak reserved %s"
		" (lower bound %s%s%s)\n",
		device->trace->device, 100 * vt_frag_utilisation(device),
		vt_units_bytes(allocated, sizeof(allocated), device->peak_allocated_bytes),
		vt_units_bytes(reserved, sizeof(reserved), device->peak_reserved_bytes),
		vt_units_bytes(bound, sizeof(bound), device->peak_requested_bytes),
		device->packed_bytes ? ", best packing found " : "",
		device->packed_bytes ? vt_units_bytes(packed, sizeof(packed), device->packed_bytes)
				     : "");
}

static void print_account(const struct vt_frag_device *device, FILE *out)
{
	const struct vt_layout_account *account = &device->account;
	char bytes[VT_UNITS_MAX];

	fprintf(out, "\nFOR A REQUEST OF %s%s\n",
		vt_units_bytes(bytes, sizeof(bytes), account->request_bytes),
		device->request_stream ? "  on a separate stream" : "");
	line(out, "would fit", account->serving_bytes, "");
	line(out, "too small", account->too_small_bytes, "");
	line(out, "other pool", account->other_pool_bytes,
	     "small and large requests use separate pools");
	line(out, "other stream", account->other_stream_bytes, "large enough");
	if (account->private_pool_bytes)
		line(out, "private pool", account->private_pool_bytes,
		     "kept for the replay of a CUDA graph");
	if (account->unsplittable_bytes)
		line(out, "kept whole", account->unsplittable_bytes, "by max_split_size_mb");
	line(out, "empty_cache()", account->returnable_bytes, "of this would be freed");
	if (account->device_free_bytes != UINT64_MAX)
		line(out, "the device has", account->device_free_bytes,
		     account->device_free_bytes >= account->segment_bytes
			     ? "enough for a new segment"
			     : "not enough for a new segment");
}

/* Draws `piece` over the part of the map that it covers. */
static void draw(char *map, const struct vt_piece *piece, uint64_t base, uint64_t size_bytes)
{
	unsigned from = (unsigned)((piece->address - base) * MAP_WIDTH / size_bytes);
	uint64_t end = piece->address - base + piece->size_bytes;
	unsigned to = (unsigned)((end * MAP_WIDTH + size_bytes - 1) / size_bytes);
	char mark = piece->is_allocated ? MAP_FULL : MAP_FREE;

	for (unsigned i = from; i < to && i < MAP_WIDTH; i++)
		map[i] = map[i] == MAP_NOTHING || map[i] == mark ? mark : MAP_PARTLY;
}

static void draw_segment(const struct vt_frag_device *device,
			 const struct vt_layout_segment *segment, char *map)
{
	const struct vt_piece *first = vt_follow_segment(&device->follow, segment->segment);
	const struct vt_piece *piece;
	uint64_t base, end = 0;

	memset(map, MAP_NOTHING, MAP_WIDTH);
	map[MAP_WIDTH] = 0;
	while (first && !first->is_mapped)
		first = first->next;
	if (!first)
		return;
	base = first->address;
	for (piece = first; piece; piece = piece->next)
		if (piece->is_mapped)
			end = piece->address + piece->size_bytes;
	for (piece = first; piece; piece = piece->next)
		if (piece->is_mapped)
			draw(map, piece, base, end - base);
}

static int compare_segments(const void *a, const void *b)
{
	const struct vt_layout_segment *x = a, *y = b;

	if (x->pinned_bytes != y->pinned_bytes)
		return x->pinned_bytes > y->pinned_bytes ? -1 : 1;
	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

static void print_segments(struct vt_frag *frag, const struct vt_frag_device *device, FILE *out)
{
	static const struct vt_column columns[] = { { "pool", 0 },   { "size", 1 },   { "free", 1 },
						    { "pinned", 1 }, { "blocks", 1 }, { "", 0 } };
	size_t nr = device->layout.segments.len, top = frag->options.top;
	size_t shown = nr < top ? nr : top;
	struct vt_layout_segment *sorted = vt_xcalloc(nr + 1, sizeof(*sorted));
	struct vt_table table;

	if (nr)
		memcpy(sorted, device->layout.segments.items, nr * sizeof(*sorted));
	vt_sort(sorted, nr, compare_segments);
	fprintf(out,
		"\nSEGMENTS  the %zu of %zu with most pinned bytes; # used, + partly used, . "
		"free\n",
		shown, nr);
	vt_table_init(&table, columns, VT_ARRAY_SIZE(columns));
	for (size_t i = 0; i < shown; i++) {
		const struct vt_trace_segment *of =
			&device->trace->segments.items[sorted[i].segment];
		char pool[40], size[VT_UNITS_MAX], gaps[VT_UNITS_MAX], pinned[VT_UNITS_MAX];
		char blocks[16], map[MAP_WIDTH + 1], drawn[MAP_WIDTH + 3];
		const char *cells[] = { pool, size, gaps, pinned, blocks, drawn };

		draw_segment(device, &sorted[i], map);
		snprintf(drawn, sizeof(drawn), "|%s|", map);
		snprintf(pool, sizeof(pool), "%s%s", of->is_small ? "small" : "large",
			 of->is_expandable ? ", expandable" : "");
		if (device->ready->nr_streams > 1)
			snprintf(pool + strlen(pool), sizeof(pool) - strlen(pool), ", stream %u",
				 of->stream);
		snprintf(blocks, sizeof(blocks), "%u", sorted[i].nr_blocks);
		vt_units_bytes(size, sizeof(size), sorted[i].mapped_bytes);
		vt_units_bytes(gaps, sizeof(gaps), sorted[i].free_bytes);
		vt_units_bytes(pinned, sizeof(pinned), sorted[i].pinned_bytes);
		vt_table_add(&table, cells);
	}
	vt_table_print(&table, out, 2);
	vt_table_release(&table);
	free(sorted);
}

void vt_frag_print_text(struct vt_frag *frag, FILE *out)
{
	for (uint32_t i = 0; i < frag->nr_devices; i++) {
		const struct vt_frag_device *device = &frag->devices[i];
		char time[VT_UNITS_MAX];
		int64_t ns = vt_timeline_time(&frag->analysis->timeline, device->event);

		if (i)
			fputc('\n', out);
		print_run(device, out);
		print_samples(device, out);
		fprintf(out, "\nAT EVENT %" PRId64 "  t=%s\n", device->event,
			vt_units_duration(time, sizeof(time), (uint64_t)ns));
		print_totals(device, out);
		print_account(device, out);
		print_segments(frag, device, out);
		vt_pins_print(device, &frag->analysis->attribution, &frag->describe,
			      frag->options.top, MAX_FRAMES, out);
	}
	vt_limits_print(frag->analysis, out);
}
