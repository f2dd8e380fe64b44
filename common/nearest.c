/* SPDX-License-Identifier: MIT */
#include "common/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* More than names differ in length. */
#define EDIT 64

void vt_nearest_init(struct vt_nearest *nearest, const char *wanted)
{
	memset(nearest, 0, sizeof(*nearest));
	snprintf(nearest->wanted, sizeof(nearest->wanted), "%.*s", VT_NEAREST_LENGTH, wanted);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static int is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Whether the last two letters of the one, up to i, are those of the other, up to j, swapped. */
static int is_swap(const char *wanted, size_t i, const char *name, size_t j)
{
	return i && j && is_same(wanted[i], name[j - 1]) && is_same(wanted[i - 1], name[j]);
}

/*
 * Edits that make `wanted` a part of `name`, two swapped letters being one: what `name` has before
 * and after that part costs nothing, so that "3090" is rtx3090-24g.
 */
static unsigned edits(const char *wanted, const char *name, size_t len)
{
	/* The row of one letter of `wanted`, and those of the two before it. */
	unsigned rows[3][VT_NEAREST_LENGTH + 1] = { 0 };
	unsigned *row = rows[0], *before = rows[1], *two_before = rows[2];
	unsigned best = (unsigned)strlen(wanted);

	for (size_t i = 0; wanted[i]; i++) {
		unsigned *oldest = two_before;

		two_before = before;
		before = row;
		row = oldest;
		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < len; j++) {
			unsigned changed = before[j] + !is_same(wanted[i], name[j]);

			row[j + 1] = least(changed, least(before[j + 1], row[j]) + 1);
			if (is_swap(wanted, i, name, j))
				row[j + 1] = least(row[j + 1], two_before[j - 1] + 1);
		}
	}
	for (size_t j = 0; j <= len; j++)
		best = least(best, row[j]);
	return best;
}

void vt_nearest_offer(struct vt_nearest *nearest, const char *name, size_t len)
{
	struct vt_nearest_name offered = { 0 };
	size_t wanted_len = strlen(nearest->wanted), difference;
	unsigned at;

	if (len > VT_NEAREST_LENGTH)
		len = VT_NEAREST_LENGTH;
	memcpy(offered.text, name, len);
	/* Of names with as many edits the one of the same length is nearer. */
	difference = len > wanted_len ? len - wanted_len : wanted_len - len;
	offered.distance = edits(nearest->wanted, name, len) * EDIT + (unsigned)difference;
	for (at = nearest->nr; at && offered.distance < nearest->names[at - 1].distance; at--)
		if (at < VT_NEAREST_NAMES)
			nearest->names[at] = nearest->names[at - 1];
	if (at >= VT_NEAREST_NAMES)
		return;
	nearest->names[at] = offered;
	if (nearest->nr < VT_NEAREST_NAMES)
		nearest->nr++;
}

const char *vt_nearest_meant(const struct vt_nearest *nearest)
{
	const struct vt_nearest_name *first = &nearest->names[0];
	unsigned edits = first->distance / EDIT, difference = first->distance % EDIT;

	/* What a name has around the part that is like it is an edit as well. */
	if (edits < difference)
		edits = difference;
	return nearest->nr && 2 * edits < strlen(nearest->wanted) ? first->text : NULL;
}

const char *vt_nearest_text(const struct vt_nearest *nearest, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < nearest->nr && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 nearest->names[i].text);
	return buf;
}
