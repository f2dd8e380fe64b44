/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/util.h"
#include "analyzer/diff/figures.h"
#include "analyzer/model/producer.h"

#define MOST_OWNERS 3
#define MOST_DIMENSIONS 8

/* An owner without what is below it. */
struct top_owner {
	const char *name;
	int name_len;
	int64_t change;
};

static uint64_t magnitude(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static int64_t change_of(const uint64_t *bytes)
{
	return (int64_t)(bytes[VT_DIFF_NEW] - bytes[VT_DIFF_BASE]);
}

/* NULL: nothing differs anywhere. */
static const struct vt_diff_device *find_device(const struct vt_diff *diff)
{
	const struct vt_diff_device *most = NULL;

	for (uint32_t i = 0; i < diff->nr_devices && vt_diff_is_different(diff); i++) {
		const struct vt_diff_device *device = &diff->devices[i];

		if (!most || magnitude(change_of(device->most_allocated_bytes)) >
				     magnitude(change_of(most->most_allocated_bytes)))
			most = device;
	}
	return most;
}

/* Nothing else differs. */
static char *describe_use(const struct vt_diff_device *device, const char *on)
{
	struct vt_figures figures;

	vt_figures_make(&figures, device->peak_bytes);
	return vt_xasprintf("same peak allocated%s; peak process use %s (%s)", on, figures.change,
			    figures.share);
}

char *vt_verdict_head(const struct vt_diff *diff)
{
	const struct vt_diff_device *device = find_device(diff);
	struct vt_figures figures;
	uint32_t nr_moves = 0;
	char *on, *text;

	for (uint32_t i = 0; i < diff->nr_devices; i++)
		nr_moves += diff->devices[i].changes.moves.nr;
	if (!device && nr_moves)
		return vt_xasprintf("no difference in memory; %u %s moved", nr_moves,
				    nr_moves == 1 ? "call site" : "call sites");
	if (!device)
		return vt_xstrdup("no difference in memory");
	vt_figures_make(&figures, device->most_allocated_bytes);
	on = diff->nr_devices > 1 ? vt_xasprintf(" on cuda:%d", device->device) : vt_xstrdup("");
	if (vt_diff_is_change(device, device->most_allocated_bytes, device->allocated_noise_bytes))
		text = vt_xasprintf("peak allocated%s %s (%s)", on, figures.change, figures.share);
	else if (vt_diff_is_block_change(device))
		text = vt_xasprintf("same peak allocated%s, other owners or call sites", on);
	else
		text = describe_use(device, on);
	free(on);
	return text;
}

/* "4,256 int64" into its dimensions; returns how many, and where its type begins. */
static unsigned read_shape(const char *text, long *dimensions, const char **type)
{
	unsigned nr = 0;
	char *end;

	while (nr < MOST_DIMENSIONS && *text >= '0' && *text <= '9') {
		dimensions[nr++] = strtol(text, &end, 10);
		text = *end == ',' ? end + 1 : end;
	}
	*type = *text == ' ' ? text + 1 : text;
	return nr;
}

/* "batch 4 -> 5"; NULL where more than one thing of it differs. */
static char *shape_change(const struct vt_runs_row *row)
{
	long base[MOST_DIMENSIONS], new[MOST_DIMENSIONS];
	unsigned nr, at = 0, nr_other = 0;
	const char *types[2];

	nr = read_shape(row->text[0], base, &types[0]);
	if (read_shape(row->text[1], new, &types[1]) != nr)
		return NULL;
	for (unsigned i = 0; i < nr; i++)
		if (base[i] != new[i]) {
			at = i;
			nr_other++;
		}
	if (nr_other == 1 && !strcmp(types[0], types[1]))
		return at ? vt_xasprintf("dimension %u of the input %ld -> %ld", at, base[at],
					 new[at]) :
			    vt_xasprintf("batch %ld -> %ld", base[at], new[at]);
	if (!nr_other)
		return vt_xasprintf("input %s -> %s", types[0], types[1]);
	return NULL;
}

/* What the program or its surroundings say themselves; NULL: nothing, or several things. */
static char *find_cause(const struct vt_runs *runs)
{
	char *cause = NULL;

	for (uint32_t i = 0; i < runs->nr; i++) {
		const struct vt_runs_row *row = &runs->rows[i];
		char *text = NULL;

		if (!row->text[0] || !row->text[1])
			continue;
		if (!strncmp(row->what, "input ", 6))
			text = shape_change(row);
		else if (!strcmp(row->what, "torch") || !strncmp(row->what, "device", 6))
			text = vt_xasprintf("%s %s -> %s", row->what, row->text[0], row->text[1]);
		if (cause && text && strcmp(cause, text) != 0) {
			free(cause);
			free(text);
			return NULL;
		}
		if (cause)
			free(text);
		else
			cause = text;
	}
	return cause;
}

/* The largest that goes where the whole goes, or the largest; NULL: none is beyond noise. */
static const struct vt_change *find_place(const struct vt_diff_device *device)
{
	int64_t whole = change_of(device->most_allocated_bytes);
	const struct vt_change *largest = NULL;

	for (uint32_t i = 0; i < device->changes.nr; i++) {
		const struct vt_change *change = &device->changes.items[i];
		int64_t one = change_of(change->bytes);

		if (!vt_diff_is_place_change(device, change))
			continue;
		if (!whole || (one < 0) == (whole < 0))
			return change;
		largest = largest ? largest : change;
	}
	return largest;
}

/* The program's line of the largest change; NULL: by no line. */
static char *find_line(const struct vt_diff *diff, const struct vt_diff_device *device)
{
	const struct vt_change *change = find_place(device);
	const struct vt_side *of;
	char *text, *end;
	uint32_t frame;
	int side;

	if (!change || device->changes.by != VT_CHANGES_BY_STACK)
		return NULL;
	side = change->allocation[VT_DIFF_NEW] != VT_NO_INDEX ? VT_DIFF_NEW : VT_DIFF_BASE;
	of = diff->sides[side];
	frame = vt_describe_own_frame(
		&of->describe,
		vt_producer_stack(&of->analysis.model,
				  &of->analysis.model.allocations[change->allocation[side]]));
	text = frame == VT_NO_INDEX ? NULL : vt_describe_frame(&of->describe, frame);
	end = text ? strrchr(text, ' ') : NULL;
	if (end)
		*end = '\0';
	return text;
}

static int compare_tops(const void *a, const void *b)
{
	const struct top_owner *x = a, *y = b;
	uint64_t of_x = magnitude(x->change), of_y = magnitude(y->change);

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Returns how many there are; without what no block has. */
static unsigned find_tops(const struct vt_diff_device *device, struct top_owner *tops)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < device->nr_owners; i++) {
		const struct vt_diff_owner *owner = &device->owners[i];
		int len = (int)strcspn(owner->owner, "/");
		unsigned k = 0;

		if (owner->is_rest ||
		    !vt_diff_is_owner_change(device, owner))
			continue;
		while (k < nr && (tops[k].name_len != len ||
				  strncmp(tops[k].name, owner->owner, (size_t)len) != 0))
			k++;
		if (k == nr)
			tops[nr++] = (struct top_owner){ owner->owner, len, 0 };
		tops[k].change += change_of(owner->bytes);
	}
	if (nr)
		qsort(tops, nr, sizeof(*tops), compare_tops);
	return nr;
}

