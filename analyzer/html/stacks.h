/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_HTML_STACKS_H
#define VT_ANALYZER_HTML_STACKS_H

/*
 * The stacks of a page's blocks as two trees, of Python and of native frames, outermost first: a
 * node is its parent and a text.  Node 0 is no stack.
 */

#include "analyzer/html/pack.h"
#include "analyzer/html/sources.h"
#include "analyzer/html/strings.h"
#include "analyzer/model/describe.h"

struct vt_page_tree {
	VT_VECTOR(uint32_t) parents;
	VT_VECTOR(uint32_t) texts;
	struct vt_map nodes; /* parent and text to node */
	struct vt_map leaves; /* stack and kind to node */
};

struct vt_page_stacks {
	const struct vt_describe *describe;
	struct vt_sources *sources;
	struct vt_page_strings *strings;
	struct vt_page_tree python;
	struct vt_page_tree native;
	json_t *lines; /* number of a text, as a text, to the source line */
};

void vt_page_stacks_init(struct vt_page_stacks *stacks, const struct vt_describe *describe,
			 struct vt_sources *sources, struct vt_page_strings *strings);
void vt_page_stacks_release(struct vt_page_stacks *stacks);

/* Leaves: where the producer of an allocation was (producer.h), and its native stack. */
uint32_t vt_page_stacks_python(struct vt_page_stacks *stacks, const struct vt_allocation *a);
uint32_t vt_page_stacks_native(struct vt_page_stacks *stacks, const struct vt_allocation *a);

/* Columns of `pack`, and "lines" of `object`. */
void vt_page_stacks_json(const struct vt_page_stacks *stacks, struct vt_pack *pack, json_t *object);

#endif
