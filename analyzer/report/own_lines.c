/* SPDX-License-Identifier: MIT */
#include "analyzer/report/own_lines.h"

#include <string.h>

#include "analyzer/base/owner_path.h"
#include "analyzer/base/util.h"

static struct vt_own_line line_of(const struct vt_hotspot *spot, const struct vt_describe *describe)
{
	struct vt_producer producer = vt_producer_of(describe->model, spot->first);

	return (struct vt_own_line){
		.frame = vt_producer_own_frame(describe, &producer),
		.bytes = spot->bytes,
		.largest = spot,
	};
}

/* A line has one frame for each of its instructions that calls. */
static int is_same(const struct vt_frames *frames, const struct vt_own_line *x,
		   const struct vt_own_line *y)
{
	const struct vt_frame_python *a, *b;

	if (x->frame.id == VT_NO_INDEX || y->frame.id == VT_NO_INDEX ||
	    x->frame.is_backward != y->frame.is_backward)
		return 0;
	a = &frames->python[x->frame.id];
	b = &frames->python[y->frame.id];
	return a->code == b->code && a->line == b->line;
}

int vt_own_lines_find(struct vt_own_line *line, const struct vt_hotspots *hotspots,
		      const struct vt_attribution *attribution, const struct vt_describe *describe,
		      const char *owner, size_t len)
{
	VT_VECTOR(struct vt_own_line) all = { 0 };
	const struct vt_own_line *most = NULL;

	for (uint32_t i = 0; i < hotspots->nr; i++) {
		const struct vt_hotspot *spot = &hotspots->items[i];
		struct vt_own_line one;
		size_t k = 0;

		if (!vt_owner_path_is_below(vt_attribution_owner(attribution, spot->owner), owner,
					    len))
			continue;
		one = line_of(spot, describe);
		while (k < all.len && !is_same(&describe->model->frames, &all.items[k], &one))
			k++;
		if (k < all.len)
			all.items[k].bytes += one.bytes;
		else
			vt_vector_push(&all, one);
	}
	for (size_t i = 0; i < all.len; i++)
		if (!most || all.items[i].bytes > most->bytes)
			most = &all.items[i];
	if (most)
		*line = *most;
	vt_vector_release(&all);
	return most ? 0 : -1;
}

char *vt_own_lines_text(const struct vt_own_line *line, const struct vt_describe *describe)
{
	struct vt_producer producer = vt_producer_of(describe->model, line->largest->first);
	char *text = vt_producer_own_line(describe, &producer);
	struct vt_lines lines;

	if (text)
		return text;
	lines = vt_producer_lines(describe, line->largest->first);
	text = vt_xstrdup(lines.nr ? lines.text[0] : "a call site without a stack");
	vt_lines_free(&lines);
	return text;
}