static void add_owners(struct vt_buffer *text, const struct vt_diff_device *device)
{
	struct top_owner *tops = vt_xcalloc(device->nr_owners + 1, sizeof(*tops));
	unsigned nr = find_tops(device, tops);
	char size[VT_UNITS_MAX];

	for (unsigned i = 0; i < nr && i < MOST_OWNERS; i++)
		if (magnitude(tops[i].change) > device->noise_bytes)
			vt_buffer_printf(text, "%s %.*s %s", i ? "," : ";", tops[i].name_len,
					 tops[i].name,
					 vt_units_bytes_signed(size, sizeof(size), tops[i].change));
	free(tops);
}

/* A run that broke off is not to be taken for a smaller one. */
static void add_ending(struct vt_buffer *text, const struct vt_diff *diff)
{
	char *ending = vt_diff_ending(diff);

	if (ending)
		vt_buffer_printf(text, "; %s", ending);
	free(ending);
}

static void add_change(struct vt_buffer *text, const struct vt_diff *diff,
		       const struct vt_diff_device *device)
{
	char *cause = find_cause(&diff->runs), *line = find_line(diff, device);

	if (cause)
		vt_buffer_printf(text, ": %s", cause);
	if (line)
		vt_buffer_printf(text, cause ? " (%s)" : ": most of it at %s", line);
	add_owners(text, device);
	free(cause);
	free(line);
}

char *vt_verdict_make(const struct vt_diff *diff)
{
	const struct vt_diff_device *device = find_device(diff);
	char *head = vt_verdict_head(diff);
	struct vt_buffer text;

	vt_buffer_init(&text);
	vt_buffer_puts(&text, head);
	if (device)
		add_change(&text, diff, device);
	add_ending(&text, diff);
	free(head);
	return vt_buffer_detach(&text);
}
